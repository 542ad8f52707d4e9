"""Faults of the pipeline: stages, wrappers, contexts, the finalizer, observers, aborts."""

from collections.abc import Iterator
from typing import Any, Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault, replaced
from dshconform.faults.listeners import LISTENER_FAULTS
from dshcore.context.listeners import Listeners
from dshcore.tools.executions import ToolExecution
from dshcore.tools.pipeline import PendingCall

_PLANTS: Final = {fault.id: fault.plant for fault in LISTENER_FAULTS}
_audience: Final = Listeners._audience  # noqa: SLF001


def _look_again(self: Any, *dispatch: Any) -> Iterator[Any]:  # noqa: ANN401 - whatever a dispatch says
    """The listeners one by one, as they are when each one's turn comes."""
    heard: list[object] = []
    while True:
        waiting = (each for each in _audience(self, *dispatch) if not any(each is other for other in heard))
        following = next(waiting, None)
        if following is None:
            return
        heard.append(following)
        yield following


_ORDER: Final[tuple[Fault, ...]] = (
    Fault(
        "finalized-before-the-review",
        "PIPE-ORDER-01",
        "A tool is asked for the last word on its content before policy has seen the result.",
        edit(
            PendingCall,
            "finish",
            (
                "    if self._needs_post:\n",
                (
                    "    if self._finalizer is not None:\n"
                    "        self._finalizer(self.execution, self._result)\n    if self._needs_post:\n"
                ),
            ),
        ),
    ),
    Fault(
        "denials-are-not-reviewed",
        "PIPE-ORDER-02",
        "Policy is not asked about the result of a denied call.",
        edit(PendingCall, "prepare", ("self._settle(denial)", "self._settle(denial, needs_post=False)")),
    ),
    Fault(
        "failing-policy-fails-the-caller",
        "PIPE-ORDER-03",
        "What a policy listener throws is thrown at who made the call.",
        edit(PendingCall, "prepare", ("if not is_contained(error):", "if True:")),
    ),
    Fault(
        "denials-are-not-told",
        "PIPE-ORDER-04",
        "Failed calls are not told to observers.",
        edit(PendingCall, "_finalized", ("self._ctx.emit(", "result.is_error or self._ctx.emit(")),
    ),
    Fault(
        "last-policy-is-outermost",
        "PIPE-ORDER-05",
        "The policy that was registered last stands outermost.",
        _PLANTS["last-listener-is-outermost"],
    ),
    Fault(
        "calls-are-heard-by-all-agents",
        "PIPE-ORDER-06",
        "A listener of one agent hears of the calls of all.",
        _PLANTS["scopes-are-ignored"],
    ),
    Fault(
        "policy-is-read-as-it-goes",
        "PIPE-ORDER-07",
        "Who listens is looked up when its turn comes.",
        lambda: replaced(Listeners, {"_audience": _look_again}),
    ),
    Fault(
        "null-is-no-argument",
        "PIPE-ARGS-03",
        "A call without arguments is given an empty object.",
        edit(PendingCall, "__init__", ("freeze(call.arguments)", "freeze(call.arguments or {})")),
    ),
    Fault(
        "bodies-have-tokens-of-their-own",
        "PIPE-ID-01",
        "A body is given another token than the stages around it.",
        edit(ToolExecution, "__init__", ("ToolToken() if token is None else token", "ToolToken()")),
    ),
    Fault(
        "the-root-is-taken-from-the-parent",
        "PIPE-ID-02",
        "A call that another one makes is not its own root.",
        edit(
            ToolExecution,
            "__init__",
            (
                "call.call_id if call.root_call_id is None else call.root_call_id",
                "call.root_call_id or (call.call_id if call.parent is None else 'root')",
            ),
        ),
    ),
    Fault(
        "calls-of-bodies-are-not-told",
        "PIPE-NEST-01",
        "The result of a call that a body makes is told to nobody else.",
        edit(PendingCall, "_finalized", ("self._ctx.emit(", "self._call.parent is None and self._ctx.emit(")),
    ),
    Fault(
        "unknown-names-pass-no-policy",
        "UNKNOWN-TOOL-03",
        "A name that nobody registered is refused at once.",
        edit(
            PendingCall,
            "prepare",
            (
                "    if self.settled:\n",
                (
                    "    if self._result is None and self._tools.get(self._call.name, self._scope) is None:\n"
                    "        self._settle(failure_of(ToolNotFoundError(self._call.name)), needs_post=False)\n"
                    "    if self.settled:\n"
                ),
            ),
        ),
    ),
    Fault(
        "arguments-are-checked-at-the-entry",
        "SCHEMA-ARGS-02",
        "Arguments that do not fit are refused before policy sees them.",
        edit(
            PendingCall,
            "prepare",
            (
                "    if self.settled:\n",
                (
                    "    from dshcore.tools import ToolArgsError, violations_of\n"
                    "    found = self._tools.get(self._call.name, self._scope)\n"
                    "    if found is not None and (said := violations_of(found.parameters, self._arguments, '')):\n"
                    "        self._settle(failure_of(ToolArgsError(said)), needs_post=False)\n"
                    "    if self.settled:\n"
                ),
            ),
        ),
    ),
)

_AROUND: Final[tuple[Fault, ...]] = (
    Fault(
        "bodies-throw-at-wrappers",
        "PIPE-AROUND-01",
        "What a body throws is thrown at the wrappers around it.",
        edit(PendingCall, "_attempt_body", ("return self._failure(error, own, signal)", "raise")),
    ),
    Fault(
        "wrappers-write-the-content",
        "PIPE-AROUND-02",
        "The content that a wrapper puts beside a value of its own is shown to the model.",
        edit(
            PendingCall,
            "_adopt",
            (
                "replace(self._completed(definition, value), additional_contexts=contexts)",
                "replace(self._completed(definition, value), content=answer.content, additional_contexts=contexts)",
            ),
        ),
    ),
    Fault(
        "failures-of-wrappers-are-phrased",
        "PIPE-AROUND-04",
        "The content of a wrapper's own failure is made of its message.",
        edit(
            PendingCall,
            "_adopt",
            ("return replace(answer, ", "return replace(phrased(answer.error.message, answer.error.info), "),
        ),
    ),
    Fault(
        "the-body-outlives-its-wrapper",
        "PIPE-AROUND-05",
        "A wrapper that fails behind the body leaves the body's result.",
        edit(
            PendingCall,
            "dispatch",
            (
                "self._settle(self._failure(error, ",
                "self._settle(self._made[-1] if self._made else self._failure(error, ",
            ),
        ),
    ),
    Fault(
        "a-body-runs-once",
        "PIPE-AROUND-06",
        "A wrapper that tries again is given the first result again.",
        edit(
            PendingCall,
            "_run_body",
            (
                "result = await self._attempt_body()",
                "result = self._made[0] if self._made else await self._attempt_body()",
            ),
        ),
    ),
    Fault(
        "wrappers-invent-tools",
        "UNKNOWN-TOOL-04",
        "A wrapper can answer for a name that nobody registered.",
        edit(PendingCall, "_adopt", ("raise ToolNotFoundError(self._call.name)", "return answer")),
    ),
    Fault(
        "inner-calls-have-durable-data",
        "PIPE-BODY-03",
        "The projector is asked about calls that another call makes.",
        edit(PendingCall, "_completed", (" and self._call.parent is None", "")),
    ),
)

_CARRIED: Final[tuple[Fault, ...]] = (
    Fault(
        "wrappers-speak-first",
        "PIPE-CTX-01",
        "The contexts of a wrapper stand before those of the body.",
        edit(
            PendingCall,
            "dispatch",
            ("(*self._deferred, *result.additional_contexts)", "(*result.additional_contexts, *self._deferred)"),
        ),
    ),
    Fault(
        "failures-carry-nothing",
        "PIPE-CTX-02",
        "What a body deferred before it failed is lost.",
        edit(
            PendingCall,
            "dispatch",
            (
                "(*self._deferred, *result.additional_contexts)",
                "() if result.is_error else (*self._deferred, *result.additional_contexts)",
            ),
        ),
    ),
    Fault(
        "wrappers-see-contexts",
        "PIPE-CTX-04",
        "A wrapper is shown what the body deferred.",
        edit(
            PendingCall,
            "_run_body",
            (
                "    self._made.append(result)\n",
                (
                    "    result = replace(result, additional_contexts=tuple(self._deferred))\n"
                    "    self._made.append(result)\n"
                ),
            ),
        ),
    ),
    Fault(
        "another-value-concludes-nothing",
        "PIPE-CONCLUDE-02",
        "A wrapper that replaces the value drops the conclusion.",
        edit(
            PendingCall,
            "dispatch",
            ("concludes_turn=self._concluded", "concludes_turn=self._concluded and result in self._made"),
        ),
    ),
    Fault(
        "successes-are-finalized",
        "PIPE-FINAL-01",
        "The finalizer is asked about successes only.",
        edit(
            PendingCall,
            "_finalized",
            ("if self._finalizer is not None:", "if self._finalizer is not None and not result.is_error:"),
        ),
    ),
    Fault(
        "the-finalizer-of-the-end",
        "PIPE-FINAL-02",
        "The finalizer is that of the tool that is there at the end.",
        edit(
            PendingCall,
            "_finalized",
            (
                "    if self._finalizer is not None:\n",
                (
                    "    found = self._tools.get(self._call.name, self._scope)\n"
                    "    self._finalizer = None if found is None else found.finalize_content\n"
                    "    if self._finalizer is not None:\n"
                ),
            ),
        ),
    ),
    Fault(
        "failing-finalizers-are-ignored",
        "PIPE-FINAL-03",
        "A finalizer that fails leaves the content as it was.",
        edit(PendingCall, "_with_final_content", ("return self._failure(error)", "return result")),
    ),
    Fault(
        "failing-review-keeps-the-result",
        "PIPE-POST-05",
        "A result stays as it was where policy on it fails.",
        edit(PendingCall, "_apply_policy", ("    self._settle(self._failure(error))\n        return", "    return")),
    ),
    Fault(
        "an-observer-silences-the-others",
        "PIPE-RESULT-01",
        "Behind an observer that throws no other is told.",
        _PLANTS["first-failure-starves-the-others"],
    ),
    Fault(
        "one-call-at-a-time",
        "PIPE-RESULT-02",
        "A call in the middle of another is refused.",
        edit(
            PendingCall,
            "run",
            (
                "    await self.prepare()\n    await self.dispatch()\n    return await self.finish()\n",
                (
                    "    if vars(self._tools).get('_busy'):\n        return ABORTED\n"
                    "    self._tools._busy = True\n    try:\n        await self.prepare()\n"
                    "        await self.dispatch()\n"
                    "        return await self.finish()\n    finally:\n        self._tools._busy = False\n"
                ),
            ),
        ),
    ),
)

_ABORTED: Final[tuple[Fault, ...]] = (
    Fault(
        "aborted-calls-of-nobody-are-unknown",
        "PIPE-CANCEL-01",
        "A call of an unknown tool that is aborted at its entry is told to be unknown.",
        edit(
            PendingCall,
            "__init__",
            (
                "self._settle(ABORTED_BEFORE_DISPATCH, needs_post=False)",
                (
                    "self._settle(ABORTED_BEFORE_DISPATCH if visible else "
                    "failure_of(ToolNotFoundError(call.name)), needs_post=False)"
                ),
            ),
        ),
    ),
    Fault(
        "the-signal-of-a-wrapper-is-late",
        "PIPE-CANCEL-04",
        "A body whose wrapper gave it an aborted signal is entered.",
        edit(
            PendingCall,
            "_attempt_body",
            ("    if _any_aborted(call.signal, own):\n", "    if call.signal.aborted:\n"),
        ),
    ),
    Fault(
        "the-signal-is-looked-at-once-more",
        "PIPE-CANCEL-08",
        "A call that is aborted while it is finalized fails.",
        edit(
            PendingCall,
            "_finalized",
            ("    self._result = result\n", "    self._result = result = self._unless_aborted(result)\n"),
        ),
    ),
    Fault(
        "deadlines-are-not-noticed",
        "PIPE-CANCEL-09",
        "A wrapper is not told that its own signal was aborted.",
        edit(
            PendingCall,
            "_attempt_body",
            ("return ABORTED if _any_aborted(call.signal, own) else", "return ABORTED if call.signal.aborted else"),
        ),
    ),
)

TOOL_PIPELINE_FAULTS: Final[tuple[Fault, ...]] = (*_ORDER, *_AROUND, *_CARRIED, *_ABORTED)
