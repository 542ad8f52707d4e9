"""The prompt contract: what is contributed to prompts, how they are assembled, and what the model is told (sheet 50).

An example begins with its world: the options of its prompts. There are four layers (the global one, one around the
agent's, the agent's own, one beside) and one agent whose model answers at once. Prompts are assembled by hand, for any
scope, and by the agent's turns; what is contributed changes before an assembly, in each kind of provider that it asks,
while a listener of its chain waits, and behind it. The model is written from the clauses alone: who sees what is in
`prompt_layers`, assembling in `prompt_assembly`, rendering in `prompt_text`, and what turns make of it in
`prompt_world`.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.inbox_rows import AGENT, ROUTE, return_row
from dshconform.contracts.model import Model
from dshconform.contracts.prompt_assembly import CWD, VARIANTS
from dshconform.contracts.prompt_calls import PromptCalls
from dshconform.contracts.prompt_choice import Standing
from dshconform.contracts.prompt_commands import (
    ABORTED,
    BESIDE,
    KINDS,
    MODEL,
    NOTHING,
    OPEN_FAR,
    SCOPES,
    section,
)
from dshconform.contracts.prompt_grid import CELLS, cell_of, tours
from dshconform.contracts.prompt_prologues import PROLOGUES
from dshconform.contracts.prompt_simpler import simpler, tidied
from dshconform.contracts.prompt_world import SET_UP, PromptWorld
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import JsonMap
from dshconform.running.step import Expectation, Step
from dshconform.scenarios.model_scripts import read_scripts
from dshconform.trace.rows import is_compared

_COMPARED: Final = frozenset(
    {
        *("script prompt/section", "script prompt/context", "script prompt/variable", "script prompt/tools"),
        *("script system-prompt/assemble", "gate system-prompt/assemble"),
        *("script system-prompt/change", "live system-prompt/change"),
        *("log user/message", "log request/header", "log turn/end", "live agent/error", "script model/stream"),
        *("task assembled", "task held", "task closed", "return prompt.*", "return undo"),
    }
)
_RETURN: Final = frozenset({"return prompt.assemble"})
_RETURNS: Final = frozenset({"return prompt.*", "return undo"})
_RETURNING: Final = frozenset({"undo", *(f"prompt.{kind}" for kind in KINDS)})

_SET_UP: Final = section(SET_UP.part, SET_UP.scope, SET_UP.name, SET_UP.provided.value, order=SET_UP.order)


class PromptModel(Model):
    """The abstract state of one world of prompts.

    Args:
        switches: Variants in which the implementation is followed rather than the clause.
    """

    name: ClassVar[str] = "prompt"
    profile: ClassVar[str] = "prompt"
    """The profile that an implementation must declare."""
    variants: ClassVar[Mapping[str, str]] = VARIANTS
    cells: ClassVar[tuple[str, ...]] = CELLS
    clauses: ClassVar[tuple[str, ...]] = (
        *(f"PROMPT-SEC-0{number}" for number in range(1, 7)),
        *(f"PROMPT-SCOPE-0{number}" for number in range(1, 6)),
        *("PROMPT-DISP-01", "PROMPT-CHANGE-01", "PROMPT-CHANGE-02", "TRACE-OWNER-03"),
        *(f"PROMPT-COMPLETE-0{number}" for number in range(1, 5)),
        *("PROMPT-VAR-01", "PROMPT-VAR-02", "PROMPT-VAR-03", "PROMPT-RENDER-01"),
        *(f"PROMPT-INT-0{number}" for number in range(1, 6)),
        *("PROMPT-CTX-01", "PROMPT-CTX-02", "PROMPT-CTX-03"),
        *("PROMPT-SNAP-01", "PROMPT-SNAP-02", "PROMPT-SNAP-03", "PROMPT-SNAP-04", "PROMPT-SNAP-07"),
        *(f"PROMPT-TOOL-0{number}" for number in range(1, 7)),
        *("PROMPT-ASM-01", "PROMPT-ASM-02", "PROMPT-ASM-04", "PROMPT-ASM-05"),
        *(f"PROMPT-WF-0{number}" for number in range(1, 5)),
        *("REQ-PROMPT-01", "REQ-PROMPT-02", "REQ-HEAD-01", "REQ-HEAD-02", "LOG-EVT-02"),
    )

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:
        self.departed: list[str] = []
        self._calls = PromptCalls(PromptWorld(switches=switches))
        self._choice: Standing | None = None

    @property
    def world(self) -> PromptWorld:
        """The abstract world, to be looked at."""
        return self._calls.world

    def opening(self) -> list[Step]:
        """Nothing: the first command of an example opens its world."""
        return []

    def prologues(self) -> list[list[JsonMap]]:
        """The lists that together reach every clause of the model and every cell of the grid."""
        return [*(list(prologue) for prologue in PROLOGUES), *(list(tour) for tour in tours(self.world.switches))]

    def propose(self, source: Source) -> JsonMap:
        """Choose a legal command.

        Args:
            source: Where choices come from.
        """
        if self._choice is None:
            self._choice = Standing(source)
        proposed = self._choice(source, self.world, opened=self._calls.opened)
        return proposed if self.legal(proposed) else NOTHING

    def legal(self, command: JsonMap) -> bool:
        """Whether the clauses say what a command does now.

        Raises:
            CommandError: It is no command of this contract.
        """
        return self._calls.legal(*read_command(command))

    def cell(self, command: JsonMap) -> str | None:
        """The last cell that a legal command visits, providers included."""
        return cell_of(self._calls.visits(*read_command(command)))

    def apply(self, command: JsonMap) -> list[Step]:
        """Advance by a legal command; the first one makes the world with its scopes and its agent."""
        op, args = read_command(command)
        world = self.world
        world.begin()
        ended = self._calls.call(op, args)
        self.departed = list(dict.fromkeys(world.departed))
        if op == "world.open":
            opened = Step(op, args, Expectation(clauses=ended.by, error=ended.error))
            return [opened] if ended.error is not None else [opened, *_FURNISHED]
        if op in _RETURNING:
            world.rows.append(return_row(op, ended.by))
        only = _COMPARED - world.unsaid - (_RETURNS if op == "burst" else set())
        expect = Expectation(
            clauses=ended.by,
            error=ended.error,
            rows=tuple(row for row in world.rows if is_compared(row.pattern, only)),
            only=only,
            apart=_RETURN if len(world.listeners) > 1 else frozenset(),  # only the first is asked inside the call
        )
        return [Step(op, args, expect)]

    def simpler(self, command: JsonMap) -> list[JsonMap]:
        """Commands that say less than this one.

        Args:
            command: A command that led to a difference.
        """
        return simpler(command)

    def tidied(self, commands: Sequence[JsonMap]) -> list[JsonMap]:
        """The same commands, what they name called in order of appearance."""
        return tidied(commands)


def _furnished() -> list[Step]:
    """The model; the agents, one with what it contributes while it is made; and the scope around its own."""
    model: JsonMap = {
        "as": MODEL,
        "routes": [ROUTE["provider"]],
        "stream": {"$fn": MODEL, "calls": read_scripts([{"$text": "hi"}])},
    }
    op, args = read_command(_SET_UP)
    set_up: JsonMap = {"meta": {"cwd": CWD}, "setup": {"$fn": "setup", "do": [{"op": op, "args": args}]}}
    far_op, far = read_command(OPEN_FAR)
    return [
        Step("model.register", model),
        Step("agent.create", {"task": "create-a", "agent": AGENT, "options": ROUTE, **set_up}),
        Step("agent.create", {"task": "create-b", "agent": BESIDE, "options": ROUTE}),
        Step(far_op, far),
        Step("scope.bind", {"as": "chain", "key": SCOPES["near"], "parent": "far"}),
        Step("signal.new", {"signal": ABORTED["$signal"]}),
        Step("signal.abort", {"signal": ABORTED["$signal"]}),
    ]


_FURNISHED: Final = _furnished()
