"""Chunk streams: they follow a script item by item as they are pulled, and from a gate on the suite.

A stream is an iterator written by hand. A generator would hide that its consumer leaves while a pull is pending.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from dshconform.adapters.reference import actions
from dshconform.adapters.reference.calls import Call
from dshconform.adapters.reference.endings import PASS, Answer, Ending, Fail
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.places import Place
from dshconform.adapters.reference.scripts import Script
from dshconform.adapters.reference.values import decode
from dshconform.protocol.json_value import Json


class SuiteStream:
    """A stream of chunks.

    Args:
        call: The call that answers it; its function, fields and signal are the stream's.
        script: What it does; commands, `set`, `defer`, `pause` and `next` run when they are reached by a pull.
        place: Where the script stands.
        left: Called when the consumer closes the stream.
    """

    def __init__(self, call: Call, script: Script, place: Place, left: Callable[[], object] | None = None) -> None:
        self._call: Final = call
        self._script: Final = script
        self._place: Final = place
        self._left: Final = left
        self._next_action = 0
        self._held: Final[deque[object]] = deque()
        self._ending: Ending | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._pulls = 0
        if script and script[0].get("do") == "gate":
            self._open_gate()

    def __aiter__(self) -> "SuiteStream":
        return self

    async def __anext__(self) -> object:
        """Give the next item: one that is held, else one of the script, else one of the suite."""
        if self._is_open:
            self._record_pull()
        while not self._held and self._ending is None:
            if self._is_open:
                await self._wait()
            else:
                await self._run()
        if self._held:
            return self._held.popleft()
        ending, self._ending = self._ending, PASS
        self._call.close()
        if isinstance(ending, Fail):
            raise ending.error
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Be left by the consumer.

        Cancellation:
            The stream is closed; only what was to be told of it is not waited for.
        """
        gate = self._call.gate
        if self._is_open and gate is not None:
            self._call.world.record({"on": "closed", "gate": gate.id, "why": "left"})
        self._held.clear()
        self.finish(PASS)
        self._call.close()
        if self._left is not None:
            answer = self._left()
            if isinstance(answer, Awaitable):
                await answer

    # --- the suite's side ----------------------------------------------------------------------------------------

    def give(self, item: object) -> None:
        """Hold an item until it is pulled."""
        self._held.append(self._call.kind.item(item))
        self._wake()

    def finish(self, ending: Ending) -> None:
        """End or fail, after the items that are held.

        Args:
            ending: How it ends.
        """
        if self._ending is None:
            self._ending = ending
        if self._is_open:
            self._call.close_gate()
        self._wake()

    # --- internals -----------------------------------------------------------------------------------------------

    @property
    def _is_open(self) -> bool:
        """Whether the suite fills it now."""
        return self._call.gate is not None and self._call.gate.stream is self

    def _open_gate(self) -> None:
        self._call.open_gate(self)

    def _record_pull(self) -> None:
        self._pulls += 1
        assert self._call.gate is not None
        self._call.world.record({"on": "pull", "gate": self._call.gate.id, "n": self._pulls})

    async def _wait(self) -> None:
        self._waiting = self._call.world.loop.create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def _run(self) -> None:
        """Run the next action of the script."""
        if self._next_action == len(self._script):
            self.finish(PASS)
            return
        index = self._next_action
        action, place = self._script[index], self._place.inside(index)
        self._next_action += 1
        try:
            match action.get("do"):
                case "gate":
                    self._open_gate()
                    if self._is_open:
                        self._record_pull()
                case "chunk":
                    self.give(self._read(action["chunk"], place))
                case "chunks":
                    for chunk in _items(action["list"]):
                        self.give(self._read(chunk, place))
                case _ if actions.waits(self._call, action):
                    failed = await actions.wait(self._call, action, place)
                    if failed is not None:
                        self.finish(failed)
                case _:
                    ending = actions.step(self._call, action, place)
                    if ending is not None:
                        self.finish(PASS if isinstance(ending, Answer) else ending)
        except Fault as fault:
            self._call.world.fault(fault)
            self.finish(PASS)

    def _read(self, chunk: Json, place: Place) -> object:
        return decode(chunk, self._call.world.scope(place))


def _items(value: Json) -> list[Json]:
    if not isinstance(value, list | tuple):
        raise Fault(f"chunks: list must be a list, not {value!r}")
    return list(value)
