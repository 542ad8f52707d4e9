"""One call of a function of the suite: its script, its `next`, its signal, and the gate at which it waits.

A call runs synchronously up to the first action that waits, and answers an awaitable from there on; without any it is
an ordinary call. The rest runs as a task of its own, whether or not the implementation still waits for it: one that
stops waiting must not be able to end a call that the suite holds open.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dshconform.adapters.reference import paths
from dshconform.adapters.reference.actions import call_next, run_commands, step, wait, waits
from dshconform.adapters.reference.endings import PASS, Answer, Ending, Fail, Kind, Next, Pass, Settled, ending_of
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.paths import MISSING
from dshconform.adapters.reference.places import Place
from dshconform.adapters.reference.scripts import Script
from dshconform.protocol.json_value import Json, JsonMap
from dshcore.cancel_signal import Aborted, CancelSignal
from dshcore.json import same

if TYPE_CHECKING:
    from dshconform.adapters.reference.functions import SuiteFunction
    from dshconform.adapters.reference.streams import SuiteStream


@dataclass(frozen=True, slots=True)
class Waiting:
    """The script has come to an action that waits.

    Attributes:
        index: Which one.
        following: The `next` that it has called already, where only the answer told that it has to be waited for.
    """

    index: int
    following: Next | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """A call that waits for the suite.

    Attributes:
        id: The adapter's name of it.
        call: Ends with what the suite answers.
        context: The context variables of the call.
        stream: The stream that the suite fills, where the call is one.
    """

    id: str
    call: "Call"
    context: Context
    stream: "SuiteStream | None" = None


class Call:
    """One call of a function.

    Args:
        function: Its script is followed, and it counts the call.
        kind: What it stands for.
        fields: The fields of the kind.
        agent: The agent that stands beside them.
        payload: The object that holds the fields.
        proceed: `next`, in a waterfall.
    """

    __slots__ = (
        *("function", "world", "kind", "fields", "agent", "payload", "proceed", "n", "script", "place"),
        *("signal", "gate", "nexts", "outcomes", "ended", "_future", "_unwatch"),
    )

    def __init__(
        self,
        function: "SuiteFunction",
        kind: Kind,
        fields: Mapping[str, object],
        *,
        agent: object = None,
        payload: object = None,
        proceed: Callable[..., object] | None = None,
    ) -> None:
        self.function: Final = function
        self.world: Final = function.world
        """Where the function belongs."""
        self.kind: Final = kind
        self.fields: Final = fields
        self.agent: Final = agent
        self.payload: Final = payload
        self.proceed: Final = proceed
        self.n = 0
        """Which call of the function it is, from 1 on; 0 as long as it is not counted."""
        self.script: Script = ()
        """What it does."""
        self.place: Final = Place(None, self)
        """Where its script stands."""
        signal = fields.get("signal")
        self.signal: Final = signal if isinstance(signal, CancelSignal) else None
        """The signal that the call was handed; a field can be replaced later."""
        self.gate: Gate | None = None
        """The gate at which it waits, or has waited."""
        self.nexts: Final[list[Next]] = []
        """What became of its calls of `next`, in order."""
        self.outcomes: Final[list[JsonMap]] = []
        """What the commands of the script led to."""
        self.ended = False
        """Whether the function has answered or failed."""
        self._future: asyncio.Future[object] | None = None
        self._unwatch: Callable[[], object] | None = None

    # --- fields --------------------------------------------------------------------------------------------------

    def field(self, path: str) -> object:
        """What a path over the fields leads to, the object itself, or `MISSING`."""
        return paths.read({**self.fields, "agent": self.agent}, path)

    def shows(self, path: str, wanted: Json) -> bool:
        """Whether what a path leads to is shown as the wanted value."""
        value = self.field(path)
        return value is not MISSING and same(self.world.show(value), wanted)

    def record(self, on: str, **members: Json) -> None:
        """Record the row of the call itself, its fields as they are now.

        Args:
            on: The kind of the row.
            **members: What it has beside them.
        """
        row: dict[str, Json] = {"on": on, **members, "part": self.function.name, "kind": self.kind.name, "n": self.n}
        if self.agent is not None:
            row["agent"] = self.world.composition.name(self.agent)
        row["payload"] = {name: self.world.show(value) for name, value in self.fields.items()}
        self.world.record(row)

    # --- running -------------------------------------------------------------------------------------------------

    def begin(self) -> object:
        """Run the script up to the first action that waits.

        Returns:
            What the function answers: at the end of the script its value, else an awaitable.

        Raises:
            Exception: What the script throws before it waits.
        """
        self.announce()
        try:
            reached = self._walk(0)
        except Fault as fault:
            self.world.fault(fault)
            reached = PASS
        if isinstance(reached, Waiting):
            if self.kind.waits:
                return self._wait_on(reached)
            self.world.fault(Fault(f"{self.title}: a function of this kind cannot wait, {self._name_of(reached)} does"))
            reached = PASS
        self.close()
        return self._deliver(reached)

    def pass_by(self) -> object:
        """Answer as the kind passes, without a row."""
        return self._deliver(PASS)

    def announce(self) -> None:
        """Record the call and listen to its signal."""
        if self.signal is not None and not self.signal.aborted:
            self._unwatch = self.signal.on_abort(self._fired)
        if not self.begins_with_gate:
            self.record("script")

    @property
    def begins_with_gate(self) -> bool:
        """Whether the call is a gate from its first moment."""
        return bool(self.script) and self.script[0].get("do") == "gate"

    def open_gate(self, stream: "SuiteStream | None" = None) -> None:
        """Wait for the suite from here on.

        Args:
            stream: The stream that the suite fills from here on, where the call is one.
        """
        gate = self.gate = Gate(self.world.new_gate_id(), self, copy_context(), stream)
        self.world.gates[gate.id] = gate
        self.record("gate", gate=gate.id)
        if self.function.auto and self.signal is not None and self.signal.aborted:
            self._fail_with(self.signal)

    async def wait_at_gate(self) -> object:
        """Wait for the suite from here on.

        Returns:
            What the suite says.

        Cancellation:
            The gate stays open: the suite ends the call.
        """
        self._future = self.world.loop.create_future()
        self.open_gate()
        return await self._future

    def end(self, ending: Answer | Fail) -> None:
        """End a call that waits. What the implementation no longer waits for is not delivered.

        Args:
            ending: How it ends.
        """
        if self.ended:
            return
        self.close()
        if isinstance(ending, Answer) and isinstance(ending.value, Awaitable):
            self.world.start(ending.value).add_done_callback(self._adopt)
        else:
            self._settle(ending)

    def close(self) -> None:
        """Be over: no gate, and no more `abort` rows unless the function watches."""
        self.ended = True
        self.close_gate()
        if self._unwatch is not None and not self.function.watch:
            self._unwatch()

    def close_gate(self) -> None:
        """Wait for the suite no more."""
        if self.gate is not None:
            self.world.gates.pop(self.gate.id, None)
            self.gate = None

    def _wait_on(self, reached: Waiting) -> object:
        self._future = self.world.loop.create_future()
        if self.script[reached.index].get("do") == "gate":
            self.open_gate()
        else:
            self.world.start(self._rest(reached))
        return self._future

    async def _rest(self, reached: Ending | Waiting) -> None:
        """Run the script from the first action that waits."""
        try:
            while isinstance(reached, Waiting):
                action = self.script[reached.index]
                if action.get("do") == "gate":
                    self.open_gate()
                    return
                failed = await wait(self, action, self.place.inside(reached.index), reached.following)
                reached = self._walk(reached.index + 1) if failed is None else failed
        except Fault as fault:
            self.world.fault(fault)
            reached = PASS
        self.end(self._passing() if isinstance(reached, Pass) else reached)

    def _passing(self) -> Answer | Fail:
        """How a call that waited ends when it passes: a waterfall with what its `next` gives."""
        if self.nexts:
            return Answer(self.nexts[-1].answer)
        if self.proceed is None:
            return Answer(self.kind.passing(self))
        try:
            return Answer(self.proceed())
        except Exception as error:  # noqa: BLE001 - the rest of the chain failed at once
            return Fail(error)

    def _walk(self, index: int) -> Ending | Waiting:
        """Run actions up to one that waits, or one that ends the call."""
        while index < len(self.script):
            action = self.script[index]
            if self.kind.either and action.get("do") == "next":
                following = call_next(self, action)
                if following.ending is None:
                    return Waiting(index, following)
                ending: Ending | None = following.ending if isinstance(following.ending, Fail) else None
            elif waits(self, action):
                return Waiting(index)
            else:
                ending = step(self, action, self.place.inside(index))
            if ending is not None:
                return ending
            index += 1
        return PASS

    # --- internals -----------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"function {self.function.name!r} ({self.kind.name})"

    def _name_of(self, reached: Waiting) -> str:
        return str(self.script[reached.index].get("do", "await"))

    def _deliver(self, ending: Ending) -> object:
        """Answer or raise, as an ordinary function does."""
        if isinstance(ending, Pass):
            if self.proceed is not None and not self.nexts:
                return self.proceed()
            ending = Answer(self.nexts[-1].answer if self.nexts else self.kind.passing(self))
        if isinstance(ending, Fail):
            if ending.late:
                return Settled(ending)
            raise ending.error
        if self.kind.awaited and not isinstance(ending.value, Awaitable):
            return Settled(ending)
        return ending.value

    def _settle(self, ending: Answer | Fail) -> None:
        assert self._future is not None
        if self._future.done():  # the implementation stopped waiting
            return
        if isinstance(ending, Fail):
            self._future.set_exception(ending.error)
        else:
            self._future.set_result(ending.value)

    def _adopt(self, future: asyncio.Future[object]) -> None:
        self._settle(ending_of(future))

    def _fired(self) -> None:
        """The signal fired: tell so, run `onAbort`, and fail where the function does so by itself."""
        signal = self.signal
        assert signal is not None
        row: dict[str, Json] = {"on": "abort", "part": self.function.name, "n": self.n}
        if self.gate is not None:
            row["gate"] = self.gate.id
        self.world.record({**row, "reason": self.world.show(signal.reason)})
        run_commands(self.world, self.function.on_abort, Place("abort", self))
        if self.function.auto:
            self._fail_with(signal)

    def _fail_with(self, signal: CancelSignal) -> None:
        """End a gate by itself, with the reason of the signal."""
        gate = self.gate
        if gate is None:
            return
        self.world.record({"on": "closed", "gate": gate.id, "why": "abort"})
        failure = Fail(signal.reason if isinstance(signal.reason, Exception) else Aborted(signal))
        if gate.stream is None:
            self.end(failure)
        else:
            gate.stream.finish(failure)
