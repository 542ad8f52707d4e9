"""The command table of the profile `session`: which call of `dshcore.session` each command makes."""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from msgspec import UNSET

from dshconform.adapters.reference.commands import Arguments, Operation, Started
from dshconform.adapters.reference.kinds import frozen
from dshconform.adapters.reference.paths import MISSING, read
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import Json, same
from dshcore.context import Context
from dshcore.session import (
    SESSIONS,
    Session,
    SessionEvent,
    SessionStore,
    canonical_header,
    derive_event_message,
    fold_request_header,
    fold_surface,
    fold_todos,
    header_equals,
)

# --- making sessions -------------------------------------------------------------------------------------------------


def _session_create(world: World, args: Arguments) -> str:
    """Create a session."""
    context, store, given = _context(world, args), _store(world, args), _given(args)
    return _making(world, args, lambda: store.create(context, _any(args, "id"), **given))


def _session_prepare(world: World, args: Arguments) -> str:
    """Prepare a session."""
    store, given = _store(world, args), _given(args)
    return _making(world, args, lambda: store.prepare(_any(args, "id"), **given))


def _session_restore(world: World, args: Arguments) -> str:
    """Prepare a session from what was stored of it."""
    store = _store(world, args)
    return _making(
        world, args, lambda: store.restore(_any(args, "id"), args.raw("header"), cast("Any", args.raw("events")))
    )


def _session_fork(world: World, args: Arguments) -> str:
    """Fork a session."""
    context, store = _context(world, args), _store(world, args)
    which = args.raw("source")
    source = which["id"] if isinstance(which, Mapping) else world.composition.session(which)
    boundary = args.raw_or("boundary", UNSET)
    return _making(world, args, lambda: store.fork(context, source, boundary, _any(args, "id")))


def _making(world: World, args: Arguments, make: Callable[[], Session]) -> str:
    """Call what makes a session, which has its name from its first notification on."""
    name, composition = args.text("session"), world.composition
    with composition.making(name):
        session = make()
    composition.bind_session(name, session)
    return session.id


# --- their life ------------------------------------------------------------------------------------------------------


def _session_enter(world: World, args: Arguments) -> None:
    """Enter a prepared session."""
    store = _store(world, args)
    world.names.disposers[args.text("as")] = store.enter(_session(world, args), _context(world, args))


def _session_announce(world: World, args: Arguments) -> None:
    """Announce an entered session."""
    _store(world, args).announce(_session(world, args))


def _session_get(world: World, args: Arguments) -> Json:
    """Look a session up."""
    return world.composition.refer(_store(world, args).get(_any(args, "id")))


def _session_list(world: World, args: Arguments) -> list[Json]:
    """List the live sessions."""
    return [world.composition.refer(session) for session in _store(world, args).list()]


def _session_flush(world: World, args: Arguments) -> Started:
    """Flush a session."""
    return Started(_store(world, args).flush(_session(world, args)))


def _session_refuse(world: World, args: Arguments) -> None:
    """Refuse the next event of a session that meets conditions."""
    session, when = _session(world, args), args.members("when")
    error = args.raw_or("error", ValueError("refused"))

    def refuse(asked: Session, candidate: SessionEvent) -> None:
        if asked is session and all(_shows(world, candidate, path, wanted) for path, wanted in when.items()):
            remove()
            raise cast("BaseException", error)

    root = world.composition.root
    remove = root[SESSIONS].validate(root, refuse)


def _shows(world: World, event: SessionEvent, path: str, wanted: Json) -> bool:
    found = read(event, path)
    return found is not MISSING and same(world.show(found), wanted)


# --- folds -----------------------------------------------------------------------------------------------------------


def _surface(args: Arguments) -> dict[str, object]:
    """Fold the surface."""
    fold = fold_surface(_frozen(args, "events"))
    replacements = [
        {"seq": one.seq, "start": one.start, "end": one.end, "shadowedSeqs": one.shadowed_seqs}
        for one in fold.replacements
    ]
    return {"nodes": fold.nodes, "replacements": replacements}


def _request_header(args: Arguments) -> object:
    """Fold the request header in force."""
    return fold_request_header(_frozen(args, "events"), cast("Any", frozen(args.raw_or("from", None))))


FOLDS: Final[Mapping[str, Callable[[Arguments], object]]] = {
    "surface": _surface,
    "requestHeader": _request_header,
    "todos": lambda args: fold_todos(_frozen(args, "events")),
    "canonical": lambda args: canonical_header(_frozen(args, "header")),
    "equal": lambda args: header_equals(_frozen(args, "a"), _frozen(args, "b")),
    "message": lambda args: derive_event_message(_frozen(args, "event")),
}
"""The folds of the profile, by their names."""

# --- the table -------------------------------------------------------------------------------------------------------

SESSION: Final[Mapping[str, Operation]] = {
    "session.create": Operation(_session_create, ("session",), ("id", "meta", "seed", "in")),
    "session.prepare": Operation(_session_prepare, ("session",), ("id", "meta", "seed", "in")),
    "session.restore": Operation(_session_restore, ("session", "id", "header", "events"), ("in",)),
    "session.enter": Operation(_session_enter, ("session", "as"), ("in",)),
    "session.announce": Operation(_session_announce, ("session",), ("in",)),
    "session.get": Operation(_session_get, ("id",), ("in",)),
    "session.list": Operation(_session_list, (), ("in",)),
    "session.fork": Operation(_session_fork, ("source", "session"), ("boundary", "id", "in")),
    "session.flush": Operation(_session_flush, ("task", "session"), ("in",)),
    "session.refuse": Operation(_session_refuse, ("session", "when"), ("error",)),
}
"""Every operation of the profile `session`."""


# --- reading arguments -----------------------------------------------------------------------------------------------


def _any(args: Arguments, name: str) -> Any:  # noqa: ANN401 - passed on unchecked, whatever it is
    return args.raw_or(name, None)


def _given(args: Arguments) -> dict[str, Any]:
    """What a session is made of, unchecked."""
    return {name: args.raw(name) for name in ("meta", "seed") if name in args}


def _frozen(args: Arguments, name: str) -> Any:  # noqa: ANN401 - passed on unchecked, whatever it is
    return frozen(args.raw(name))


def _context(world: World, args: Arguments) -> Context:
    return world.composition.context(args.raw_or("in", "root"))


def _store(world: World, args: Arguments) -> SessionStore:
    """The store, through a context that need not have asked for it."""
    context = _context(world, args)
    return context.get(SESSIONS) or context[SESSIONS]


def _session(world: World, args: Arguments) -> Session:
    return world.composition.session(args.raw("session"))
