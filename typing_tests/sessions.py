"""What may be done with sessions, and what the type checkers refuse."""

from collections.abc import Sequence

from typing_tests.declarations import ctx

from dshcore.ids import CallId, SessionId
from dshcore.json import JsonObject
from dshcore.session import (
    SESSION_CREATED,
    SESSION_EVENT,
    SESSION_FLUSH,
    SESSIONS,
    Session,
    SessionCreated,
    SessionEvent,
    SessionFlush,
    SessionPublished,
    fold_surface,
)

store = ctx[SESSIONS]
session: Session = store.create(ctx, "s", meta={"cwd": "/x"}, seed=[])
child: Session = store.fork(ctx, session, 3)
again: Session = store.fork(ctx, SessionId("s"))
event: SessionEvent = session.append("x/y", {"a": [1]})
history: Sequence[JsonObject] = session.derive_messages()
nodes: tuple[int, ...] = session.surface.nodes


def note(session: Session, candidate: SessionEvent) -> None: ...


async def flush(payload: SessionFlush) -> None: ...


def created(payload: SessionCreated) -> None: ...


def published(payload: SessionPublished) -> int:
    return payload.event["seq"]  # type: ignore[no-any-return]  # a member is any JSON


store.validate(ctx, note)
ctx.on(SESSION_FLUSH, flush)
ctx.on(SESSION_CREATED, created)
ctx.on(SESSION_EVENT, published)


async def wait() -> bool:
    return await store.flush(session)


def wrong() -> None:
    event["data"] = {}  # error: index
    event.update({})  # error: attr-defined
    session.events[0] = event  # error: index
    session.events.append(event)  # error: attr-defined
    history[0] = event  # error: index
    session.surface.place(event, 1)  # error: attr-defined
    session.header = event  # error: misc
    session.first_live_seq += 1  # error: misc
    session.append(5, {})  # error: arg-type
    store.create("s")  # error: arg-type
    store.enter(SessionId("s"), ctx)  # error: arg-type
    store.fork(ctx, 5)  # error: arg-type
    store.get(5)  # error: arg-type
    store.validate(ctx, created)  # error: arg-type
    ctx.on(SESSION_FLUSH, created)  # error: arg-type
    ctx.on(SESSION_CREATED, published)  # error: arg-type
    ctx.emit(SESSION_FLUSH, SessionFlush(session))  # error: arg-type
    fold_surface(session)  # error: arg-type
    store.restore(session, {}, [])  # error: arg-type
    call: CallId = session.id  # error: assignment
