"""The `prompt` command table: what is contributed to prompts, and their assembly.

Specific to `dshcore`. Names, orders and texts are passed on as they were sent: a wrong one is a test.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from dshconform.adapters.reference.commands import Arguments, Operation, Started
from dshconform.adapters.reference.endings import Kind
from dshconform.adapters.reference.functions import SuiteFunction
from dshconform.adapters.reference.prompt_forms import read_offer
from dshconform.adapters.reference.world import World
from dshcore.context import Context
from dshcore.system_prompt import SYSTEM_PROMPT, AssembleContext, SystemPrompt, ToolOffer

_SECTION: Final = Kind("prompt/section", waits=False, passing=lambda _: "")
_CONTEXT: Final = Kind("prompt/context", waits=False, passing=lambda _: "")
_VARIABLE: Final = Kind("prompt/variable", waits=False)
_TOOLS: Final = Kind(
    "prompt/tools", waits=False, passing=lambda _: ToolOffer(()), answer=lambda value, _: read_offer(value)
)


def _section(world: World, args: Arguments) -> None:
    """Contribute a section."""
    prompts, owner = _registry(world, args)
    options: dict[str, Any] = {"complete": args.raw("complete")} if "complete" in args else {}
    text = _provider(args, "text", _SECTION)
    world.names.disposers[args.text("as")] = prompts.section(
        owner, _any(args, "name"), _any(args, "order"), text, **options
    )


def _context(world: World, args: Arguments) -> None:
    """Contribute a runtime context."""
    prompts, owner = _registry(world, args)
    text = _provider(args, "text", _CONTEXT)
    world.names.disposers[args.text("as")] = prompts.context(owner, _any(args, "name"), _any(args, "order"), text)


def _variable(world: World, args: Arguments) -> None:
    """Contribute a variable."""
    prompts, owner = _registry(world, args)
    value = _provider(args, "value", _VARIABLE)
    world.names.disposers[args.text("as")] = prompts.variable(
        owner, _any(args, "name"), value if callable(value) else lambda _: value
    )


def _tools(world: World, args: Arguments) -> None:
    """Contribute tools."""
    prompts, owner = _registry(world, args)
    offer = _provider(args, "provide", _TOOLS)
    world.names.disposers[args.text("as")] = prompts.tools(
        owner, offer if callable(offer) else lambda _: cast("Any", read_offer(offer))
    )


def _suppress(world: World, args: Arguments) -> None:
    """Suppress runtime contexts."""
    prompts, owner = _registry(world, args)
    world.names.disposers[args.text("as")] = prompts.suppress_contexts(owner)


def _assemble(world: World, args: Arguments) -> Started:
    """Assemble a prompt."""
    composition = world.composition
    prompts, _ = _registry(world, args)
    return Started(
        prompts.assemble(
            AssembleContext(
                scope=composition.scope(args.raw_or("scope", "root")),
                agent=composition.agent(args.raw("agent")) if "agent" in args else None,
                signal=cast("Any", args.raw_or("signal", None)),
            )
        )
    )


PROMPT: Final[Mapping[str, Operation]] = {
    "prompt.section": Operation(_section, ("as", "name", "order", "text"), ("complete", "in")),
    "prompt.context": Operation(_context, ("as", "name", "order", "text"), ("in",)),
    "prompt.variable": Operation(_variable, ("as", "name", "value"), ("in",)),
    "prompt.tools": Operation(_tools, ("as", "provide"), ("in",)),
    "prompt.suppress": Operation(_suppress, ("as",), ("in",)),
    "prompt.assemble": Operation(_assemble, ("task",), ("scope", "agent", "signal", "in")),
}
"""Every operation of the profile `prompt`."""


def _registry(world: World, args: Arguments) -> tuple[SystemPrompt, Context]:
    owner = world.composition.context(args.raw_or("in", "root"))
    return owner[SYSTEM_PROMPT], owner


def _any(args: Arguments, name: str) -> Any:  # noqa: ANN401 - passed on unchecked, whatever it is
    return args.raw(name)


def _provider(args: Arguments, name: str, kind: Kind) -> Any:  # noqa: ANN401 - likewise, where it is no function
    """A function of the suite as a provider; any other value as it is."""
    value = args.raw(name)
    return _called(value, kind, args.values.get("name")) if isinstance(value, SuiteFunction) else value


def _called(function: SuiteFunction, kind: Kind, name: object) -> Callable[[AssembleContext], object]:
    def provide(asked: AssembleContext) -> object:
        given = {"name": name, "scope": asked.scope, "signal": asked.signal}
        fields = {field: value for field, value in given.items() if value is not None}
        return function.call(kind, fields, agent=asked.agent, payload=asked)

    return provide
