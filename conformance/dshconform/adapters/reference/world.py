"""One world: an event loop of its own, the rows made in it, the gates that wait, and what the suite has named.

Everything that happens in a world happens inside `run`: a step is put on the loop, and the loop runs until nothing can
go on without another command. Nothing here knows what the implementation is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from dshconform.adapters.reference.failures import show_error
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.places import Place
from dshconform.adapters.reference.values import Scope, encode
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Row
from dshcore import eager
from dshcore.cancel_signal import CancelSignal
from dshcore.settling import SettlingLoop, Unsettled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from dshconform.adapters.reference.calls import Gate
    from dshconform.adapters.reference.commands import Operation
    from dshconform.adapters.reference.composition import Composition
    from dshconform.adapters.reference.functions import SuiteFunction
    from dshcore.agent import ModelSelection
    from dshcore.json import JsonObject
    from dshcore.llm import PreparedCall

T = TypeVar("T")

CURRENT: Final[ContextVar["World | None"]] = ContextVar("world", default=None)
"""The world in which the running code was started: several may live in one process."""


MAX_ROWS: Final = 200_000
"""Rows of one reply."""


class Flood(BaseException):
    """More rows than a reply may have. No `Exception`: nothing that listens to the implementation may contain it."""


@dataclass(slots=True)
class Names:
    """What the names of the suite stand for. A name used again means the newer thing.

    Args:
        functions: Those that `$fn` calls by name alone.
        disposers: What ends registrations.
        signals: The signals that the suite made.
        kept: The values that it had kept.
        prepared: The calls that it had prepared.
    """

    functions: "dict[str, SuiteFunction]" = field(default_factory=dict)
    disposers: dict[str, Callable[[], object]] = field(default_factory=dict)
    signals: dict[str, CancelSignal] = field(default_factory=dict)
    kept: dict[str, object] = field(default_factory=dict)
    prepared: "dict[str, PreparedCall]" = field(default_factory=dict)
    streams: "dict[str, list[AsyncIterator[JsonObject]]]" = field(default_factory=dict)
    """The newest last. The others are held: a stream that nobody holds is closed behind the suite's back."""
    selections: "dict[str, ModelSelection]" = field(default_factory=dict)
    """By the id of the agent."""
    tokens: dict[str, object] = field(default_factory=dict)
    """The tokens of executions, in order of appearance."""
    errors: dict[int, tuple[BaseException, str]] = field(default_factory=dict)
    """By identity; the error is held, so that no other one gets its identity."""

    def token_name(self, token: object) -> str:
        """The adapter's name of a token: t1, t2, … in order of appearance."""
        for name, known in self.tokens.items():
            if known is token:
                return name
        name = f"t{len(self.tokens) + 1}"
        self.tokens[name] = token
        return name

    def error_name(self, error: BaseException) -> str | None:
        """The suite's name of the very error that it made."""
        entry = self.errors.get(id(error))
        return None if entry is None else entry[1]


class World:
    """A world, empty of everything but its loop.

    Args:
        table: The operations that commands and scripts may call.
        scope: Makes what values are read in.
        loop: Where everything in it runs; the world closes it.
        max_rows: As many as a reply may have. An implementation that never rests need not let the loop turn.
    """

    composition: "Composition"
    """The implementation in it; set when the world is opened."""

    def __init__(
        self,
        table: "Mapping[str, Operation]",
        scope: "Callable[[World, Place], Scope]",
        loop: SettlingLoop,
        max_rows: int = MAX_ROWS,
    ) -> None:
        self.table: Final = table
        self._scope = scope
        self.loop: Final = loop
        self.loop.set_exception_handler(self._unhandled)
        self.context: Final = Context()
        """The context variables of everything that commands call."""
        self.context.run(CURRENT.set, self)
        self.names: Final = Names()
        """What they stand for in this world."""
        self.gates: Final[dict[str, Gate]] = {}
        """The gates that wait, in order of opening."""
        self._faults: Final[list[str]] = []
        self._rows: list[Row] = []
        self._max_rows: Final = max_rows
        self._at_rest = True
        self._collected: Final[list[Row]] = []
        """Failures that came to light while nothing ran: whenever a collector of garbage met them."""
        self._gates_opened = 0
        self._running: Final[set[asyncio.Future[object]]] = set()

    # --- running -----------------------------------------------------------------------------------------------

    def run(self, step: Callable[[], T]) -> T:
        """Call a function inside the loop, then let everything run that can.

        Args:
            step: What the command does.

        Returns:
            What the function answered.

        Raises:
            Exception: What the function raised, after everything has settled.
            Flood: The function made too many rows.
            Unsettled: The implementation did not come to rest.
        """
        outcome: list[T] = []
        failure: list[BaseException] = []

        def call() -> None:
            try:
                outcome.append(step())
            except (Exception, Flood) as error:  # noqa: BLE001 - handed to the caller once the world has settled
                failure.append(error)

        self._rows.extend(self._collected)
        self._collected.clear()
        self._at_rest = False
        self.loop.call_soon(call, context=self.context.copy())
        try:
            self.loop.settle()
        finally:
            self._at_rest = True
        if failure:
            raise failure[0]
        return outcome[0]

    def start(self, awaitable: Awaitable[object]) -> asyncio.Future[object]:
        """Have an awaitable run whether or not anybody waits for it; a coroutine begins inside this call.

        Returns:
            Its outcome; the very object, if it is a future.
        """
        if isinstance(awaitable, asyncio.Future):
            return awaitable
        future: asyncio.Future[object] = eager.start(_wait_for(awaitable))
        self._running.add(future)  # asyncio itself holds tasks weakly
        future.add_done_callback(self._running.discard)
        return future

    def later(self, ticks: int, call: Callable[[], None]) -> None:
        """Call a function a number of ticks from now, without suite input.

        Args:
            ticks: How many; 0 for at once.
            call: What is called.
        """
        if ticks == 0:
            call()
            return
        context = copy_context()

        def tick(left: int) -> None:
            if left == 0:
                call()
            else:
                self.loop.call_soon(tick, left - 1, context=context)

        self.loop.call_soon(tick, ticks - 1, context=context)

    def close(self) -> None:
        """Abandon what waits and end the loop. Nothing of it is reported."""
        self.gates.clear()
        try:
            self.loop.finish()
        except Unsettled:  # a task that withstands its cancellation: nobody asks for it any more
            self.loop.close()

    # --- rows --------------------------------------------------------------------------------------------------

    def record(self, row: Row) -> None:
        """Add an observation, at its place in the order of happening.

        Args:
            row: As the protocol has it.

        Raises:
            Flood: There are too many; the reply will be a fault.
        """
        if len(self._rows) == self._max_rows:
            flood = Flood(f"unsettled: more than {self._max_rows} rows")
            self._faults.append(str(flood))
            raise flood
        self._rows.append(row)

    def take_rows(self) -> list[Row]:
        """The rows since they were last taken."""
        rows, self._rows = self._rows, []
        return rows

    def fault(self, fault: Fault) -> None:
        """Note that the suite asked for what cannot be done, where no command can be answered with it.

        Args:
            fault: What was asked for.
        """
        self._faults.append(str(fault))

    def take_fault(self) -> str | None:
        """The first fault since they were last taken, if any."""
        fault = self._faults[0] if self._faults else None
        self._faults.clear()
        return fault

    def new_gate_id(self) -> str:
        """The next gate's id; ids are never used twice in one world."""
        self._gates_opened += 1
        return f"g{self._gates_opened}"

    # --- values -----------------------------------------------------------------------------------------------

    def scope(self, place: Place) -> Scope:
        """What the names in a value stand for, at the place of a command."""
        return self._scope(self, place)

    def show(self, value: object) -> Json:
        """The notation of any value of the implementation."""
        return encode(value, self._show_special)

    def show_error(self, error: BaseException) -> dict[str, Json]:
        """An error in the one form that the protocol has for errors."""
        return show_error(error, self.show, self.names.error_name)

    def _show_special(self, value: object) -> Json | None:
        if isinstance(value, BaseException):
            return self.show_error(value)
        return self.composition.show(value)

    def _unhandled(self, _: asyncio.AbstractEventLoop, report: Mapping[str, object]) -> None:
        error = report.get("exception")
        form: JsonMap = {"value": str(report["message"])}
        if isinstance(error, BaseException):
            form = self.show_error(error)
        row: Row = {"on": "unhandled", "error": form}
        if self._at_rest:
            self._collected.append(row)
        else:
            self.record(row)


async def _wait_for(awaitable: Awaitable[object]) -> object:
    return await awaitable


def outcome_of(future: asyncio.Future[object]) -> tuple[object, BaseException | None]:
    """What a finished future holds: a result, or the failure beside none."""
    if future.cancelled():
        return None, asyncio.CancelledError()
    error = future.exception()
    return (None, error) if error is not None else (future.result(), None)
