"""The registry contract: who is live, in which order, and owned by whom; announcements, detaches, the factory's slot.

There is no loop: what is entered are stubs, which nobody drives, and agents are asked for from factories of the suite.
Listeners answer each notification with commands of their own. The model is written from the clauses alone; what a
command does is in `registry_state`.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from dshconform.contracts import registry_calls
from dshconform.contracts import registry_commands as write
from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.inbox_rows import Clauses, by, return_row
from dshconform.contracts.model import Model
from dshconform.contracts.registry_choice import Standing
from dshconform.contracts.registry_commands import ASKED, HOSTS, IDS, MADE, ODD, ODD_ID, ODD_SESSION, STUBS
from dshconform.contracts.registry_grid import CELLS, PROLOGUES
from dshconform.contracts.registry_state import AbstractRegistry
from dshconform.contracts.script_calls import Outcome, action, tidied, together
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import Expectation, Step

_MOVES: Final = frozenset({"registry.enter", "registry.announce", "registry.register", "undo", "owner.close"})
"""What may change who is there."""


class RegistryModel(Model):
    """The abstract state of a registry and of who is in it.

    Args:
        switches: None.
    """

    name: ClassVar[str] = "registry"
    profile: ClassVar[str] = "lifecycle"
    variants: ClassVar[Mapping[str, str]] = {}
    clauses: ClassVar[tuple[str, ...]] = (
        *("REG-READ-01", "REG-READ-03", "REG-ENTER-01", "REG-ENTER-02", "REG-ENTER-03", "REG-ANN-01", "REG-ANN-02"),
        *(f"REG-DET-0{number}" for number in range(1, 6)),
        *("REG-LIFE-01", "REG-LIFE-02", "LIFE-DISP-15"),
        *("FACT-SET-01", "FACT-SET-02", "FACT-SET-03", "FACT-CALL-01"),
    )
    cells: ClassVar[tuple[str, ...]] = CELLS

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:
        del switches
        self.departed: list[str] = []
        self._registry = AbstractRegistry()
        self._standing: Standing | None = None

    @property
    def registry(self) -> AbstractRegistry:
        """The abstract registry, to be looked at."""
        return self._registry

    def opening(self) -> list[Step]:
        """A world without a loop, and the stubs."""
        stubs = {**STUBS, ODD: ODD_SESSION, MADE: MADE}
        return [
            Step("world.open", {"config": {"without": ["loop"]}}),
            *(Step("session.prepare", {"session": f"s.{one}", "id": identity}) for one, identity in stubs.items()),
            *(
                Step("registry.stub", {"agent": one, "id": ODD_ID if one == ODD else identity, "session": f"s.{one}"})
                for one, identity in stubs.items()
            ),
            *(
                Step("owner.open", {"owner": plugin, "requires": ["agents"], "in": {"agent": agent}})
                for plugin, agent in HOSTS.items()
            ),
        ]

    def prologues(self) -> list[list[JsonMap]]:
        """The lists that together visit every cell."""
        return [list(prologue) for prologue in PROLOGUES]

    def propose(self, source: Source) -> JsonMap:
        """Choose a legal command.

        Args:
            source: Where choices come from.
        """
        if self._standing is None:
            self._standing = Standing(source)
        proposed = self._standing(source, self._registry)
        return proposed if self.legal(proposed) else write.LIST

    def legal(self, command: JsonMap) -> bool:
        """Whether the clauses say what a command does now.

        Args:
            command: The command.

        Raises:
            CommandError: It is no command of this contract.
        """
        return registry_calls.legal(self._registry, *read_command(command))

    def cell(self, command: JsonMap) -> str | None:
        """The cell of the grid that a legal command visits in this state; none where the grid says nothing of it.

        Args:
            command: The command.
        """
        return registry_calls.cell(self._registry, *read_command(command))

    def apply(self, command: JsonMap) -> list[Step]:
        """Advance by a legal command; the steps are the command, and a look at what it may have changed.

        Args:
            command: The command.

        Returns:
            The command's step, and the look behind it where there is one.
        """
        registry = self._registry
        op, args = read_command(command)
        registry.rows, registry.later = [], []
        outcome = registry.perform(op, args)
        clauses = outcome.clauses or ("REG-READ-01",)
        expect = Expectation(
            clauses=clauses,
            result=outcome.result,
            error=outcome.error,
            rows=(*registry.rows, return_row(op, clauses), *registry.later),
            apart=_APART,
        )
        return [Step(op, args, expect), *([self._look(outcome)] if op in _MOVES else [])]

    def simpler(self, command: JsonMap) -> list[JsonMap]:
        """The same through the root, and of what a caller says only the id.

        Args:
            command: The command.
        """
        op, args = read_command(command)
        if op in {"owner.open", "owner.close", "listen"}:
            return []
        plainer: JsonMap = {key: value for key, value in args.items() if key not in {"in", "owner", "meta", "options"}}
        return [] if plainer == args or op == "registry.owns" else [{"do": op, "args": plainer}]

    def tidied(self, commands: Sequence[JsonMap]) -> list[JsonMap]:
        """The same commands, what they name called in order of appearance.

        Args:
            commands: The commands of an example.
        """
        return tidied(commands, {"as": "l", "of": "l", "$fn": "l"})

    def _look(self, outcome: Outcome) -> Step:
        """A look at the registry, which must be as the model has it."""
        registry, do, shown = self._registry, list[Json](), list[Json]()

        def ask(clauses: Clauses, result: Json, command: JsonMap) -> None:
            do.append(action(command))
            shown.append({"result": by(together(clauses, ("REG-READ-01",)), result)})

        lives = {identity: registry.live.get(identity) for identity in IDS}
        for identity, life in lives.items():
            ask(outcome.clauses, None if life is None else life.agent, write.get(identity))
        ask((), [life.agent for life in registry.live.values()], write.LIST)
        ask(("REG-ENTER-03",), list[Json](registry.roots()), write.ROOTS)
        for identity in _SHARED:
            life = lives[identity]
            for owner in ASKED:
                owned = life is not None and life.owner == owner
                ask(("REG-READ-03", "REG-ENTER-03"), owned, write.owns(identity, owner))
        return Step("burst", {"do": do}, Expectation(clauses=("REG-READ-01",), result=shown))


_SHARED: Final = ("x", "y")
"""The ids that two agents have."""

_APART: Final = frozenset({"return owner.close", "return agent.create", "return agent.resume"})
"""Nothing says whether a call that goes on has returned before or after what it does."""
