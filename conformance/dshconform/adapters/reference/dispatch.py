"""The one table of operations, for commands of the suite, items of bursts and commands of scripts alike."""

from collections.abc import Awaitable, Mapping
from typing import Final

from dshconform.adapters.reference.commands import Arguments, Operation, Started, perform
from dshconform.adapters.reference.context_operations import CONTEXT_OPERATIONS, OWNER_OPERATIONS
from dshconform.adapters.reference.endings import Answer, Fail, Settled
from dshconform.adapters.reference.functions import SuiteFunction
from dshconform.adapters.reference.gates import ANSWERS
from dshconform.adapters.reference.kept import KEPT
from dshconform.adapters.reference.kinds import RUN
from dshconform.adapters.reference.lifecycle_operations import LIFECYCLE
from dshconform.adapters.reference.llm_operations import LLM_OPERATIONS
from dshconform.adapters.reference.operations import CORE
from dshconform.adapters.reference.prompt_operations import PROMPT
from dshconform.adapters.reference.scripts import mapping, read_commands
from dshconform.adapters.reference.session_operations import SESSION
from dshconform.adapters.reference.tools import TOOL_OPERATIONS
from dshconform.adapters.reference.tools_operations import TOOLS_OPERATIONS
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import JsonMap


def _burst(world: World, args: Arguments) -> list[JsonMap]:
    """Call commands in one uninterrupted stretch, whatever becomes of each."""
    outcomes: list[JsonMap] = []
    for index, command in enumerate(read_commands(args.items("do"), "burst")):
        keep = command.get("keep")
        performed = perform(
            world,
            str(command["op"]),
            mapping(command.get("args", {}), "args"),
            args.place.inside(index),
            keep=keep if isinstance(keep, str) else None,
        )
        outcomes.append(performed.shown)
    return outcomes


def _run(world: World, args: Arguments) -> Started:
    """Call an asynchronous function that nobody waits for."""
    function = SuiteFunction(world, args.text("task"), {"do": args.items("do")})
    try:
        answer = function.call(RUN, {})
    except Exception as error:  # noqa: BLE001 - an asynchronous function fails through what it answers
        return Started(Settled(Fail(error)))
    return Started(answer if isinstance(answer, Awaitable) else Settled(Answer(answer)))


TABLE: Final[Mapping[str, Operation]] = {
    "burst": Operation(_burst, ("do",)),
    "run": Operation(_run, ("task", "do")),
    **CORE,
    **LIFECYCLE,
    **SESSION,
    **TOOL_OPERATIONS,
    **OWNER_OPERATIONS,
    **CONTEXT_OPERATIONS,
    **LLM_OPERATIONS,
    **PROMPT,
    **TOOLS_OPERATIONS,
    **KEPT,
    **ANSWERS,
}
"""Every operation but `hello` and `world.close`, which need no world."""
