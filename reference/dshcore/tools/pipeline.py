"""The pipeline: one call from its input to its one final result.

A `PendingCall` passes three parts, each at most once: `prepare` (policy), `dispatch` (the wrappers and the body) and
`finish` (policy on the result, the finalizer, the notification). The loop's scheduler overlaps the second part of
several calls and nothing else (PIPE-ORDER-08); `run` is all three in a row.

No failure of a listener, body, renderer or finalizer leaves the pipeline: each becomes the result. What does leave it
is the cancellation of its task by the host.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from reprlib import repr as shortened
from typing import Any, Final, Protocol, cast

from msgspec import UNSET, UnsetType

from dshcore import eager
from dshcore.cancel_signal import Aborted, CancelSignal
from dshcore.context import Context, Receiver
from dshcore.errors import DshError, describe
from dshcore.host import is_contained
from dshcore.json import Json, NotJson, freeze, is_array, is_object
from dshcore.tools.approval import APPROVAL
from dshcore.tools.contract import canonical_of, made_by
from dshcore.tools.definitions import ToolDefinition
from dshcore.tools.errors import ToolNotFoundError, ToolOutputError
from dshcore.tools.events import (
    TOOLS_EXECUTE,
    TOOLS_POST_EXECUTE,
    TOOLS_PRE_EXECUTE,
    TOOLS_RESULT,
    Accept,
    Allow,
    Block,
    PostExecuteDecision,
    PreExecuteDecision,
    ToolOutcome,
)
from dshcore.tools.executions import ToolCallRequest, ToolExecution, ToolRun
from dshcore.tools.permission import denial_of, guard_denial
from dshcore.tools.results import (
    ABORTED,
    ABORTED_BEFORE_DISPATCH,
    LOSSY_ARGUMENTS,
    LOSSY_RESULT,
    Content,
    ErrorFacts,
    ErrorInfo,
    ToolFailure,
    ToolResult,
    ToolSuccess,
    checked_contexts,
    failure_of,
    frozen,
    phrased,
)
from dshcore.tools.visibility import Guard

_log: Final = logging.getLogger(__name__)
_BLOCKED: Final = "tool result blocked by post-execute policy"


class Tools(Protocol):
    """Where the pipeline looks tools up."""

    def get(self, name: str, scope: object | None = None) -> ToolDefinition | None:
        """Answer the definition that a scope resolves now.

        Args:
            name: The tool.
            scope: For whom.
        """
        ...

    def guards(self, scope: object | None = None) -> Iterator[Guard]:
        """Walk the guards of calls for a scope, live.

        Args:
            scope: For whom.

        Returns:
            The guards, in the order in which they are asked.
        """
        ...


class PendingCall:
    """One call on its way through the pipeline.

    Making it takes the snapshot of the arguments, and looks at the signal: what has failed by then is settled at once
    and passes no policy. Calls share nothing: whoever is asked in the middle of one may make others, and what comes of
    these is his affair.

    Args:
        tools: Where tools are looked up.
        ctx: Where its events are dispatched.
        call: What was asked for.
        scope: For whom.
        to: Who hears of it.
        execution: The call as every stage sees it.

    Spec:
        PIPE-ORDER-01, PIPE-ORDER-02, PIPE-ORDER-03, PIPE-ORDER-04, PIPE-ORDER-08, PIPE-ARGS-01, PIPE-ARGS-02,
        PIPE-ARGS-03, PIPE-CANCEL-01, PIPE-FINAL-02, PIPE-NEST-01, PIPE-RESULT-02
    """

    def __init__(self, tools: Tools, ctx: Context, call: ToolCallRequest, scope: object | None, to: Receiver) -> None:
        self._tools = tools
        self._ctx = ctx
        self._call = call
        self._scope = scope
        self._to = to
        visible = tools.get(call.name, scope)
        self._finalizer = None if visible is None else visible.finalize_content  # PIPE-FINAL-02
        self._result: ToolResult | None = None
        self._needs_post = True
        self._is_around = False
        self._body_invoked = False
        self._made: list[ToolResult] = []
        """What the body stage answered in this call; any other result is a wrapper's own (PIPE-AROUND-03)."""
        self._content_by = "output.render"
        self._deferred: list[Mapping[str, Any]] = []
        self._concluded = False
        self._arguments: Json = None
        shown: Json | UnsetType = UNSET
        try:
            self._arguments = shown = freeze(call.arguments)
        except NotJson:
            self._settle(phrased(LOSSY_ARGUMENTS), needs_post=False)
        else:
            if call.signal.aborted:
                self._settle(ABORTED_BEFORE_DISPATCH, needs_post=False)
        self.execution: Final = ToolExecution(call, shown, scope, may_replace_signal=lambda: self._is_around)

    @property
    def settled(self) -> bool:
        """Whether the call has come to something, so that its body is not dispatched (any more)."""
        return self._result is not None

    async def run(self) -> ToolResult:
        """Pass all parts; answer the result.

        Returns:
            The result.

        Cancellation:
            As in the part that is being passed.
        """
        await self.prepare()
        await self.dispatch()
        return await self.finish()

    # --- policy ------------------------------------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Ask the policy, whoever may approve, and the guards whether the call may go on.

        Cancellation:
            Delivered to the listener, or to the approval service, that is being awaited; the call then has no result.

        Spec:
            PIPE-PRE-01, PIPE-PRE-04, PIPE-PRE-05, PIPE-GUARD-02, PIPE-GUARD-03, PIPE-CANCEL-02, PIPE-CANCEL-03
        """
        if self.settled:
            return

        async def allow() -> PreExecuteDecision:
            return Allow()

        try:
            answer = self._ctx.waterfall(TOOLS_PRE_EXECUTE, self.execution, allow, to=self._to)
            decision = await eager.answer_of(answer, "a listener of tools/pre-execute")
            denial = await denial_of(decision, self.execution, self._call.signal, self._ctx.get(APPROVAL))
            if denial is None:  # after a grant as well: PIPE-PRE-04
                denial = guard_denial(self._tools.guards(self._scope), self.execution)
        except BaseException as error:
            if not is_contained(error):
                raise
            self._settle(self._failure(error), needs_post=False)
            return
        if denial is not None:
            self._settle(denial)
        elif self._call.signal.aborted:
            self._settle(ABORTED_BEFORE_DISPATCH)

    # --- wrappers and body -------------------------------------------------------------------------------------------

    async def dispatch(self) -> None:
        """Run the body, inside the listeners around it.

        Cancellation:
            Delivered to the body; the call then has no result.

        Spec:
            PIPE-AROUND-02, PIPE-AROUND-03, PIPE-AROUND-04, PIPE-AROUND-05, PIPE-AROUND-06, PIPE-CTX-04,
            PIPE-CONCLUDE-02, PIPE-CANCEL-07, UNKNOWN-TOOL-04
        """
        if self.settled:
            return
        self._is_around = True
        try:
            answer = self._ctx.waterfall(TOOLS_EXECUTE, self.execution, self._run_body, to=self._to)
            result = self._adopt(await eager.answer_of(answer, "a listener of tools/execute"))
        except BaseException as error:
            if not is_contained(error):
                raise
            self._settle(self._failure(error, self.execution.signal), needs_post=False)
            return
        finally:
            self._is_around = False
        contexts = (*self._deferred, *result.additional_contexts)
        if isinstance(result, ToolSuccess):
            result = replace(result, concludes_turn=self._concluded)
        self._settle(self._unless_aborted(replace(result, additional_contexts=contexts)))

    async def _run_body(self) -> ToolResult:
        """Answer what the body comes to; never fails but for the host.

        Spec:
            PIPE-BODY-01, PIPE-BODY-02, PIPE-BODY-04, PIPE-AROUND-01, PIPE-AROUND-07, PIPE-CANCEL-04, PIPE-CANCEL-05,
            PIPE-CANCEL-06, PIPE-CANCEL-09, TOOL-LIVE-01, UNKNOWN-TOOL-01
        """
        result = await self._attempt_body()
        self._made.append(result)
        return result

    async def _attempt_body(self) -> ToolResult:
        execution, call = self.execution, self._call
        own = execution.signal
        if _any_aborted(call.signal, own):
            return ABORTED_BEFORE_DISPATCH
        definition = self._tools.get(call.name, self._scope)  # for good: TOOL-LIVE-02
        if definition is None:
            return failure_of(ToolNotFoundError(call.name))  # not earlier: UNKNOWN-TOOL-03
        signal, release = _either(own, call.signal)
        run = ToolRun(execution, call, signal, self._deferred.append, self._conclude)
        self._body_invoked = True
        try:
            body = definition.execute(self._arguments, run)
            value = await eager.answer_of(body, f'the body of tool "{definition.name}"')
            result = self._completed(definition, value)
        except BaseException as error:
            if not is_contained(error):
                raise
            return self._failure(error, own, signal)
        finally:
            release()
        return ABORTED if _any_aborted(call.signal, own) else result

    def _completed(self, definition: ToolDefinition, value: object) -> ToolSuccess:
        """Make a success of a value, if it keeps the contract of its tool.

        Raises:
            ToolOutputError: It does not, or what is made of it for the model or for readers does not.

        Spec:
            SCHEMA-OUT-01, SCHEMA-OUT-02, PIPE-BODY-02, PIPE-BODY-03
        """
        canonical = canonical_of(definition, value)
        content = made_by(definition, "output.render", lambda: definition.output.render(self._arguments, canonical))
        self._content_by = "output.render"
        meta: Json | UnsetType = UNSET
        project = definition.output.presentation_meta
        if not isinstance(project, UnsetType) and self._call.parent is None:
            meta = made_by(definition, "output.presentationMeta", lambda: project(self._arguments, canonical))
        shown = cast("Content", content)  # any JSON: PIPE-FINAL-01
        return ToolSuccess(value=canonical, content=shown, meta=meta, concludes_turn=self._concluded)

    def _adopt(self, answer: object) -> ToolResult:
        """Take what the outermost wrapper answered: the body's result as it is, its own as far as it counts.

        Raises:
            TypeError: It is no result.
            MalformedMessage: One of its contexts is no message.
            ToolNotFoundError: It is a success of a tool that is not there.
            ToolOutputError: Its value breaks the contract of the tool.
        """
        if any(answer is made for made in self._made):
            return cast("ToolResult", answer)
        match answer:
            case ToolSuccess(value=value, additional_contexts=given):
                contexts = checked_contexts(given, "a listener of tools/execute")
                definition = self._tools.get(self._call.name, self._scope)
                if definition is None:
                    raise ToolNotFoundError(self._call.name)
                return replace(self._completed(definition, value), additional_contexts=contexts)
            case ToolFailure(error=ErrorFacts(message=str(), info=None | ErrorInfo(name=str(), code=str()))):
                self._content_by = "a listener of tools/execute"
                contexts = checked_contexts(answer.additional_contexts, "a listener of tools/execute")
                return replace(answer, additional_contexts=contexts)
            case _:
                raise TypeError(
                    f"tools/execute was answered with {answer!r}: answer ToolSuccess(value=…) or "
                    "ToolFailure(error=ErrorFacts(message))"
                )

    # --- policy on the result, finalizer, notification ---------------------------------------------------------------

    async def finish(self) -> ToolResult:
        """Ask the policy about the result, let the tool finalize its content, tell the observers; answer it.

        Returns:
            The result.

        Cancellation:
            Delivered to the listener that is being awaited; the call then has no result, and nobody is told.

        Spec:
            PIPE-ORDER-04, PIPE-POST-05, PIPE-CTX-03, PIPE-CANCEL-07, PIPE-CANCEL-08, PIPE-CANCEL-10
        """
        assert self._result is not None
        if self._needs_post:
            await self._apply_policy(self._result)
        return self._finalized(self._result)

    async def _apply_policy(self, result: ToolResult) -> None:
        async def accept() -> PostExecuteDecision:
            return Accept()

        try:
            answer = self._ctx.waterfall(TOOLS_POST_EXECUTE, ToolOutcome(self.execution, result), accept, to=self._to)
            decided = self._decided(result, await eager.answer_of(answer, "a listener of tools/post-execute"))
        except BaseException as error:
            if not is_contained(error):
                raise
            self._settle(self._failure(error))
            return
        self._settle(self._unless_aborted(decided))

    def _decided(self, result: ToolResult, decision: object) -> ToolResult:
        """Answer what policy makes of a result.

        Spec:
            PIPE-POST-01, PIPE-POST-02, PIPE-POST-03, PIPE-POST-04, PIPE-CTX-01, PIPE-CTX-03
        """
        giver = "a listener of tools/post-execute"
        match decision:
            case Block(feedback=feedback, additional_contexts=given):
                if not is_array(feedback):
                    raise TypeError(f"{giver} blocked with the feedback {shortened(feedback)}: give a list of blocks")
                error = ErrorFacts(_feedback_text(feedback) or _BLOCKED)
                return ToolFailure(error=error, content=feedback, additional_contexts=checked_contexts(given, giver))
            case Accept(content=content, value=value, additional_contexts=given):
                contexts = (*result.additional_contexts, *checked_contexts(given, giver))
            case _:
                raise TypeError(
                    f"tools/post-execute was answered with {decision!r}: answer Accept() or Block(feedback)"
                )
        if value is UNSET:
            if not isinstance(content, UnsetType):
                self._content_by = giver
                result = replace(result, content=content)
            return replace(result, additional_contexts=contexts)
        if content is not UNSET:
            raise TypeError("tools/post-execute accept decision cannot replace both value and content")
        if not isinstance(result, ToolSuccess):
            raise TypeError("tools/post-execute cannot replace the value of a failed result")
        definition = self._tools.get(self._call.name, self._scope)
        if definition is None:
            raise ToolNotFoundError(self._call.name)
        return replace(self._completed(definition, value), additional_contexts=contexts)

    def _finalized(self, result: ToolResult) -> ToolResult:
        """Freeze a result, let the tool replace its content, and tell the observers.

        Spec:
            PIPE-FINAL-01, PIPE-FINAL-02, PIPE-FINAL-03, PIPE-RESULT-01, RESULT-FREEZE-01
        """
        result = frozen(result)
        if self._finalizer is not None:
            result = self._with_final_content(self._finalizer, result)
        self._result = result
        self._ctx.emit(TOOLS_RESULT, ToolOutcome(self.execution, result), to=self._to)
        return result

    def _with_final_content(
        self, finalize: Callable[[ToolExecution, ToolResult], object], result: ToolResult
    ) -> ToolResult:
        try:
            content = finalize(self.execution, result)
        except BaseException as error:
            if not is_contained(error):
                raise
            return self._failure(error)
        if content is None:
            return result
        try:
            final = replace(result, content=cast("Content", freeze(content)))
        except NotJson:
            eager.discard(content)
            return phrased(LOSSY_RESULT)
        self._content_by = "finalize_content"
        return final

    def loggable(self) -> ToolResult:
        """Answer the result of a finished call as a log can hold it.

        Content is any JSON to the pipeline (PIPE-FINAL-01). A log holds lists of blocks alone (LOG-APPEND-07): a result
        with something else is an invalid output there, so that its call is not left without a result.

        Spec:
            SCHED-COMMIT-02, LOG-APPEND-07, SEED-MSG-03
        """
        assert self._result is not None
        if is_array(self._result.content):
            return self._result
        return failure_of(
            ToolOutputError(
                self._call.name,
                (f"{self._content_by} gave {shortened(self._result.content)} for content: give a list of blocks",),
            )
        )

    # --- giving up ---------------------------------------------------------------------------------------------------

    def abandon(self) -> ToolFailure:
        """Settle the call as aborted, wherever it is: because its body was stopped from outside. No policy applies.

        Returns:
            The result of the call from here on: that it was aborted, with the contexts that were deferred so far.

        Spec:
            PIPE-CTX-02
        """
        failure = replace(self._abortion(), additional_contexts=tuple(self._deferred))
        self._settle(failure, needs_post=False)
        return failure

    # --- internals ---------------------------------------------------------------------------------------------------

    def _settle(self, result: ToolResult, *, needs_post: bool = True) -> None:
        self._result = result
        self._needs_post = needs_post

    def _conclude(self) -> None:
        self._concluded = True

    def _failure(self, error: BaseException, *given: CancelSignal) -> ToolFailure:
        """Answer what the call comes to when something was raised.

        Whoever gave up because of a signal that was given for the call tells of the abort, whose cause does not show.

        Args:
            error: What was raised.
            given: The signals that were given beside the caller's.

        Spec:
            PIPE-CANCEL-08, PIPE-CANCEL-11
        """
        if isinstance(error, Aborted) and any(error.signal is each for each in (self._call.signal, *given)):
            return self._abortion()
        if not isinstance(error, DshError):  # the result names the error, and only the log can show where it was raised
            name, call_id = self.execution.name, self.execution.call_id
            _log.info('tool "%s" (%s): %s', name, call_id, describe(error), exc_info=error)
        return failure_of(error)

    def _abortion(self) -> ToolFailure:
        return ABORTED if self._body_invoked else ABORTED_BEFORE_DISPATCH

    def _unless_aborted(self, result: ToolResult) -> ToolResult:
        """Replace a success by the abort, with its contexts; a failure stays what it is (PIPE-CANCEL-06)."""
        if not isinstance(result, ToolSuccess) or not self._call.signal.aborted:
            return result
        return replace(self._abortion(), additional_contexts=result.additional_contexts)


def _feedback_text(feedback: object) -> str:
    """Answer the text of blocks, each that is no text named by its type (PIPE-POST-04)."""
    blocks = feedback if is_array(feedback) else ()
    return "\n".join(
        block.get("text", "") if block.get("type") == "text" else f"[{block.get('type')} content]"
        for block in blocks
        if is_object(block)
    )


def _any_aborted(*signals: CancelSignal) -> bool:
    return any(signal.aborted for signal in signals)


def _either(own: CancelSignal, callers: CancelSignal) -> tuple[CancelSignal, Callable[[], None]]:
    """Answer a signal that aborts as soon as one of two does, with its reason; and what lets go of both.

    Spec:
        PIPE-AROUND-07
    """
    joined = CancelSignal()

    def follow(source: CancelSignal) -> Callable[[], None]:
        return source.on_abort(lambda: joined.abort(source.reason))

    releases = () if own is callers else (follow(own), follow(callers))

    def release() -> None:
        for let_go in releases:
            let_go()

    return joined if releases else own, release
