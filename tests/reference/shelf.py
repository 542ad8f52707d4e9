"""A store of sessions that a test fills: what a persistence service offers, without a disk."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from tests.reference.world import World

from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.session import SESSION_PERSISTENCE, SESSIONS, Preparation


class Shelf:
    """Stored sessions, by id; it notes what it is asked.

    Attributes:
        asked: The ids whose loading has begun.
        signals: The signals of these loads.
        released: How many preparations were given back.
        refusal: What giving one back fails with.
        failure: What the next loads fail with.
        listing: What listing fails with.
        listings: How often it was listed.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._stored: dict[str, tuple[Mapping[str, Any], Sequence[Any]]] = {}
        self._gate: asyncio.Future[None] | None = None
        self.asked: list[str] = []
        self.signals: list[CancelSignal] = []
        self.released = 0
        self.refusal: Exception | None = None
        self.failure: Exception | None = None
        self.listing: Exception | None = None
        self.listings = 0

    def mount(self) -> Context:
        """Offer it to the application; its context's end takes it away."""
        own = self._world.root.open(name="persistence")
        self._world.run(lambda: own.provide(SESSION_PERSISTENCE, self))
        return own

    def put(self, session_id: str, events: Sequence[Any] = (), **meta: Any) -> None:
        """Store a session."""
        self._stored[session_id] = ({"version": 0, "id": session_id, "createdAt": 1, **meta}, list(events))

    def hold(self) -> "asyncio.Future[None]":
        """Let the next load wait."""
        self._gate = self._world.loop.create_future()
        return self._gate

    async def prepare(self, session_id: str, signal: CancelSignal) -> Preparation:
        self.asked.append(session_id)
        self.signals.append(signal)
        if self._world.root[SESSIONS].get(session_id) is not None:
            raise LookupError(f'cannot prepare session "{session_id}" while it is live')
        if session_id not in self._stored:
            raise LookupError(f'session "{session_id}" not found')
        session = self._world.root[SESSIONS].restore(session_id, *self._stored[session_id])
        gate, self._gate = self._gate, None
        if gate is not None:
            await gate
        if self.failure is not None:
            raise self.failure
        return Preparation(session, self._release)

    async def list(self, signal: CancelSignal) -> Sequence[Mapping[str, Any]]:
        assert not signal.aborted
        self.listings += 1
        if self.listing is not None:
            raise self.listing
        return [header for header, _ in self._stored.values()]

    def _release(self) -> None:
        self.released += 1
        if self.refusal is not None:
            raise self.refusal
