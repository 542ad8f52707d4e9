"""The command table of the profile `llm`: adapters and their models, prepared calls, streams outside of any agent.

Specific to `dshcore`. Configurations, requests and selections are read member by member and passed on unchecked.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, cast

from dshconform.adapters.reference.commands import Arguments, Operation, Started
from dshconform.adapters.reference.llm_forms import read_request, read_selection
from dshconform.adapters.reference.world import World
from dshcore.agent import ModelSelection
from dshcore.json import JsonObject
from dshcore.llm import (
    LLM,
    CallConfig,
    LlmError,
    LlmRuntime,
    PreparedCall,
    Registration,
    close_stream,
)

_END: Final = object()
"""What no adapter can deliver; a null chunk is a chunk."""

_FACTS: Final = {
    "status": "status",
    "providerRetryAfterMs": "provider_retry_after_ms",
    "requestId": "request_id",
}


# --- adapters and models ---------------------------------------------------------------------------------------------


def _replace(world: World, args: Arguments) -> None:
    """Hold other routes."""
    registration = world.names.disposers.get(args.text("of"))
    if not isinstance(registration, Registration):
        raise args.wrong("of", "must be the `as` of a model.register")
    registration.replace(cast("Any", args.raw("routes")))


def _providers(world: World, args: Arguments) -> object:
    """List who is registered."""
    return _llm(world, args).providers()


def _models(world: World, args: Arguments) -> Started:
    """List the models of a provider."""
    return Started(_llm(world, args).models(cast("Any", args.raw("provider"))))


def _info(world: World, args: Arguments) -> Started:
    """Ask for one exact model."""
    asked = _llm(world, args).resolve(cast("Any", args.raw("provider")), cast("Any", args.raw("model")))

    async def resolved() -> JsonObject:
        return (await asked).info

    return Started(resolved())


# --- calls and streams -----------------------------------------------------------------------------------------------


def _prepare(world: World, args: Arguments) -> Started:
    """Prepare a call."""
    name, config = args.text("call"), CallConfig.read(_object(args, "config"))
    asked = _llm(world, args).prepare(config, cast("Any", args.raw_or("signal", None)))

    async def prepared() -> PreparedCall:
        call = world.names.prepared[name] = await asked
        return call

    return Started(prepared())


def stream(world: World, args: Arguments) -> None:
    """Dispatch a hand-built request.

    Args:
        world: Keeps the stream under its name.
        args: The request, and the prepared call that dispatches it, if one does.

    Raises:
        Fault: There is no such call.
    """
    dispatcher: LlmRuntime | PreparedCall = _llm(world, args)
    if "call" in args:
        call = world.names.prepared.get(args.text("call"))
        if call is None:
            raise args.wrong("call", "must be a call made by llm.prepare")
        dispatcher = call
    chunks = dispatcher.stream(read_request(_object(args, "request")))
    world.names.streams.setdefault(args.text("stream"), []).append(chunks)


def _pull(world: World, args: Arguments) -> Started:
    """Ask a stream for its next chunk."""
    asked = anext(_stream(world, args), _END)

    async def pulled() -> dict[str, object]:
        chunk = await asked
        return {"end": True} if chunk is _END else {"chunk": chunk}

    return Started(pulled())


def _close(world: World, args: Arguments) -> Started:
    """Leave a stream before its end."""
    return Started(close_stream(_stream(world, args)))


def _error(_: World, args: Arguments) -> dict[str, object]:
    """Make an LlmError."""
    facts: dict[str, Any] = {attribute: args.raw(name) for name, attribute in _FACTS.items() if name in args}
    made = LlmError(cast("Any", args.raw("message")), cast("Any", args.raw("code")), **facts)
    return {"code": made.code, "failure": made.failure}


# --- the selection of an agent's model -------------------------------------------------------------------------------


def _select(world: World, args: Arguments) -> None:
    """Select a model, or none; with `as` through a selection that is installed now."""
    agent, selections = world.composition.agent(args.raw("agent")), world.names.selections
    chosen = args.raw("selection")
    if "as" in args:
        selections[agent.id] = ModelSelection()
        world.names.disposers[args.text("as")] = selections[agent.id].install(agent)
    elif agent.id not in selections:
        raise args.wrong("as", "is needed the first time")
    selections[agent.id].current = None if chosen is None else read_selection(_object(args, "selection"))


LLM_OPERATIONS: Final[Mapping[str, Operation]] = {
    "model.replace": Operation(_replace, ("of", "routes")),
    "model.providers": Operation(_providers, (), ("in",)),
    "model.models": Operation(_models, ("task", "provider"), ("in",)),
    "model.info": Operation(_info, ("task", "provider", "model"), ("in",)),
    "llm.prepare": Operation(_prepare, ("task", "call", "config"), ("signal", "in")),
    "llm.stream": Operation(stream, ("stream", "request"), ("call", "in")),
    "llm.pull": Operation(_pull, ("task", "stream")),
    "llm.close": Operation(_close, ("task", "stream")),
    "llm.error": Operation(_error, ("message", "code"), tuple(_FACTS)),
    "model.select": Operation(_select, ("agent", "selection"), ("as",)),
}
"""Every operation of the profile `llm`."""


def _llm(world: World, args: Arguments) -> LlmRuntime:
    return world.composition.context(args.raw_or("in", "root"))[LLM]


def _stream(world: World, args: Arguments) -> AsyncIterator[JsonObject]:
    found = world.names.streams.get(args.text("stream"))
    if not found:
        raise args.wrong("stream", "must be a stream made by llm.stream")
    return found[-1]


def _object(args: Arguments, name: str) -> Mapping[str, Any]:
    value = args.raw(name)
    if not isinstance(value, Mapping):
        raise args.wrong(name, "must be an object")
    return value
