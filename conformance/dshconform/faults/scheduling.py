"""Faults that the scheduling machine finds: of the pool and its barriers, of what a result carries, and of aborts."""

from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, TypeAlias

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault, replaced
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.scheduling import Scheduler
from dshcore.agent_loop.scheduling import _Batch as Batch
from dshcore.tools import ABORTED_BEFORE_DISPATCH, ToolCallRequest, ToolFailure, ToolRegistry, ToolResult
from dshcore.tools.errors import ToolNotFoundError
from dshcore.tools.pipeline import PendingCall

Rest: TypeAlias = Any
"""The rest of a signature, passed on: a fault is about its clause, not about how the pipeline is built."""

Part: TypeAlias = Callable[[PendingCall], Coroutine[Any, Any, None]]
"""One stage of a call, as the pool runs it."""

_prepare: Final[Part] = PendingCall.prepare
_dispatch: Final[Part] = PendingCall.dispatch
_begin: Final[Callable[..., None]] = PendingCall.__init__
_completed: Final[Callable[..., Rest]] = PendingCall._completed  # noqa: SLF001 - faults are planted inside
_decided: Final[Callable[..., ToolResult]] = PendingCall._decided  # noqa: SLF001
_skip_rest: Final[Callable[[Batch], None]] = Batch.skip_rest
_mode: Final[Callable[..., str]] = ToolRegistry.mode


async def _ask_nobody(self: PendingCall) -> None:
    del self


async def _ask_policy_beside_the_others(self: PendingCall) -> None:
    await _prepare(self)
    await _dispatch(self)


async def _abort_over_a_denial(self: PendingCall) -> None:
    await _prepare(self)
    if self._call.signal.aborted:
        self._settle(ABORTED_BEFORE_DISPATCH)


async def _drop_the_contexts_of_failures(self: PendingCall) -> None:
    await _dispatch(self)
    result = self._result
    if isinstance(result, ToolFailure):
        self._settle(replace(result, additional_contexts=()))


def _keep_success(self: PendingCall, result: ToolResult) -> ToolResult:
    del self
    return result


def _abort_anything(self: PendingCall, result: ToolResult) -> ToolResult:
    return self._abortion() if self._call.signal.aborted else result


def _look_again(self: PendingCall, definition: Rest, *rest: Rest) -> Rest:
    if self._tools.get(self._call.name, self._scope) is None:
        raise ToolNotFoundError(self._call.name)
    return _completed(self, definition, *rest)


class _Captured:
    """What a call saw of the tools when it began."""

    def __init__(self, definition: Rest, guards: Rest) -> None:
        self._definition = definition
        self.guards = guards

    def get(self, *_: Rest) -> Rest:
        """Answer the same at any time."""
        return self._definition


def _capture(self: PendingCall, tools: Rest, ctx: Rest, call: ToolCallRequest, *where: Rest) -> None:
    _begin(self, tools, ctx, call, *where)
    self._tools = _Captured(tools.get(call.name, where[0]), tools.guards)


def _keep_contexts(self: PendingCall, result: ToolResult, decision: Rest) -> ToolResult:
    decided = _decided(self, result, decision)
    if isinstance(result, ToolFailure) or not isinstance(decided, ToolFailure):
        return decided
    return replace(decided, additional_contexts=(*result.additional_contexts, *decided.additional_contexts))


def _phrase_feedback(self: PendingCall, result: ToolResult, decision: Rest) -> ToolResult:
    decided = _decided(self, result, decision)
    if isinstance(result, ToolFailure) or not isinstance(decided, ToolFailure):
        return decided
    return replace(decided, content=({"type": "text", "text": f"Error: {decided.error.message}"},))


def _overlap_unknown(self: ToolRegistry, call: ToolCallRequest, *rest: Rest) -> str:
    return "parallel" if self.get(call.name, *rest) is None else _mode(self, call, *rest)


def _tell_of_skipped_calls(self: Batch) -> None:
    for planned in self._waiting:
        call = self._tools.open(planned.request, self._agent)
        call._finalized(ABORTED_BEFORE_DISPATCH)  # noqa: SLF001
    _skip_rest(self)


def _of_call(**members: object) -> Callable[[], AbstractContextManager[None]]:
    return lambda: replaced(PendingCall, members)


SCHEDULING_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "settled-calls-keep-their-place",
        "SCHED-PAR-01",
        "A place of the pool is free when its call is committed, not when its body has settled.",
        edit(Batch, "_may_start", ("len(self.running) < places", "len(self._started) < places")),
    ),
    Fault(
        "one-is-not-serial",
        "SCHED-CAP-01",
        "With a cap of one two bodies run at once.",
        edit(Scheduler, "run", ("batch.fill(max_parallel)", "batch.fill(max(max_parallel, 2))")),
    ),
    Fault(
        "policies-overlap",
        "SCHED-PAR-02",
        "Policy is asked about several calls at once, each when its place is free.",
        _of_call(prepare=_ask_nobody, dispatch=_ask_policy_beside_the_others),
    ),
    Fault(
        "barrier-overlaps-the-last-one",
        "SCHED-EXCL-01",
        "An exclusive call starts when one parallel call before it still runs.",
        edit(
            Batch,
            "fill",
            (
                "        if alone and self.running:\n            return  # classified",
                "        if alone and len(self.running) > 1:\n            return  # classified",
            ),
        ),
    ),
    Fault(
        "anything-true-is-parallel",
        "MODE-CLASS-01",
        "A classifier that answers one makes its calls parallel.",
        edit(ToolRegistry, "mode", ('"parallel" if safe is True', '"parallel" if safe')),
    ),
    Fault(
        "unknown-calls-overlap",
        "MODE-CLASS-01",
        "A call of a tool that nobody knows is no barrier.",
        lambda: replaced(ToolRegistry, {"mode": _overlap_unknown}),
    ),
    Fault(
        "tool-is-taken-when-the-call-begins",
        "TOOL-LIVE-01",
        "A tool that goes away while policy is asked runs all the same.",
        _of_call(__init__=_capture),
    ),
    Fault(
        "tool-is-looked-up-behind-its-body",
        "TOOL-LIVE-02",
        "A call fails when its tool goes away while its body runs.",
        _of_call(_completed=_look_again),
    ),
    Fault(
        "failed-calls-conclude",
        "LOOP-CONC-01",
        "A call that was to conclude the turn does so although it failed.",
        edit(
            Batch,
            "commit_settled",
            ("isinstance(result, ToolSuccess) and result.concludes_turn", "call.pending._concluded"),
        ),
    ),
    Fault(
        "conclusion-ends-the-turn-at-once",
        "LOOP-CONC-02",
        "A concluded turn closes although something was steered into it.",
        together(
            edit(
                Driver,
                "_answer",
                ("concluded = await", "concluded = agent.__dict__['concluded'] = await"),
            ),
            edit(
                Driver,
                "_run_steps",
                (
                    "or inbox.has_next_step:",
                    "or (inbox.has_next_step and not agent.__dict__.get('concluded')):",
                ),
                (
                    "if not inbox.has_next_step:",
                    "if not inbox.has_next_step or agent.__dict__.pop('concluded', False):",
                ),
            ),
        ),
    ),
    Fault(
        "contexts-of-failures-are-dropped",
        "PIPE-CTX-02",
        "What a body deferred is lost when it fails.",
        _of_call(dispatch=_drop_the_contexts_of_failures),
    ),
    Fault(
        "blocked-result-keeps-its-contexts",
        "PIPE-CTX-03",
        "What the body of a blocked call deferred is delivered.",
        _of_call(_decided=_keep_contexts),
    ),
    Fault(
        "feedback-is-phrased",
        "PIPE-POST-04",
        "What policy says in place of a result is told as an error of the registry.",
        _of_call(_decided=_phrase_feedback),
    ),
    Fault(
        "failing-review-is-ignored",
        "PIPE-POST-05",
        "A result stays what it is when the policy on it fails.",
        edit(
            PendingCall,
            "_apply_policy",
            ("        self._settle(self._failure(error))\n        return\n", "        return\n"),
        ),
    ),
    Fault(
        "success-outlives-the-abort",
        "PIPE-CANCEL-07",
        "A call that had succeeded before the abort is told of as a success.",
        _of_call(_unless_aborted=_keep_success),
    ),
    Fault(
        "abort-covers-failures",
        "PIPE-CANCEL-06",
        "Every call that ends behind an abort was aborted, also one that failed by itself.",
        _of_call(_unless_aborted=_abort_anything),
    ),
    Fault(
        "abort-covers-denials",
        "PIPE-CANCEL-03",
        "A call that was denied behind an abort was aborted.",
        _of_call(prepare=_abort_over_a_denial),
    ),
    Fault(
        "one-body-is-waited-for",
        "SCHED-ABORT-02",
        "Behind an abort the driver waits for the first body that ends, and for no other.",
        edit(Scheduler, "run", ("if not batch.running:", "if not batch.running or signal.aborted:")),
    ),
    Fault(
        "skipped-calls-are-told",
        "SCHED-ABORT-03",
        "Observers of results are told of calls that never started.",
        lambda: replaced(Batch, {"skip_rest": _tell_of_skipped_calls}),
    ),
    Fault(
        "values-are-logged",
        "RESULT-LOCAL-01",
        "A logged result has the value beside the message.",
        edit(
            Batch,
            "_log_result",
            (
                '"message": message}',
                '"message": message, **({} if result.is_error else {"value": result.value})}',
            ),
        ),
    ),
)
"""Each is a wrong implementation that the *violation* of its clause describes; the scheduling machine finds it."""
