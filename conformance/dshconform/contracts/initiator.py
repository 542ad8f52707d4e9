"""The initiator contract: which agent has caused the code that is running, wherever it is asked.

Boundaries are opened around functions of the suite, outside and inside each other, and hold while these wait. Agents
are created, woken and given maintenance from inside and outside of them, and read who caused what runs at every step of
a turn. In the end the registry is closed, from outside or inside. The model is written from the clauses alone; what a
command does is in `initiator_state`.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from dshconform.contracts import initiator_calls
from dshconform.contracts import initiator_commands as write
from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.inbox_rows import ROUTE
from dshconform.contracts.initiator_choice import Standing
from dshconform.contracts.initiator_commands import AGENTS, CURRENT, GATE, PRE_STEP, REQUIRE, function
from dshconform.contracts.initiator_grid import CELLS, PROLOGUES
from dshconform.contracts.initiator_state import AbstractInitiators, Strands
from dshconform.contracts.model import Model
from dshconform.contracts.script_calls import listen
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import Expectation, Step
from dshconform.scenarios.macros import expand

_READ: Final = write.at(None, CURRENT, REQUIRE)
_ONLY: Final = frozenset({*(f"return initiator.{name}" for name in ("current", "require", "run")), "task"})

_HEARD: Final[Mapping[str, tuple[str, JsonMap]]] = {
    "announced": ("session/created", {}),
    "created": ("agent/created", {}),
    "started": ("agent/session-start", {}),
    "inserted": ("agent/inbox/inserted", {}),
    "runs": ("agent/status", {"status": "running"}),
    "opens": ("session/event", {"event.type": "turn/start"}),
    "steps": ("session/event", {"event.type": "step/start"}),
    "asks": ("agent/request", {}),
    "step ends": ("session/event", {"event.type": "step/end"}),
    "stops": ("agent/turn-stopping", {}),
    "ends": ("session/event", {"event.type": "turn/end"}),
    "idles": ("agent/status", {"status": "idle"}),
}
"""The listeners that read: by name, what they hear and when."""


class InitiatorModel(Model):
    """The abstract state of places and agents.

    Args:
        switches: None.
    """

    name: ClassVar[str] = "initiator"
    profile: ClassVar[str] = "lifecycle"
    variants: ClassVar[Mapping[str, str]] = {}
    clauses: ClassVar[tuple[str, ...]] = (
        *(f"INIT-READ-0{number}" for number in range(1, 7)),
        *(f"INIT-DRIVE-0{number}" for number in range(1, 5)),
        *(f"INIT-CLOSE-0{number}" for number in range(1, 6)),
        "LOOP-INIT-01",
    )
    cells: ClassVar[tuple[str, ...]] = CELLS

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:
        del switches
        self.departed: list[str] = []
        self._state = AbstractInitiators()
        self._standing = Standing()

    @property
    def state(self) -> AbstractInitiators:
        """The abstract state, to be looked at."""
        return self._state

    def opening(self) -> list[Step]:
        """A world with two agents, whose turns have one step each, with one call of a tool that ends the turn."""
        steps = [
            Step("world.open", {}),
            Step("tool.register", {"as": "tool", "definition": _TOOL}),
            Step("model.register", {"as": "model", "routes": [str(ROUTE["provider"])], "stream": _MODEL}),
            *(Step("agent.create", {"task": f"create {agent}", "agent": agent, "options": ROUTE}) for agent in AGENTS),
        ]
        listeners = [
            listen(name, event, {"do": [CURRENT], **({"when": when} if when else {})})
            for name, (event, when) in _HEARD.items()
        ]
        listeners.append(listen("pre", PRE_STEP, {"do": [GATE]}))
        return [*steps, *(Step(*read_command(listener)) for listener in listeners)]

    def prologues(self) -> list[list[JsonMap]]:
        """The lists that together visit every cell."""
        return [list(prologue) for prologue in PROLOGUES]

    def propose(self, source: Source) -> JsonMap:
        """Choose a legal command.

        Args:
            source: Where choices come from.
        """
        proposed = self._standing(source, self._state)
        return proposed if self.legal(proposed) else _READ

    def legal(self, command: JsonMap) -> bool:
        """Whether the clauses say what a command does now.

        Args:
            command: The command.

        Raises:
            CommandError: It is no command of this contract.
        """
        return initiator_calls.legal(self._state, *read_command(command))

    def cell(self, command: JsonMap) -> str | None:
        """The cell of the grid that a legal command visits in this state; none where the grid says nothing of it.

        Args:
            command: The command.
        """
        return initiator_calls.cell(self._state, *read_command(command))

    def apply(self, command: JsonMap) -> list[Step]:
        """Advance by a legal command; everything that reads is compared, and nothing else.

        Args:
            command: The command.

        Returns:
            One step.
        """
        state = self._state
        op, args = read_command(command)
        state.rows = []
        state.perform(op, args)
        clauses = next((row.clauses for row in state.rows), ("INIT-READ-01",))
        strands = Strands(state.closing)
        expect = Expectation(
            clauses=clauses,
            rows=tuple(state.rows),
            only=_ONLY,
            strands=strands,
            surplus=strands.surplus,
            open=tuple(gate.kind for gate in state.gates),
        )
        return [Step(op, args, expect)]

    def simpler(self, command: JsonMap) -> list[JsonMap]:
        """The same without reading behind it.

        Args:
            command: The command.
        """
        op, args = read_command(command)
        items = write.items_of(op, args)
        if len(items) < 2 or initiator_calls.is_ending(items):  # noqa: PLR2004 - the act and a read
            return []
        do: Json = args["do"]
        assert isinstance(do, list | tuple)
        return [{"do": op, "args": {**args, "do": list(do[:-1])}}]

    def tidied(self, commands: Sequence[JsonMap]) -> list[JsonMap]:
        """The same commands: their names are short.

        Args:
            commands: The commands of an example.
        """
        return list(commands)


def _tool() -> JsonMap:
    """A tool whose body waits, and whose result ends the turn."""
    definition = expand({"$tool": "tell"})
    assert isinstance(definition, Mapping)
    return {**definition, "execute": function("tool", {"do": "conclude"}, GATE)}


def _model() -> JsonMap:
    """A model that reads, and then asks for the tool."""
    scripts = expand({"$scripts": [{"$calls": ["c1:tell"]}]})
    assert isinstance(scripts, list)
    script = scripts[0]
    assert isinstance(script, list)
    return {"$fn": "model", "do": [CURRENT, *script], "abort": "auto"}


_TOOL: Final = _tool()
_MODEL: Final = _model()
