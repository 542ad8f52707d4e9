"""The tool calls of one answer: started in model order, overlapped as far as they may, committed in model order.

An exclusive call is a barrier. Parallel ones share a rolling pool: a place is filled as soon as a body has settled.
Only bodies overlap. Everything else (classification, the `tool/call`, policy, the `tool/result` and its contexts) is
done by one flow, one call after another, so that what it logs is in model order and no two policies run at once.

Every call that was logged gets its result, also when the host cancels the driver, so that no later request carries a
call without one. The one exception is a failure of the scheduler itself, of which an append that is refused is the
likely one: nothing is invented then (SCHED-FAIL-01).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from msgspec import UnsetType

from dshcore import eager, json_text
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.cancel_signal import CancelSignal
from dshcore.host import host_is_cancelling
from dshcore.ids import CallId
from dshcore.json import Json, JsonObject, NotJson, decode
from dshcore.llm import BLOCKS, ToolCall, tool_result_message
from dshcore.tools import (
    ABORTED_BEFORE_DISPATCH,
    PendingCall,
    ToolCallRequest,
    ToolFailure,
    ToolRegistry,
    ToolResult,
    ToolSuccess,
)


def calls_of(message: JsonObject) -> tuple[ToolCall, ...]:
    """Return the tool calls of an answer, in model order; they alone decide whether tools run (LOOP-MSG-02).

    Args:
        message: The message of an answer.

    Returns:
        Its tool calls, in the order of the model.

    Raises:
        Unreadable: A tool-call block has not the members of one.
    """
    blocks = (BLOCKS.read(block) for block in message["content"] if block.get("type") == "tool-call")
    return tuple(block for block in blocks if isinstance(block, ToolCall))


def parse_arguments(text: str) -> object:
    """Return what a tool gets for the arguments that a model wrote.

    Args:
        text: The raw text. Empty, it stands for no arguments; a text that is no JSON stands for itself.

    Returns:
        The value; where it has numbers that JSON carries with a loss, with these, so that the pipeline refuses it.

    Spec:
        SCHED-ARGS-01
    """
    if not text:
        return {}
    try:
        return decode(text)
    except NotJson:
        pass
    try:
        return json_text.read(text)  # with its loss: an infinity, a negative zero
    except json_text.MalformedText:
        return text


class Scheduler:
    """Runs the tool calls of answers.

    Args:
        tools: The tools.
        max_parallel: Tells how many bodies of one answer may run at once; asked anew for each answer.
    """

    def __init__(self, tools: ToolRegistry, max_parallel: Callable[[], int]) -> None:
        self._tools = tools
        self._max_parallel = max_parallel

    async def run(
        self, agent: DrivenAgent, turn: int, step: int, signal: CancelSignal, calls: Sequence[ToolCall]
    ) -> bool:
        """Answer every call of one model answer.

        Args:
            agent: Whose step it is.
            turn: The open turn.
            step: The open step.
            signal: The turn's signal. Once it is aborted no call is started any more; those that were are waited for.
            calls: The calls, in model order.

        Returns:
            Whether a result concludes the turn, so that no follow-up request is owed.

        Raises:
            AppendRefused: A call or a result cannot be logged. What runs has ended; nothing more is logged.
            InboxError: A context of a result is none that the inbox takes; likewise.

        Cancellation:
            The bodies are cancelled and waited for. Each call that has no result gets that of an aborted one.

        Spec:
            SCHED-EXCL-01, SCHED-PAR-01, SCHED-COMMIT-01, SCHED-ABORT-01, SCHED-ABORT-02, LOOP-CONC-01, CANCEL-COOP-01
        """
        batch = _Batch(agent, {"turn": turn, "step": step}, signal, calls, self._tools)
        max_parallel = self._max_parallel()
        try:
            while True:
                await batch.fill(max_parallel)
                if not batch.running:
                    break
                await asyncio.wait(batch.running, return_when=asyncio.FIRST_COMPLETED)
                await batch.commit_settled()
            batch.skip_rest()
        except BaseException as failure:
            await batch.give_up(failure)
            raise
        return batch.concluded


@dataclass(frozen=True, slots=True)
class _Planned:
    """A call that is not started yet."""

    block: ToolCall
    request: ToolCallRequest


@dataclass(eq=False, slots=True)
class _Started:
    """A call that was logged and has no result yet.

    Attributes:
        block: What the model asks for.
        seq: The seq of its `tool/call`.
        pending: Its way through the pipeline.
        body: Its body, once it was dispatched.
    """

    block: ToolCall
    seq: int
    pending: PendingCall
    body: "asyncio.Task[None] | None" = None

    @property
    def settled(self) -> bool:
        """Whether it waits for nothing but its turn.

        Its body may have ended in its first stretch; asyncio calls the task done one turn of the loop later.
        """
        return self.pending.settled or (self.body is not None and self.body.done())


class _Batch:
    """The calls of one answer, and how far they have come."""

    def __init__(
        self,
        agent: DrivenAgent,
        place: dict[str, Json],
        signal: CancelSignal,
        calls: Sequence[ToolCall],
        tools: ToolRegistry,
    ) -> None:
        self._agent = agent
        self._place = place
        self._signal = signal
        self._tools = tools
        self._waiting = deque(
            _Planned(
                call,
                ToolCallRequest(
                    call_id=call.id, name=call.name, arguments=parse_arguments(call.arguments), signal=signal
                ),
            )
            for call in calls
        )
        self._started: deque[_Started] = deque()
        self.concluded = False

    @property
    def running(self) -> "list[asyncio.Task[None]]":
        """The bodies that have not settled."""
        return [call.body for call in self._started if call.body is not None and not call.settled]

    # --- starting ----------------------------------------------------------------------------------------------------

    async def fill(self, places: int) -> None:
        """Start calls as long as there is a place, up to a barrier; commit what settles at once.

        Spec:
            SCHED-EXCL-01, SCHED-PAR-01, SCHED-CLASS-01, SCHED-CAP-01, SCHED-ABORT-01, SCHED-ABORT-02
        """
        while self._waiting and self._may_start(places):
            alone = self._tools.mode(self._waiting[0].request, self._agent) == "exclusive"
            if not self._may_start(places):
                return  # the classifier has cancelled the turn
            if alone and self.running:
                return  # classified again when the pool has drained
            await self._start_next()
            await self.commit_settled()
            if alone and self.running:
                return

    def _may_start(self, places: int) -> bool:
        return not self._signal.aborted and len(self.running) < places

    async def _start_next(self) -> None:
        """Log the next call and let it pass its policy; start its body, if policy lets it.

        Spec:
            SCHED-CALL-01, SCHED-PAR-02, LOG-EVT-12
        """
        planned = self._waiting.popleft()
        seq = self._log_call(planned.block)
        call = _Started(planned.block, seq, self._tools.open(planned.request, self._agent))
        self._started.append(call)
        await call.pending.prepare()
        self._raise_failure()
        if not call.pending.settled:
            call.body = eager.start(call.pending.dispatch(), name=f"tool call {planned.block.id} of {self._agent.id}")

    # --- committing --------------------------------------------------------------------------------------------------

    async def commit_settled(self) -> None:
        """Commit the calls that have settled and that no earlier one holds up.

        Spec:
            SCHED-PAR-02, SCHED-COMMIT-01, SCHED-CTX-01, SCHED-ABORT-04, SCHED-FAIL-01, LOOP-CONC-01
        """
        self._raise_failure()
        while self._started and (call := self._started[0]).settled:
            if not call.pending.settled:
                call.pending.abandon()  # its body cancelled its own task: the host is not cancelling this flow
            await call.pending.finish()
            self._raise_failure()
            result = call.pending.loggable()
            self._log_result(call.block, call.seq, result)
            self._started.popleft()
            for context in result.additional_contexts:
                self._agent.inbox.append("next-step", context)
            if isinstance(result, ToolSuccess) and result.concludes_turn:
                self.concluded = True

    def skip_rest(self) -> None:
        """Log each call that is not started any more, together with its result.

        Spec:
            SCHED-ABORT-01, SCHED-ABORT-02, SCHED-ABORT-03
        """
        while self._waiting:
            block = self._waiting.popleft().block
            self._log_result(block, self._log_call(block), ABORTED_BEFORE_DISPATCH)

    # --- giving up ---------------------------------------------------------------------------------------------------

    async def give_up(self, failure: BaseException) -> None:
        """Wait for what runs; where the host is cancelling, stop it, and leave no call without a result.

        Args:
            failure: Why. Nothing is waited for where it closes the coroutine.

        Spec:
            SCHED-FAIL-01
        """
        if not _is_hosts(failure):
            try:
                await self._drain()
            except asyncio.CancelledError as cancellation:
                await self.give_up(cancellation)
                raise
            return
        self._agent.host_cancelled()
        for body in self.running:
            with suppress(RuntimeError):  # the loop is gone, and they with it
                body.cancel()
        if not isinstance(failure, GeneratorExit):
            await self._drain_whatever_comes()
        while self._started:
            call = self._started.popleft()
            self._log_result(call.block, call.seq, call.pending.abandon())
        self.skip_rest()

    async def _drain(self) -> None:
        if running := self.running:
            await asyncio.wait(running)

    async def _drain_whatever_comes(self) -> None:
        """Wait for the bodies, however often the host repeats itself."""
        while self.running:
            try:
                await self._drain()
            except asyncio.CancelledError:
                continue

    def _raise_failure(self) -> None:
        """Raise what came out of a body's dispatch, which nothing should (SCHED-FAIL-01)."""
        for call in self._started:
            if call.body is not None and call.body.done() and not call.body.cancelled():
                failure = call.body.exception()
                if failure is not None:
                    raise failure

    # --- the log -----------------------------------------------------------------------------------------------------

    def _log_call(self, block: ToolCall) -> int:
        data = {**self._place, "callId": block.id, "name": block.name, "arguments": block.arguments}
        seq: int = self._agent.session.append("tool/call", data)["seq"]
        return seq

    def _log_result(self, block: ToolCall, call_seq: int, result: ToolResult) -> None:
        """Log a result under the model's call id.

        Spec:
            LOG-EVT-13, MSG-SRC-03, MSG-BLOCK-03, RESULT-LOCAL-01
        """
        message = tool_result_message(CallId(block.id), result.content, is_error=result.is_error)
        data: dict[str, Any] = {**self._place, "message": message}
        if isinstance(result, ToolFailure) and result.error.info is not None:
            data["error"] = {"name": result.error.info.name, "code": result.error.info.code}
        if not isinstance(result.meta, UnsetType):
            data["meta"] = result.meta
        self._agent.session.append("tool/result", data, surface_op="append", source_event_seqs=[call_seq])


def _is_hosts(failure: BaseException) -> bool:
    """Tell whether the host wants the program, or this part of it, to stop."""
    return host_is_cancelling() or not isinstance(failure, (Exception, asyncio.CancelledError))
