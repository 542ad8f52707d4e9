"""The operations on owners and scopes, and those of the profile `context`: which call of `dshcore` each one makes."""

from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from dshconform.adapters.reference.commands import Arguments, Operation, Started
from dshconform.adapters.reference.context_kinds import ASYNC_EFFECT, BODY, DEFAULT, EFFECT, OBSERVER, undo_of
from dshconform.adapters.reference.endings import Fail, Settled
from dshconform.adapters.reference.functions import function_of
from dshconform.adapters.reference.owners import LayeredService, Owners, Target
from dshconform.adapters.reference.values import decode
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import Json
from dshcore.context import DISPATCH, Context, Dispatch, Plugin, ServiceKey
from dshcore.scope import bind_scope_parent, scope_chain_of, scope_of, scope_parent_of, scope_target

# --- owners ----------------------------------------------------------------------------------------------------------


def _owner_open(world: World, args: Arguments) -> None:
    """Mount a plugin."""
    owners = _owners(world)
    name, known = args.text("owner"), args.text_or("plugin", "")
    plugin = owners.plugins.get(known) or _plugin(owners, args, name)
    owners.plugins[known or name] = plugin
    context, config = _context(world, args), args.raw_or("config", None)
    owners.mount(name, lambda: context.mount(plugin, config))


def _plugin(owners: Owners, args: Arguments, owner: str) -> Plugin[object]:
    function = function_of(args, "body") if "body" in args else None

    def body(context: Context, config: object) -> object:
        if function is None:
            return None
        fields: dict[str, object] = {"owner": owners.owner(context.fiber)}
        return function.call(BODY, fields if config is None else {**fields, "config": config})

    called = args.values.get("name", owner)
    requires = [owners.service_key(str(key)) for key in args.items("requires")] if "requires" in args else []
    return Plugin(body, name=str(called) or None, requires=requires)


def _owner_close(world: World, args: Arguments) -> object:
    """Dispose of an owner."""
    return _disposed(_owners(world).context(args.text("owner")).fiber.dispose())


def _owner_state(world: World, args: Arguments) -> dict[str, object]:
    """Read how an owner stands."""
    fiber = _owners(world).context(args.text("owner")).fiber
    state: dict[str, object] = {"id": fiber.id, "state": fiber.state.value, "name": fiber.name}
    return state if fiber.error is None else {**state, "error": fiber.error}


def _owner_wait(world: World, args: Arguments) -> Started:
    """Wait until an owner is at rest."""
    return Started(_owners(world).context(args.text("owner")).fiber.wait())


def _owner_restart(world: World, args: Arguments) -> Started:
    """Undo an owner and have it load anew."""
    try:
        return Started(_owners(world).context(args.text("owner")).fiber.restart())
    except Exception as error:  # noqa: BLE001 - an asynchronous operation fails through what it answers
        return Started(Settled(Fail(error)))


# --- scopes ----------------------------------------------------------------------------------------------------------


def _scope_open(world: World, args: Arguments) -> None:
    """Make a scope."""
    name = args.text("scope")
    key, parent = (_key(world, args, member) if member in args else None for member in ("key", "parent"))
    owners = _owners(world)
    owners.open_scope(name, _context(world, args), owners.scope_key(name) if key is None else key, parent)


def _scope_close(world: World, args: Arguments) -> Started:
    """End a scope, or join its end."""
    scope = _owners(world).scope(args.text("scope"))
    if scope is None:
        raise args.wrong("scope", "must be a scope")
    return Started(scope.dispose())


def _scope_bind(world: World, args: Arguments) -> None:
    """Give a key a parent."""
    binding = bind_scope_parent(_key(world, args, "key"), _key(world, args, "parent"))
    _owners(world).bindings[args.text("as")] = binding


def _scope_rebind(world: World, args: Arguments) -> None:
    """Give it another one."""
    binding = _owners(world).bindings.get(args.text("of"))
    if binding is None:
        raise args.wrong("of", "must be the `as` of a binding")
    binding.rebind(_key(world, args, "parent"))


def _scope_tag(world: World, args: Arguments) -> Json:
    """Read the tag of a context."""
    return _shown_key(world, scope_of(_context(world, args)))


def _scope_parent(world: World, args: Arguments) -> Json:
    """Read the parent of a key."""
    return _shown_key(world, scope_parent_of(_key(world, args, "key")))


def _scope_chain(world: World, args: Arguments) -> list[Json]:
    """Read a key with its ancestors."""
    return [_shown_key(world, key) for key in scope_chain_of(_key(world, args, "key"))]


OWNER_OPERATIONS: Final[Mapping[str, Operation]] = {
    "owner.open": Operation(_owner_open, ("owner",), ("requires", "plugin", "name", "body", "config", "in")),
    "owner.close": Operation(_owner_close, ("owner",), ("task",)),
    "owner.state": Operation(_owner_state, ("owner",)),
    "owner.wait": Operation(_owner_wait, ("task", "owner")),
    "owner.restart": Operation(_owner_restart, ("task", "owner")),
    "scope.open": Operation(_scope_open, ("scope",), ("key", "parent", "in")),
    "scope.close": Operation(_scope_close, ("task", "scope")),
    "scope.bind": Operation(_scope_bind, ("as", "key", "parent")),
    "scope.rebind": Operation(_scope_rebind, ("of", "parent")),
    "scope.of": Operation(_scope_tag, (), ("in",)),
    "scope.parent": Operation(_scope_parent, ("key",)),
    "scope.chain": Operation(_scope_chain, ("key",)),
}
"""The operations of every profile beyond the core."""

# --- contexts --------------------------------------------------------------------------------------------------------


def _effect(world: World, args: Arguments) -> Started | None:
    """Register a cleanup, or an effect whose body says what undoes it."""
    name, context = args.text("as"), _context(world, args)
    if "body" not in args:
        world.names.disposers[name] = context.effect(undo_of(function_of(args, "undo"), name), label=name)
        return None
    function = function_of(args, "body")
    if not args.flag("async"):
        body: Any = partial(function.call, EFFECT, {"of": name})  # whatever the script makes of it
        world.names.disposers[name] = context.composite(body, label=name)
        return None
    setup: Any = partial(function.call, ASYNC_EFFECT, {"of": name})
    disposer = context.async_composite(setup, label=name)
    world.names.disposers[name] = disposer
    return Started(disposer) if "task" in args else None


def _derive(world: World, args: Arguments) -> None:
    """Make a context of the same owner, with values."""
    owners, context, values = _owners(world), _context(world, args), args.members("values")
    if not values:
        context = context.derive()
    for name, value in values.items():
        context = context.derive(owners.service_key(name), decode(value, args.scope))
    owners.name_context(args.text("context"), context)


def _isolate(world: World, args: Arguments) -> None:
    """Make a context with a realm of its own for one key."""
    owners = _owners(world)
    label = cast("Any", owners.label(args.text("label"))) if "label" in args else None
    isolated = _context(world, args).isolate(owners.service_key(args.text("key")), label)
    owners.name_context(args.text("context"), isolated)


def _provide(world: World, args: Arguments) -> None:
    """Provide a service."""
    disposer = _context(world, args).provide(_service_key(world, args), args.raw("value"))
    world.names.disposers[args.text("as")] = disposer


def _accessor(world: World, args: Arguments) -> None:
    """Declare an accessor that answers a value."""
    value = args.raw("value")
    disposer = _context(world, args).accessor(_service_key(world, args), lambda _: value)
    world.names.disposers[args.text("as")] = disposer


def _get(world: World, args: Arguments) -> object:
    """Make the optional lookup."""
    return _context(world, args).get(_service_key(world, args))


def _read(world: World, args: Arguments) -> object:
    """Make the required read."""
    return _context(world, args).read(_service_key(world, args))


def _assert_active(world: World, args: Arguments) -> None:
    """Check that the owner of a context has not been disposed of."""
    _context(world, args).assert_active()


# --- dispatches ------------------------------------------------------------------------------------------------------


def _target_new(world: World, args: Arguments) -> None:
    """Make a receiver, or a carrier."""
    owners = _owners(world)
    if "base" in args:
        base = owners.receiver(args.raw("base"))
    else:
        base = Target(function_of(args, "filter") if "filter" in args else None)
        owners.name_target(args.text("target"), base)
    if "key" in args:
        key = None if args.values["key"] is None else _key(world, args, "key")
        owners.name_target(args.text("target"), scope_target(base, key))


def _dispatch(world: World, args: Arguments) -> object:
    """Dispatch an event of the suite's own."""
    owners = _owners(world)
    key = cast("Any", owners.event(args.text("event")).key)
    payload = args.raw_or("args", [])
    to = owners.receiver(args.raw("to")) if "to" in args else None
    context = _context(world, args)
    match args.text("mode"):
        case "emit":
            context.emit(key, payload, to=to)
            return None
        case "serial":
            return Started(context.serial(key, payload, to=to))
        case "parallel":
            return Started(context.parallel(key, payload, to=to))
        case "waterfall":
            function = function_of(args, "default") if "default" in args else None

            def default() -> object:
                return None if function is None else function.call(DEFAULT, {"args": payload})

            answer = context.waterfall(key, payload, default, to=to)
            return Started(answer, answer) if isinstance(answer, Awaitable) else answer
    raise args.wrong("mode", "must be a mode of dispatch")


def _observe(world: World, args: Arguments) -> None:
    """Register what is told of every dispatch."""
    function = function_of(args, "fn")

    def told(dispatched: Dispatch) -> None:
        payload = dispatched.payload
        fields: dict[str, object] = {"mode": dispatched.mode, "name": dispatched.name}
        if dispatched.receiver is not None:
            fields["receiver"] = dispatched.receiver
        function.call(OBSERVER, {**fields, "args": payload if isinstance(payload, Sequence) else [payload]})

    world.names.disposers[args.text("as")] = _context(world, args).on(DISPATCH, told)


# --- services --------------------------------------------------------------------------------------------------------


def _service_open(world: World, args: Arguments) -> None:
    """Mount a plugin with a layered service."""
    owners = _owners(world)
    name, key = args.text("service"), _service_key(world, args)
    forwards = owners.service_key(args.text("forwards")) if "forwards" in args else None

    def body(context: Context, _: object) -> None:
        owners.add_service(name, LayeredService(context, key, forwards))

    context = _context(world, args)
    plugin = Plugin(body, name=name, requires=() if forwards is None else (forwards,))
    owners.mount(name, lambda: context.mount(plugin))


def _service_add(world: World, args: Arguments) -> None:
    """File a name with a service, for whoever asks."""
    context = _context(world, args)
    service: LayeredService = context[_service_key(world, args)]
    world.names.disposers[args.text("as")] = service.add(context, args.text("name"))


def _service_view(world: World, args: Arguments) -> list[str]:
    """Read the names that a scope sees."""
    layers = _owners(world).service(args.text("service")).layers
    scope = _key(world, args, "scope") if "scope" in args else None
    return list(layers.merge(scope, lambda layer: layer.entries))


CONTEXT_OPERATIONS: Final[Mapping[str, Operation]] = {
    "effect": Operation(_effect, ("as",), ("undo", "body", "async", "task", "in")),
    "ctx.derive": Operation(_derive, ("context",), ("values", "in")),
    "ctx.isolate": Operation(_isolate, ("context", "key"), ("label", "in")),
    "ctx.provide": Operation(_provide, ("as", "key", "value"), ("in",)),
    "ctx.accessor": Operation(_accessor, ("as", "key", "value"), ("in",)),
    "ctx.get": Operation(_get, ("key",), ("in",)),
    "ctx.read": Operation(_read, ("key",), ("in",)),
    "ctx.assertActive": Operation(_assert_active, (), ("in",)),
    "target.new": Operation(_target_new, ("target",), ("filter", "base", "key")),
    "dispatch": Operation(_dispatch, ("mode", "event"), ("args", "to", "default", "task", "in")),
    "observe": Operation(_observe, ("as", "fn"), ("in",)),
    "service.open": Operation(_service_open, ("service", "key"), ("forwards", "in")),
    "service.add": Operation(_service_add, ("key", "as", "name"), ("in",)),
    "service.view": Operation(_service_view, ("service",), ("scope",)),
}
"""The operations of the profile `context`, and `effect`, which it extends."""


# --- reading arguments -----------------------------------------------------------------------------------------------


def _disposed(answer: Awaitable[object] | None) -> object:
    """What a disposer answers: an awaitable that a task may follow, or nothing."""
    return "nothing" if answer is None else Started(answer, "awaitable")


def _owners(world: World) -> Owners:
    return world.composition.owners


def _context(world: World, args: Arguments) -> Context:
    return world.composition.context(args.raw_or("in", "root"))


def _key(world: World, args: Arguments, name: str) -> object:
    key = world.composition.scope(args.raw(name))
    if key is None:
        raise args.wrong(name, "must be a scope key")
    return key


def _service_key(world: World, args: Arguments) -> ServiceKey[Any]:
    return _owners(world).service_key(args.text("key"))


def _shown_key(world: World, key: object | None) -> Json:
    return None if key is None else world.composition.refer_key(key)
