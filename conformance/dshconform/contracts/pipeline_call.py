"""One call on its way through the pipeline, as the clauses have it: a generator that stops where a function waits.

What is yielded is the stage that waits, what is sent is the act by which it ends.
"""

from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from dshconform.contracts.inbox_rows import Clauses, by
from dshconform.contracts.pipeline_functions import Functions, Surroundings, Thrown, unknown_tool
from dshconform.contracts.pipeline_plan import (
    APPROVAL,
    ERRORS,
    FEEDBACK,
    INFOS,
    KINDS,
    LOSSY,
    VALUES,
    Acts,
    Plan,
    context,
    own,
    part_of,
    text,
)
from dshconform.contracts.pipeline_rows import (
    Result,
    approval_row,
    next_row,
    phrased,
    shown,
    task_row,
    told_row,
    value_row,
)
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

_BEFORE: Final = ("tool call aborted before dispatch", ("AbortError", "ABORTED_BEFORE_DISPATCH"))
_DURING: Final = ("tool call aborted", ("AbortError", "ABORTED"))
_LOSSY_ARGUMENTS: Final = "tool execution arguments must be losslessly JSON-serializable"
_LOSSY_RESULT: Final = "tool result must be losslessly JSON-serializable"
_BOTH: Final = "tools/post-execute accept decision cannot replace both value and content"
_REVIVED: Final = "tools/post-execute cannot replace the value of a failed result"
_INVALID: Final = ("ToolOutputError", "INVALID_TOOL_OUTPUT")
_GUARDS: Final = {"added guard": ("PIPE-GUARD-04",), "second guard": ("PIPE-GUARD-05",)}


class Call(Functions):
    """One call of a tool, from its registration to its result.

    Args:
        around: What calls share.
        plan: What each stage does.
    """

    def __init__(self, around: Surroundings, plan: Plan) -> None:
        super().__init__(around, plan)
        self._going: Final = self._run()

    def advance(self, act: str | None = None) -> None:
        """Go on until a function waits, or to the end; `act` is how the waiting one ends."""
        try:
            self.waits = next(self._going) if act is None else self._going.send(act)
        except StopIteration:
            self.waits = None

    def _run(self) -> Generator[str, str, None]:
        entry = self._resolved()
        result, reviewed = self._entered()
        if result is None:
            result, reviewed = yield from self._prepared()
        if result is None:
            result, reviewed = yield from self._dispatched()
        if not reviewed:
            self._because += ("PIPE-ORDER-02",)
        elif self._stands("review"):
            result = yield from self._reviewed(result)
        self._tell(self._finalized(result, None if entry is None else entry[1]))

    def _entered(self) -> tuple[Result | None, bool]:
        if self.plan.arguments == LOSSY:
            self._because += ("PIPE-ARGS-02",)
            return phrased(_LOSSY_ARGUMENTS, "PIPE-ARGS-02"), False
        if self.has_fired():
            self._because += ("PIPE-CANCEL-01",)
            return phrased(_BEFORE[0], "PIPE-CANCEL-01", info=_BEFORE[1]), False
        return None, True

    # ------------------------------------------------------------------ policy

    def _prepared(self) -> Generator[str, str, tuple[Result | None, bool]]:
        try:
            denial = yield from self._permitted()
        except Thrown as thrown:
            return self._failed(thrown, "PIPE-PRE-05", "PIPE-ORDER-03", *self._late("PIPE-CANCEL-03")), False
        if denial is None:
            try:
                denial = self._guarded()
            except Thrown as thrown:
                return self._failed(thrown, "PIPE-GUARD-03", "PIPE-ORDER-03", *self._late("PIPE-CANCEL-03")), False
        if denial is not None:
            return replace(denial, clauses=(*denial.clauses, *self._late("PIPE-CANCEL-03"))), True
        if not self.has_fired():
            return None, True
        self._because += ("PIPE-CANCEL-02",)
        return phrased(_BEFORE[0], "PIPE-CANCEL-02", info=_BEFORE[1]), True

    def _permitted(self) -> Generator[str, str, Result | None]:
        """Ask policy, and whoever can approve."""
        decision = yield from self._decided([one for one in ("policy", "scoped policy") if self._stands(one)])
        if "scoped policy" in self.plan.stages and not self.plan.scoped:
            self._because += ("PIPE-ORDER-06",)
        if decision in {"ask", "ask why"}:
            return (yield from self._approved("why not" if decision == "ask why" else None))
        if decision != "allow":
            self._because += ("PIPE-PRE-01",)
            return phrased("not today" if decision == "deny" else "", "PIPE-PRE-01")
        if self._stands("policy"):
            self._because += ("PIPE-GUARD-02",)
        return None

    def _decided(self, stages: Sequence[str]) -> Generator[str, str, str]:
        if not stages:
            return "allow"
        among: Clauses = ("PIPE-ORDER-05",) if "scoped policy" in self.plan.stages else ()

        def inner() -> Generator[str, str, str]:
            return (yield from self._decided(stages[1:]))

        def told(decision: str) -> ExpectedRow:
            acts = self.plan.stages[stages[0]]
            outcome: JsonMap = {"value": VALUES["policy"][decision](self.plan.call)}
            return next_row(part_of(stages[0], self.plan.call, acts), 0, outcome, ("PIPE-ORDER-05",))

        last, given = yield from self._function(stages[0], (*among, "PIPE-ORDER-01"), inner, told)
        if last != "pass":
            return last
        return (yield from inner()) if given is None else given

    def _approved(self, reason: str | None) -> Generator[str, str, Result | None]:
        tool, approval = self.plan.call, self._around.approval
        if approval is None:
            self._because += ("PIPE-PRE-02",)
            return phrased(reason or f'tool "{tool}" requires approval (not yet supported)', "PIPE-PRE-02")
        requires = f'tool "{tool}" requires approval, but'
        if not self.plan.scoped:
            self._because += ("PIPE-PRE-03",)
            return phrased(f"{requires} the call has no agent to route it through", "PIPE-PRE-03")
        outcome = approval[0]
        part = part_of(APPROVAL, "any", approval)
        self._emit(approval_row("gate" if outcome == "gate" else "script", part, self._request, reason))
        if outcome == "gate":
            self._around.waiting.append(KINDS[APPROVAL])
            outcome = yield APPROVAL
            self._around.waiting.remove(KINDS[APPROVAL])
        if outcome in ERRORS:
            raise Thrown(outcome)
        if outcome == "allowed-once":
            self._because += ("PIPE-PRE-04",)
            return None
        if outcome == "cancelled" and self.has_fired():
            return phrased(_BEFORE[0], "PIPE-CANCEL-03", info=_BEFORE[1])
        said = {
            "rejected": f'the user rejected tool "{tool}"',
            "cancelled": f'approval for tool "{tool}" was cancelled',
            "unavailable": f"{requires} no approval channel is available",
        }
        return phrased(said[outcome], "PIPE-PRE-03")

    def _guarded(self) -> Result | None:
        if "scoped guard" in self.plan.stages and not self.plan.scoped:
            self._because += ("PIPE-GUARD-01",)
        while self._guards:
            stage = self._guards.pop(0)
            acts = self.plan.stages.get(stage, ("deny",))
            demands = (*_GUARDS.get(stage, ()), *self._late("PIPE-CANCEL-02"), "PIPE-GUARD-01", "PIPE-ORDER-01")
            said = self._at_once(stage, acts, demands)
            if said != "pass":
                self._because += ("PIPE-GUARD-01",)
                return phrased("guarded" if said == "deny" else "", "PIPE-GUARD-01", "PIPE-GUARD-02")
        return None

    # ------------------------------------------------------------------ wrappers and body

    def _dispatched(self) -> Generator[str, str, tuple[Result, bool]]:
        try:
            result = yield from self._wrapped()
        except Thrown as thrown:
            failed = self._failed(thrown, "PIPE-AROUND-05", "PIPE-ORDER-03", *self._late("PIPE-CANCEL-06"))
            return replace(failed, contexts_by=("PIPE-AROUND-05",)), False
        if result.contexts is None:
            self._because += ("PIPE-AROUND-03",)
            return replace(result, contexts=(), contexts_by=("PIPE-AROUND-03",)), False
        contexts = (*self._deferred, *result.contexts)
        demands: Clauses = ("PIPE-CTX-01", "PIPE-CTX-02") if result.error is not None else ("PIPE-CTX-01",)
        result = replace(
            result, contexts=contexts, contexts_by=(*demands, *(("PIPE-AROUND-06",) if self._again() else ()))
        )
        if result.error is None:
            result = replace(result, concludes=self._concluded)
        return self._unless_fired(result), True

    def _wrapped(self) -> Generator[str, str, Result]:
        if not self._stands("around"):
            return (yield from self._body())
        part = part_of("around", self.plan.call, self.plan.stages["around"])
        given = 0

        def told(result: Result) -> ExpectedRow:
            nonlocal given
            given += 1
            seen = replace(result, contexts_by=("PIPE-CTX-04",), concludes=self._concluded and result.error is None)
            return next_row(part, given - 1, {"value": by(("PIPE-AROUND-01",), shown(seen))}, ("PIPE-AROUND-01",))

        last, result = yield from self._function("around", ("PIPE-ORDER-01",), self._body, told)
        if last in {"pass", "kept"}:
            return (yield from self._body()) if result is None else result
        return self._adopted(last)

    def _adopted(self, act: str) -> Result:
        """What a wrapper's own answer comes to."""
        answer = VALUES["around"][act](self.plan.call)
        assert isinstance(answer, dict)
        contexts = tuple(answer.get("additionalContexts", ()))
        if answer["isError"]:
            error = answer["error"]
            late = self._late("PIPE-CANCEL-06")
            return Result(
                content=answer["content"],
                clauses=("PIPE-AROUND-04", *late),
                error=error["message"],
                info=(error["info"]["name"], error["info"]["code"]),
                meta=answer["meta"],
                contexts=contexts,
            )
        if self._resolved() is None:
            return replace(self._unknown("UNKNOWN-TOOL-04", "PIPE-AROUND-03"), contexts=None)
        if not isinstance(answer["value"], str):
            return replace(self._unfit(answer["value"], "PIPE-AROUND-03"), contexts=None)
        whole = self._completed(answer["value"], "PIPE-AROUND-02")
        return replace(whole, contexts=contexts, concludes_by=("PIPE-CONCLUDE-02",))

    def _body(self) -> Generator[str, str, Result]:
        replaced = self._replaced
        if self.has_fired() or (replaced and own(self.plan.call) in self._around.fired):
            self._because += ("PIPE-CANCEL-04",)
            return phrased(_BEFORE[0], "PIPE-CANCEL-04", info=_BEFORE[1])
        tool = self._resolved()
        if tool is None:
            return self._unknown("UNKNOWN-TOOL-01")
        demands: Clauses = ("PIPE-AROUND-06", "PIPE-ORDER-01") if self._invoked else ("PIPE-ORDER-01",)
        self._invoked = True
        try:
            last, _ = yield from self._function("body", demands, None, None, acts=tool[0])
        except Thrown as thrown:
            return self._failed(thrown, "PIPE-BODY-01", *self._late("PIPE-CANCEL-06"))
        value = None if last == "pass" else VALUES["body"][last](self.plan.call)
        if not isinstance(value, str):
            return self._unfit(value, "SCHEMA-OUT-01", *self._late("PIPE-CANCEL-06"))
        result = self._completed(value, *(("PIPE-AROUND-06",) if self._again() else ("PIPE-ORDER-01",)))
        if self.has_fired():
            return phrased(_DURING[0], "PIPE-CANCEL-05", info=_DURING[1])
        if replaced and own(self.plan.call) in self._around.fired:
            return phrased(_DURING[0], "PIPE-CANCEL-09", info=_DURING[1])
        return result

    def _again(self) -> bool:
        return sum(times for part, times in self._asked.items() if part.startswith("body ")) > 1

    # ------------------------------------------------------------------ policy on results, finalizer, observers

    def _reviewed(self, result: Result) -> Generator[str, str, Result]:
        demands: Clauses = ("PIPE-ORDER-02", "PIPE-ORDER-01")
        try:
            last, _ = yield from self._function("review", demands, None, None, result=shown(result))
        except Thrown as thrown:
            failed = self._failed(thrown, "PIPE-POST-05", *self._late("PIPE-CANCEL-06"))
            return replace(failed, contexts_by=("PIPE-CTX-03",))
        return self._unless_fired(self._after(result, last))

    def _after(self, result: Result, decision: str) -> Result:
        """What policy makes of a result."""
        assert result.contexts is not None
        match decision:
            case "content":
                stays = ("PIPE-POST-01", *result.meta_by)
                return replace(
                    result, content=text("changed"), clauses=(*result.clauses, "PIPE-POST-01"), meta_by=stays
                )
            case "context":
                return replace(result, contexts=(*result.contexts, context(self.plan.call, "review")))
            case "block" | "block silently":
                content, said = FEEDBACK[decision]
                late = self._late("PIPE-CANCEL-06")
                contexts = (context(self.plan.call, "review"),) if decision == "block" else ()
                blocked = Result(content=content, clauses=("PIPE-POST-04", *late), error=said, contexts=contexts)
                return replace(blocked, contexts_by=("PIPE-CTX-03",))
            case "both":
                return replace(phrased(_BOTH, "PIPE-POST-03"), contexts_by=("PIPE-CTX-03",))
            case "value" | "invalid" if result.error is not None:
                return replace(phrased(_REVIVED, "PIPE-POST-03"), contexts_by=("PIPE-CTX-03",))
            case "value" | "invalid" if self._resolved() is None:
                return replace(self._unknown("PIPE-POST-03"), contexts_by=("PIPE-CTX-03",))
            case "invalid":
                return replace(self._unfit(5, "PIPE-POST-02"), contexts_by=("PIPE-CTX-03",))
            case "value":
                whole = self._completed("changed", "PIPE-POST-02")
                kept = replace(whole, contexts=result.contexts, contexts_by=result.contexts_by)
                return replace(kept, concludes=result.concludes, concludes_by=("PIPE-CONCLUDE-02",))
            case _:
                return replace(result, clauses=(*result.clauses, "PIPE-POST-01"))

    def _finalized(self, result: Result, acts: Acts | None) -> Result:
        now = self._resolved()
        if (None if now is None else now[1]) != acts:
            self._because += ("PIPE-FINAL-02",)
        if acts is None:
            return result
        fired = self.has_fired()
        try:
            said = self._at_once("final", acts, ("PIPE-FINAL-01", "PIPE-ORDER-01"), result=shown(result))
        except Thrown as thrown:
            return replace(self._failed(thrown, "PIPE-FINAL-03"), contexts_by=("PIPE-CTX-03", "PIPE-FINAL-03"))
        if said == "lossy":
            return replace(phrased(_LOSSY_RESULT, "PIPE-FINAL-03"), contexts_by=("PIPE-CTX-03", "PIPE-FINAL-03"))
        if said == "text":
            result = replace(result, content=text("final"), clauses=(*result.clauses, "PIPE-FINAL-01"))
        if self.has_fired() and not fired:
            result = replace(result, clauses=(*result.clauses, "PIPE-CANCEL-08"))
        return result

    def _tell(self, result: Result) -> None:
        self._emit(told_row(self._request, result, ("PIPE-ORDER-04", "PIPE-ORDER-01")))
        for stage in ("told", "also told"):
            if self._stands(stage):
                with suppress(Thrown):
                    self._at_once(stage, self.plan.stages[stage], ("PIPE-RESULT-01",), result=shown(result))
        self._emit(task_row(self.plan.call, result))

    # ------------------------------------------------------------------ what is made of it

    def _completed(self, value: str, *clauses: str) -> Result:
        """A success, rendered and projected."""
        call = self.plan.call
        self._emit(value_row(f"render {call}", "tool/render", self._request, value, (*clauses, "PIPE-ORDER-01")))
        self._emit(value_row(f"project {call}", "tool/meta", self._request, value, ("PIPE-BODY-03", "PIPE-ORDER-01")))
        return Result(content=text(value), clauses=clauses, value=value, meta={"of": value})

    def _unfit(self, value: Json, *clauses: str) -> Result:
        assert not isinstance(value, str)
        self._because += clauses
        said = f'tool "{self.plan.call}" returned invalid output: "value" must be a string'
        return phrased(said, *clauses, info=_INVALID)

    def _unknown(self, *clauses: str) -> Result:
        self._because += clauses
        return unknown_tool(self.plan.call, *clauses)

    def _failed(self, thrown: Thrown, *clauses: str) -> Result:
        self._because += clauses
        return phrased(str(ERRORS[thrown.error]["message"]), *clauses, info=INFOS.get(thrown.error))

    def _unless_fired(self, result: Result) -> Result:
        """A success is replaced by the abort, with its contexts."""
        if result.error is not None or not self.has_fired():
            return result
        said, info = _DURING if self._invoked else _BEFORE
        aborted = phrased(said, "PIPE-CANCEL-07", info=info)
        return replace(aborted, contexts=result.contexts, contexts_by=(*result.contexts_by, "PIPE-CTX-02"))

    def _late(self, clause: str) -> Clauses:
        return (clause,) if self.has_fired() else ()
