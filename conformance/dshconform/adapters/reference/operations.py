"""The `core` command table: which call of `dshcore` each command makes.

Values of the contract (messages, causes, options, metadata) are passed on as they were sent; the adapter checks only
what it reads itself.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET

from dshconform.adapters.reference.commands import Arguments, Operation, Started
from dshconform.adapters.reference.composition import Composition
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.functions import SuiteFunction, function_of
from dshconform.adapters.reference.kinds import EVENTS, MAINTENANCE, SETUP, frozen, listener
from dshconform.adapters.reference.models import ModelFunctions, SuiteModel
from dshconform.adapters.reference.paths import snake_case
from dshconform.adapters.reference.session_operations import FOLDS as SESSION_FOLDS
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import Json
from dshcore.agent import AGENTS, Agent, AgentOptions, CreateAgentOptions, fold_consumed_work
from dshcore.agent_loop import AGENT_LOOP
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.llm import LLM, RetryPolicy
from dshcore.session import Session

# --- worlds, registrations, signals ----------------------------------------------------------------------------------


def _world_open(world: World, args: Arguments) -> None:
    """Compose."""
    if hasattr(world, "composition"):
        raise Fault("world.open: stands alone, not in a burst or script")
    world.composition = Composition(world)
    world.composition.parts.open(args.members("config"))
    world.composition.opened = True


def _undo(world: World, args: Arguments) -> object:
    """Call a disposer."""
    disposer = world.names.disposers.get(args.text("of"))
    if disposer is None:
        raise args.wrong("of", "must be the `as` of a registration")
    answer = disposer()
    return Started(answer, "awaitable") if isinstance(answer, Awaitable) else "nothing"


def _listen(world: World, args: Arguments) -> None:
    """Register a listener."""
    name = args.text("event")
    event = EVENTS.get(name) or world.composition.owners.event(name)
    world.names.disposers[args.text("as")] = _context(world, args).on(
        cast("Any", event.key),
        listener(function_of(args, "fn"), event),
        prepend=args.flag("prepend"),
        global_=args.flag("global"),
        once=args.flag("once"),
    )


def _signal_new(world: World, args: Arguments) -> None:
    """Make a signal."""
    world.names.signals[args.text("signal")] = CancelSignal()


def _signal_read(world: World, args: Arguments) -> dict[str, object]:
    """Read a signal of the suite, or one that a call was given."""
    signal = args.raw("signal")
    if not isinstance(signal, CancelSignal):
        signal = _signal(world, args)
    return {"aborted": signal.aborted, "reason": signal.reason} if signal.aborted else {"aborted": False}


def _signal_abort(world: World, args: Arguments) -> None:
    """Fire a signal of the suite."""
    _signal(world, args).abort(args.raw_or("reason", None))


# --- agents ----------------------------------------------------------------------------------------------------------


def _agent_create(world: World, args: Arguments) -> Started | Json:
    """Create an agent."""
    composition = world.composition
    agent_id = args.text("agent")
    name = args.text_or("handle", agent_id)
    given = options_of(composition, name, args)
    context = _context(world, args)
    options = CreateAgentOptions(session_id=agent_id, **given)
    if args.flag("sync"):
        return composition.named_now(agent_id, name, lambda: context[AGENT_LOOP].create_now(context, options))
    return Started(composition.named(agent_id, name, context[AGENTS].create(context, options)))


def options_of(composition: Composition, name: str, args: Arguments) -> dict[str, Any]:
    """What creating and resuming take beside an id, as far as it was given.

    Args:
        composition: Where the names in them stand for something.
        name: What the suite will call the agent.
        args: The arguments of the command.

    Raises:
        Fault: The setup is no function of the suite.
    """
    given: dict[str, Any] = {option: args.raw(option) for option in ("meta", "seed", "signal") if option in args}
    if "options" in args:
        given["agent_options"] = _agent_options(args.raw("options"))
    if "setup" in args:
        given["setup"] = _compose_scope(composition, name, function_of(args, "setup"))
    return given


def _agent_dispose(world: World, args: Arguments) -> Started:
    """Dispose of an agent."""
    return Started(world.composition.handle(args.raw("agent")).dispose())


def _agent_when_idle(world: World, args: Arguments) -> Started:
    """Wait for quiescence."""
    return Started(_agent(world, args).when_idle())


def _agent_send(world: World, args: Arguments) -> None:
    """Deliver a message."""
    _agent(world, args).send(_any(args, "message"), _any(args, "target"), _any(args, "wakeup"))


def _agent_followup(world: World, args: Arguments) -> None:
    """Deliver a message for a turn of its own."""
    _agent(world, args).followup(_any(args, "message"))


def _agent_steer(world: World, args: Arguments) -> None:
    """Deliver a message for the next step."""
    _agent(world, args).steer(_any(args, "message"))


def _agent_inject(world: World, args: Arguments) -> None:
    """Deliver a message that wakes nobody."""
    _agent(world, args).inject(_any(args, "message"))


def _agent_cancel(world: World, args: Arguments) -> None:
    """Cancel."""
    agent, cause = _agent(world, args), _any(args, "cause")
    if "keepInbox" in args:
        agent.cancel(cause, keep_inbox=_any(args, "keepInbox"))
    else:
        agent.cancel(cause)


def _agent_maintain(world: World, args: Arguments) -> Started:
    """Run a maintenance task."""
    agent, task = _agent(world, args), function_of(args, "fn")

    def run(signal: CancelSignal) -> Any:  # noqa: ANN401 - an awaitable, which the kind sees to
        return task.call(MAINTENANCE, {"signal": signal}, agent=agent)

    return Started(agent.run_maintenance(run))


def _agent_inspect(world: World, args: Arguments) -> dict[str, object]:
    """Read what the handle tells."""
    agent = _agent(world, args)
    inbox = agent.inbox
    return {
        "id": agent.id,
        "status": agent.status,
        "nextTurn": inbox.next_turn,
        "nextStep": inbox.next_step,
        "hasPending": inbox.has_pending,
        "options": agent.options,
        "session": agent.session.id,
    }


# --- inbox -----------------------------------------------------------------------------------------------------------


def _inbox_append(world: World, args: Arguments) -> None:
    """Insert at the end."""
    _agent(world, args).inbox.append(_any(args, "target"), _any(args, "message"))


def _inbox_prepend(world: World, args: Arguments) -> None:
    """Insert at the beginning."""
    _agent(world, args).inbox.prepend(_any(args, "target"), _any(args, "message"))


def _inbox_splice(world: World, args: Arguments) -> object:
    """Remove and insert."""
    options = {snake_case(name): _any(args, name) for name in ("start", "deleteCount", "inserted") if name in args}
    return _agent(world, args).inbox.splice(_any(args, "target"), **options)


def _inbox_replace(world: World, args: Arguments) -> bool:
    """Put one message where another waits."""
    return _agent(world, args).inbox.replace(_any(args, "id"), _any(args, "message"))


def _inbox_remove(world: World, args: Arguments) -> bool:
    """Cancel one message."""
    return _agent(world, args).inbox.remove(_any(args, "id"))


def _inbox_clear(world: World, args: Arguments) -> None:
    """Cancel everything pending."""
    _agent(world, args).inbox.clear()


# --- registry, sessions, folds ---------------------------------------------------------------------------------------


def _registry_get(world: World, args: Arguments) -> Json:
    """Look an agent up."""
    return world.composition.refer(_context(world, args)[AGENTS].get(_any(args, "id")))


def _registry_list(world: World, args: Arguments) -> list[Json]:
    """List the live agents."""
    return [world.composition.refer(agent) for agent in _context(world, args)[AGENTS].list()]


def _registry_roots(world: World, args: Arguments) -> list[Json]:
    """List the live agents that no agent owns."""
    return [world.composition.refer(agent) for agent in _context(world, args)[AGENTS].roots()]


_VIEWS: Final[Mapping[str, Callable[[Session], object]]] = {
    "events": lambda session: session.events,
    "seq": lambda session: session.seq,
    "header": lambda session: session.header,
    "messages": lambda session: session.derive_messages(),
    "firstLiveSeq": lambda session: session.first_live_seq,
    "nodes": lambda session: session.surface.nodes,
    "replaceGeneration": lambda session: session.surface.replace_generation,
    "requestHeader": lambda session: session.request_header(),
    "requestContext": lambda session: session.request_context(),
}


def _session_read(world: World, args: Arguments) -> dict[str, object]:
    """Read a session."""
    session = world.composition.session(args.raw("session"))
    read: dict[str, object] = {}
    for what in args.items("what"):
        view = _VIEWS.get(str(what))
        if view is None:
            raise args.wrong("what", f"must list some of {', '.join(_VIEWS)}")
        value = view(session)
        if value is not None:  # no header or context yet: the member is absent
            read[str(what)] = value
    return read


def _session_append(world: World, args: Arguments) -> object:
    """Append to a session; what the caller left out stays absent."""
    intent = args.raw_or("intent", {})
    if not isinstance(intent, Mapping):
        raise args.wrong("intent", "must be an object")
    surface = {snake_case(name): intent[name] for name in ("surfaceOp", "sourceEventSeqs") if name in intent}
    session = world.composition.session(args.raw("session"))
    return session.append(_any(args, "type"), args.raw_or("data", UNSET), **surface)


def _fold(world: World, args: Arguments) -> object:  # noqa: ARG001 - a fold needs no world
    """Fold events."""
    of = _FOLDS.get(args.text("what"))
    if of is None:
        raise args.wrong("what", f"must be one of {', '.join(_FOLDS)}")
    return of(args)


def _work(args: Arguments) -> dict[str, object]:
    work = fold_consumed_work(cast("Any", frozen(args.raw("events"))))
    dropped: dict[str, object] = {"droppedUnrun": work.dropped_unrun}
    return dropped if work.end is None else {"end": work.end, **dropped}


_FOLDS: Final[Mapping[str, Callable[[Arguments], object]]] = {"work": _work, **SESSION_FOLDS}


# --- models ----------------------------------------------------------------------------------------------------------


def _model_register(world: World, args: Arguments) -> None:
    """Register a model adapter, a new one or one that was registered before."""
    context, models = _context(world, args), world.composition.models
    name = args.text_or("adapter", "")
    model = models.get(name)
    if model is None:
        model = SuiteModel(_model_functions(args))
        if name:
            models[name] = model
    options: dict[str, Any] = {"names": args.raw("names")} if "names" in args else {}
    if "retryPolicy" in args:
        options["retry_policy"] = _retry_policy(args)
    world.names.disposers[args.text("as")] = context[LLM].register(
        context, _any(args, "routes"), cast("Any", model), **options
    )


# --- the table -------------------------------------------------------------------------------------------------------

CORE: Final[Mapping[str, Operation]] = {
    "world.open": Operation(_world_open, (), ("config",)),
    "undo": Operation(_undo, ("of",), ("task",)),
    "listen": Operation(_listen, ("as", "event", "fn"), ("prepend", "global", "once", "in")),
    "signal.new": Operation(_signal_new, ("signal",)),
    "signal.read": Operation(_signal_read, ("signal",)),
    "signal.abort": Operation(_signal_abort, ("signal",), ("reason",)),
    "agent.create": Operation(
        _agent_create, ("agent",), ("task", "handle", "options", "meta", "seed", "signal", "setup", "sync", "in")
    ),
    "agent.dispose": Operation(_agent_dispose, ("task", "agent")),
    "agent.whenIdle": Operation(_agent_when_idle, ("task", "agent")),
    "agent.send": Operation(_agent_send, ("agent", "message", "target", "wakeup")),
    "agent.followup": Operation(_agent_followup, ("agent", "message")),
    "agent.steer": Operation(_agent_steer, ("agent", "message")),
    "agent.inject": Operation(_agent_inject, ("agent", "message")),
    "agent.cancel": Operation(_agent_cancel, ("agent", "cause"), ("keepInbox",)),
    "agent.maintain": Operation(_agent_maintain, ("task", "agent", "fn")),
    "agent.inspect": Operation(_agent_inspect, ("agent",)),
    "inbox.append": Operation(_inbox_append, ("agent", "target", "message")),
    "inbox.prepend": Operation(_inbox_prepend, ("agent", "target", "message")),
    "inbox.splice": Operation(_inbox_splice, ("agent", "target"), ("start", "deleteCount", "inserted")),
    "inbox.replace": Operation(_inbox_replace, ("agent", "id", "message")),
    "inbox.remove": Operation(_inbox_remove, ("agent", "id")),
    "inbox.clear": Operation(_inbox_clear, ("agent",)),
    "registry.get": Operation(_registry_get, ("id",), ("in",)),
    "registry.list": Operation(_registry_list, (), ("in",)),
    "registry.roots": Operation(_registry_roots, (), ("in",)),
    "session.read": Operation(_session_read, ("session", "what")),
    "session.append": Operation(_session_append, ("session", "type"), ("data", "intent")),
    "fold": Operation(_fold, ("what",), ("events", "from", "header", "a", "b", "event")),
    "model.register": Operation(
        _model_register,
        ("as", "routes"),
        ("stream", "adapter", "start", "resolve", "models", "close", "names", "retryPolicy", "in"),
    ),
}
"""Every operation of the implementation that the profile `core` needs."""


# --- reading arguments -----------------------------------------------------------------------------------------------


def _any(args: Arguments, name: str) -> Any:  # noqa: ANN401 - passed on unchecked, whatever it is
    return args.raw(name)


def _context(world: World, args: Arguments) -> Context:
    return world.composition.context(args.raw_or("in", "root"))


def _agent(world: World, args: Arguments) -> Agent:
    return world.composition.agent(args.raw("agent"))


def _signal(world: World, args: Arguments) -> CancelSignal:
    signal = world.names.signals.get(args.text("signal"))
    if signal is None:
        raise args.wrong("signal", "must be a signal made by signal.new")
    return signal


def _function_or_none(args: Arguments, name: str) -> SuiteFunction | None:
    return function_of(args, name) if name in args else None


def _agent_options(raw: object) -> Any:  # noqa: ANN401 - what is no object is passed on unchecked
    if not isinstance(raw, Mapping):
        return raw
    known: dict[str, Any] = {
        attribute: raw[name]
        for attribute, name in (("provider", "provider"), ("model", "model"), ("max_tokens", "maxTokens"))
        if name in raw
    }
    return AgentOptions(**known)


def _retry_policy(args: Arguments) -> RetryPolicy:
    try:
        policy: RetryPolicy = msgspec.convert(args.raw("retryPolicy"), RetryPolicy)
    except msgspec.ValidationError as error:
        raise args.wrong("retryPolicy", f"must be a retry policy ({error})") from None
    return policy


def _compose_scope(composition: Composition, name: str, function: SuiteFunction) -> Callable[[Context], Any]:
    """Make the setup of an agent, which has its name from the start of it."""

    def compose(context: Context) -> Any:  # noqa: ANN401 - whatever the function answers
        agent = context.scope  # the scope key of an agent is the agent
        if isinstance(agent, Agent):
            composition.bind(name, agent)
        return function.call(SETUP, {}, agent=agent)

    return compose


def _model_functions(args: Arguments) -> ModelFunctions:
    if "stream" not in args:
        raise args.wrong("stream", "is needed where no earlier `adapter` is named")
    resolve = args.raw_or("resolve", None)
    if resolve is not None and not isinstance(resolve, SuiteFunction | Mapping):
        raise args.wrong("resolve", "must be a function, or metadata by model")
    return ModelFunctions(
        function_of(args, "stream"),
        _function_or_none(args, "start"),
        resolve,
        _function_or_none(args, "models"),
        _function_or_none(args, "close"),
    )
