"""Faults of the scheduling of tool calls."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault, replaced
from dshcore.agent_loop import creation, scheduling
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.scheduling import Scheduler
from dshcore.agent_loop.scheduling import _Batch as Batch
from dshcore.tools.results import ABORTED

_START: Final = "    seq = self._log_call(planned.block)\n"

TOOL_CALL_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "unparsable-arguments-fail-the-turn",
        "SCHED-ARGS-01",
        "Arguments that are no JSON fail the turn.",
        edit(
            scheduling, "parse_arguments", ("        return text\n", '        raise ValueError("no JSON") from None\n')
        ),
    ),
    Fault(
        "no-arguments-are-a-text",
        "SCHED-ARGS-01",
        "An empty text is passed on as a text.",
        edit(scheduling, "parse_arguments", ("        return {}\n", '        return ""\n')),
    ),
    Fault(
        "unknown-tool-fails-the-turn",
        "UNKNOWN-TOOL-01",
        "A call of a tool that is not there ends the turn as an error.",
        edit(
            Batch,
            "_start_next",
            (
                _START,
                (
                    f"{_START}"
                    "    if self._tools.get(planned.request.name, self._agent) is None:\n"
                    "        raise LookupError(planned.request.name)\n"
                ),
            ),
        ),
    ),
    Fault(
        "all-calls-are-logged-first",
        "SCHED-CALL-01",
        "All calls of an answer are logged before the first one runs.",
        edit(
            Batch,
            "_start_next",
            (
                _START,
                (
                    "    if not hasattr(self._agent, 'logged') or planned.block.id not in self._agent.logged:\n"
                    "        self._agent.logged = {one.block.id: self._log_call(one.block) for one in "
                    "(planned, *self._waiting)}\n"
                    "    seq = self._agent.logged[planned.block.id]\n"
                ),
            ),
        ),
    ),
    Fault(
        "call-is-logged-behind-its-policy",
        "SCHED-CALL-01",
        "A call is logged when its policy has run.",
        edit(
            Batch,
            "_start_next",
            (_START, ""),
            (
                (
                    "    call = _Started(planned.block, seq, self._tools.open(planned.request, self._agent))\n"
                    "    self._started.append(call)\n"
                    "    await call.pending.prepare()\n"
                ),
                (
                    "    pending = self._tools.open(planned.request, self._agent)\n"
                    "    await pending.prepare()\n"
                    "    call = _Started(planned.block, self._log_call(planned.block), pending)\n"
                    "    self._started.append(call)\n"
                ),
            ),
        ),
    ),
    Fault(
        "exclusive-call-overlaps",
        "SCHED-EXCL-01",
        "An exclusive call overlaps the parallel ones before it.",
        edit(
            Batch,
            "fill",
            (
                "        if alone and self.running:\n            return  # classified",
                "        if False:\n            return  # classified",
            ),
        ),
    ),
    Fault(
        "calls-overlap-an-exclusive-one",
        "SCHED-EXCL-01",
        "Calls start while an exclusive one before them runs.",
        edit(Batch, "fill", ("        if alone and self.running:\n            return\n", "")),
    ),
    Fault(
        "fixed-windows",
        "SCHED-PAR-01",
        "A place of the pool is filled when all of its calls have settled.",
        edit(Scheduler, "run", ("FIRST_COMPLETED", "ALL_COMPLETED")),
    ),
    Fault(
        "calls-one-by-one",
        "SCHED-PAR-01",
        "Parallel calls do not overlap.",
        edit(Scheduler, "run", ("batch.fill(max_parallel)", "batch.fill(1)")),
    ),
    Fault(
        "post-execution-as-they-settle",
        "SCHED-PAR-02",
        "Post-execution policy runs in the order in which the bodies settle.",
        together(
            edit(
                Batch,
                "commit_settled",
                (
                    "    while self._started and",
                    (
                        "    for one in self._started:\n"
                        "        if one.settled and one.block.id not in (early := self._place.setdefault('early', "
                        "{})):\n"
                        "            early[one.block.id] = await one.pending.finish()\n"
                        "    while self._started and"
                    ),
                ),
                ("await call.pending.finish()", "self._place['early'][call.block.id]"),
            ),
            edit(Batch, "_log_call", ("**self._place,", "**{k: v for k, v in self._place.items() if k != 'early'},")),
            edit(Batch, "_log_result", ("**self._place,", "**{k: v for k, v in self._place.items() if k != 'early'},")),
        ),
    ),
    Fault(
        "results-as-they-settle",
        "SCHED-COMMIT-01",
        "Results are logged in the order in which the bodies settle.",
        edit(
            Batch,
            "commit_settled",
            (
                "    while self._started and (call := self._started[0]).settled:",
                "    while call := next((one for one in self._started if one.settled), None):",
            ),
            ("        self._started.popleft()", "        self._started.remove(call)"),
        ),
    ),
    Fault(
        "classified-once",
        "SCHED-CLASS-01",
        "The calls of an answer are classified once, at the beginning.",
        together(
            edit(
                Batch,
                "fill",
                (
                    "    while self._waiting and",
                    (
                        "    modes = self._place.setdefault('modes', {one.block.id: self._tools.mode(one.request, "
                        "self._agent) for one in self._waiting})\n"
                        "    while self._waiting and"
                    ),
                ),
                ("self._tools.mode(self._waiting[0].request, self._agent)", "modes[self._waiting[0].block.id]"),
            ),
            edit(Batch, "_log_call", ("**self._place,", "**{k: v for k, v in self._place.items() if k != 'modes'},")),
            edit(Batch, "_log_result", ("**self._place,", "**{k: v for k, v in self._place.items() if k != 'modes'},")),
        ),
    ),
    Fault(
        "cap-is-not-applied",
        "SCHED-CAP-01",
        "As many calls overlap as there are, whatever the cap is.",
        edit(Scheduler, "run", ("batch.fill(max_parallel)", "batch.fill(len(calls))")),
    ),
    Fault(
        "cap-is-not-checked",
        "SCHED-CAP-01",
        "A cap that none can be is accepted.",
        edit(creation, "_checked_cap", ("if type(cap) is not int or", "if False and")),
    ),
    Fault(
        "contexts-behind-all-results",
        "SCHED-CTX-01",
        "The contexts of results are delivered when all results are committed.",
        together(
            edit(
                Batch,
                "commit_settled",
                (
                    '            self._agent.inbox.append("next-step", context)',
                    "            self._agent.__dict__.setdefault('contexts', []).append(context)",
                ),
            ),
            edit(
                Scheduler,
                "run",
                (
                    "        batch.skip_rest()\n",
                    (
                        "        batch.skip_rest()\n"
                        "        for context in agent.__dict__.pop('contexts', ()):\n"
                        "            agent.inbox.append('next-step', context)\n"
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "contexts-between-the-results",
        "SCHED-CTX-01",
        "The contexts of results are entered between them.",
        edit(
            Batch,
            "commit_settled",
            (
                'self._agent.inbox.append("next-step", context)',
                'self._agent.session.append("user/message", context, surface_op="append")',
            ),
        ),
    ),
    Fault(
        "skipped-calls-dangle",
        "SCHED-ABORT-01",
        "Calls that were not started because of an abort get no result.",
        edit(Scheduler, "run", ("        batch.skip_rest()\n", "")),
    ),
    Fault(
        "cancelled-calls-run",
        "SCHED-ABORT-01",
        "Calls start although the signal was aborted before.",
        edit(Batch, "_may_start", ("not self._signal.aborted and ", "")),
    ),
    Fault(
        "committed-message-runs-its-tools",
        "CANCEL-MSG-01",
        "The tools of an answer run although the abort landed on it.",
        edit(Driver, "_answer", ("run(*place, calls)", "run(*place[:3], CancelSignal(), calls)")),
    ),
    Fault(
        "skipped-results-come-first",
        "SCHED-ABORT-02",
        "Calls that were not started get their results before the started ones.",
        edit(
            Scheduler,
            "run",
            (
                "            await asyncio.wait(batch.running",
                (
                    "            if signal.aborted:\n"
                    "                batch.skip_rest()\n"
                    "            await asyncio.wait(batch.running"
                ),
            ),
            (
                "            await batch.commit_settled()\n",
                (
                    "            if signal.aborted:\n"
                    "                batch.skip_rest()\n"
                    "            await batch.commit_settled()\n"
                ),
            ),
        ),
    ),
    Fault(
        "skipped-calls-were-aborted",
        "SCHED-ABORT-03",
        "A call that never started is told of as one that was aborted.",
        lambda: replaced(scheduling, {"ABORTED_BEFORE_DISPATCH": ABORTED}),
    ),
    Fault(
        "late-contexts-are-dropped",
        "SCHED-ABORT-04",
        "What a call deferred is dropped when the turn was cancelled.",
        edit(
            Batch,
            "commit_settled",
            ("in result.additional_contexts:", "in () if self._signal.aborted else result.additional_contexts:"),
        ),
    ),
    Fault(
        "late-contexts-wake",
        "SCHED-ABORT-04",
        "What a call deferred starts a turn behind the cancelled one.",
        edit(
            Batch,
            "commit_settled",
            ('self._agent.inbox.append("next-step", context)', 'self._agent.send(context, "next-step", wakeup=True)'),
        ),
    ),
)
