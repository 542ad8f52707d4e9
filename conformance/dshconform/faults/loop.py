"""Faults of turns and steps that scenarios find; those that the turn machine finds stand in `turn`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final
from weakref import WeakKeyDictionary

from dshconform.faults.cancellation import KEEP_BATCH, PUT_BACK
from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault, replaced
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.request import Requests
from dshcore.agent_loop.scheduling import _Batch as Batch
from dshcore.context.listeners import Listeners
from dshcore.llm.assembler import BlockAssembler

REJECTED: Final = '            return "blocked"\n'
ASK: Final = "            await agent.ctx.serial(AGENT_TURN_STOPPING, AgentTurnStopping(agent, turn.number, signal))\n"
STOPPING: Final = "await agent.ctx.serial(AGENT_TURN_STOPPING, AgentTurnStopping(agent, turn.number, signal))\n"
CONTINUES: Final = "        if turn.outcome is None or inbox.has_next_step:\n"

_run: Final[Callable[[Driver, DrivenAgent], Awaitable[None]]] = Driver.run
_locks: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]] = WeakKeyDictionary()


async def _one_at_a_time(self: Driver, agent: DrivenAgent) -> None:
    async with _locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        await _run(self, agent)


LOOP_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "claim-before-the-turn",
        "LOOP-OPEN-01",
        "The input of a turn is claimed before the turn is opened.",
        together(
            edit(
                Driver,
                "_run_turn",
                (
                    '    try:\n        session.append("turn/start"',
                    (
                        '    agent.claimed_early = agent.inbox.claim("next-turn", turn.number)\n'
                        "    try:\n"
                        '        session.append("turn/start"'
                    ),
                ),
            ),
            edit(
                Driver,
                "_run_steps",
                (
                    "batch = inbox.claim(target, turn.number)",
                    'batch = agent.claimed_early if target == "next-turn" else inbox.claim(target, turn.number)',
                ),
            ),
        ),
    ),
    Fault(
        "numbers-begin-anew",
        "LOOP-OPEN-02",
        "The turns of a resumed agent are numbered from 1.",
        edit(
            Driver,
            "_run_turn",
            (
                "session.last_turn + 1",
                'sum(event["type"] == "turn/start" for event in session.events[session.first_live_seq :]) + 1',
            ),
        ),
    ),
    Fault(
        "blocked-turns-have-no-number",
        "LOOP-OPEN-02",
        "A turn that ended otherwise than completed leaves its number to the next.",
        edit(
            Driver,
            "_run_turn",
            (
                "session.last_turn + 1",
                (
                    'sum(event["type"] == "turn/end" and event["data"]["reason"]["kind"] == "completed" for '
                    "event in session.events) + 1"
                ),
            ),
        ),
    ),
    Fault(
        "steps-count-on",
        "LOOP-STEP-01",
        "The steps of a turn are numbered from where the last turn ended.",
        edit(
            Driver,
            "_run_step",
            ('"step": turn.opened + 1}', '"step": sum(event["type"] == "step/start" for event in session.events) + 1}'),
        ),
    ),
    Fault(
        "one-pre-step-per-turn",
        "LOOP-PRE-01",
        "agent/pre-step is asked for the first step of a turn alone.",
        edit(
            Driver, "_decide", ("    answer = ", "    if turn.opened:\n        return await enter_all()\n    answer = ")
        ),
    ),
    Fault(
        "step-before-its-decision",
        "LOOP-PRE-01",
        "The messages of a step are logged before agent/pre-step was asked.",
        together(
            edit(
                Driver,
                "_decide",
                (
                    "    answer = ",
                    (
                        "    for message in batch:\n"
                        '        agent.session.append("user/message", message, surface_op="append")\n'
                        "    answer = "
                    ),
                ),
            ),
            edit(Driver, "_run_step", ("in entered:", "in ():")),
        ),
    ),
    Fault(
        "history-is-proposed",
        "LOOP-PRE-02",
        "The messages of agent/pre-step hold the history too.",
        edit(
            Driver,
            "_decide",
            ("turn.opened + 1, batch,", "turn.opened + 1, (*agent.session.derive_messages(), *batch),"),
        ),
    ),
    Fault(
        "dropped-messages-return",
        "LOOP-PRE-03",
        "A claimed message that a decision leaves out returns to the inbox.",
        edit(
            Driver,
            "_decide",
            (
                "        case Enter(messages=list() | tuple()):\n",
                (
                    "        case Enter(messages=list() | tuple()):\n"
                    '            ids = {message["id"] for message in decision.messages}\n'
                    "            for message in batch:\n"
                    '                if decision.messages and message["id"] not in ids and "seen" not in vars(agent):\n'
                    "                    agent.seen = True\n"
                    '                    agent.inbox.append("next-turn", message)\n'
                ),
            ),
        ),
    ),
    Fault(
        "rewritten-message-has-a-new-id",
        "LOOP-PRE-03",
        "A message that a decision rewrote is entered under another id.",
        edit(
            Driver,
            "_decide",
            (
                "        case Enter(messages=list() | tuple()):\n            return decision",
                (
                    "        case Enter(messages=list() | tuple()):\n"
                    "            return Enter([message if message in batch else "
                    '{**message, "id": message["id"] + "-2"} for message in decision.messages])'
                ),
            ),
        ),
    ),
    Fault(
        "prompt-enters-before-the-context",
        "LOOP-PRE-04",
        "The default batch has the prompt before the injected context.",
        edit(Driver, "_decide", ("Enter(batch if", "Enter(batch[::-1] if")),
    ),
    Fault(
        "rejected-batch-is-put-back",
        "LOOP-PRE-05",
        "What was claimed for a rejected step returns to the inbox.",
        edit(
            Driver,
            "_run_steps",
            (
                REJECTED,
                f'            for message in batch:\n                inbox.append("next-turn", message)\n{REJECTED}',
            ),
        ),
    ),
    Fault(
        "rejected-batch-is-entered",
        "LOOP-PRE-05",
        "A rejected batch is entered as messages.",
        edit(
            Driver,
            "_run_steps",
            (
                REJECTED,
                (
                    "            for message in batch:\n"
                    '                agent.session.append("user/message", message, surface_op="append")\n'
                    f"{REJECTED}"
                ),
            ),
        ),
    ),
    Fault(
        "empty-step-is-run",
        "LOOP-PRE-08",
        "A first batch that was emptied opens a step all the same.",
        edit(Driver, "_run_steps", ("if turn.opened == 0:", "if False:")),
    ),
    Fault(
        "emptied-turn-goes-on",
        "LOOP-PRE-08",
        "After an emptied first batch the driver goes on with what is pending.",
        edit(Driver, "_run_turn", (" and turn.opened > 0", "")),
    ),
    Fault(
        "step-that-nobody-owes",
        "LOOP-PRE-09",
        "A later batch that was emptied opens a step although nothing is owed.",
        edit(Driver, "_run_steps", ("            if turn.outcome is not None:", "            if False:")),
    ),
    Fault(
        "emptied-step-asks-to-stop",
        "LOOP-PRE-09",
        "An emptied later batch runs the stopping hook again.",
        edit(
            Driver,
            "_run_steps",
            ("            if turn.outcome is not None:\n", f"            if turn.outcome is not None:\n    {ASK}"),
        ),
    ),
    Fault(
        "owed-step-can-be-emptied",
        "LOOP-PRE-10",
        "Emptying its batch ends a turn whose tool results the model has not seen.",
        edit(Driver, "_run_steps", ("if turn.opened == 0:", "if True:")),
    ),
    Fault(
        "steering-opens-a-turn",
        "LOOP-STEER-01",
        "Steering that comes with a final answer has to wait for a turn of its own.",
        edit(
            Driver,
            "_run_steps",
            (CONTINUES, "        if turn.outcome is None:\n"),
            ("        if not inbox.has_next_step:", "        if True:"),
        ),
    ),
    Fault(
        "steering-does-not-skip-the-hook",
        "LOOP-STEER-01",
        "The stopping hook runs although steering is pending.",
        edit(Driver, "_run_steps", (CONTINUES, "        if turn.outcome is None:\n")),
    ),
    Fault(
        "stop-is-asked-after-every-step",
        "LOOP-STOP-01",
        "The stopping hook runs after every step.",
        edit(Driver, "_run_steps", (f"{CONTINUES}            continue\n", f"{CONTINUES}{ASK}            continue\n")),
    ),
    Fault(
        "blocked-turn-is-asked-to-stop",
        "LOOP-STOP-01",
        "The stopping hook runs for a blocked turn.",
        edit(Driver, "_run_steps", (REJECTED, f"{ASK}{REJECTED}")),
    ),
    Fault(
        "empty-turn-is-asked-to-stop",
        "LOOP-STOP-01",
        "The stopping hook runs for a turn without steps.",
        edit(
            Driver, "_run_steps", ("            if turn.opened == 0:\n", f"            if turn.opened == 0:\n    {ASK}")
        ),
    ),
    Fault(
        "failed-turn-is-asked-to-stop",
        "LOOP-STOP-01",
        "The stopping hook runs for a failed turn.",
        edit(
            Driver,
            "_run_turn",
            (
                "        outcome = await self._run_steps(agent, turn)\n",
                (
                    "        try:\n            outcome = await self._run_steps(agent, turn)\n"
                    "        except Exception:\n            await agent.ctx.serial("
                    "AGENT_TURN_STOPPING, AgentTurnStopping(agent, turn.number, turn.signal))\n            raise\n"
                ),
            ),
        ),
    ),
    Fault(
        "stop-is-asked-before-the-end-of-the-step",
        "LOOP-STOP-01",
        "The stopping hook runs inside the last step.",
        together(
            edit(Driver, "_run_steps", (ASK.replace("            ", "        ", 1), "")),
            edit(
                Driver,
                "_run_step",
                (
                    "        outcome = await self._answer(agent, turn, assembly)\n",
                    (
                        "        outcome = await self._answer(agent, turn, assembly)\n"
                        "        if outcome and not agent.inbox.has_next_step:\n"
                        "            await agent.ctx.serial(AGENT_TURN_STOPPING, AgentTurnStopping(agent, "
                        "turn.number, turn.signal))\n"
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "quiet-input-does-not-continue",
        "LOOP-STOP-02",
        "Of what the stopping hook delivers only waking input continues the turn.",
        together(
            edit(
                DrivenAgent,
                "send",
                ("    if wakeup:\n        self._feed", "    self.woken = wakeup\n    if wakeup:\n        self._feed"),
            ),
            edit(
                Driver,
                "_run_steps",
                ("        if not inbox.has_next_step:", "        if not (inbox.has_next_step and agent.woken):"),
            ),
        ),
    ),
    Fault(
        "prompt-keeps-the-turn-open",
        "LOOP-STOP-02",
        "A prompt that the stopping hook delivers runs in the same turn.",
        edit(
            Driver,
            "_run_steps",
            (
                "        if not inbox.has_next_step:",
                (
                    '        target = "next-step" if inbox.has_next_step else "next-turn"\n'
                    "        if not inbox.has_pending:"
                ),
            ),
        ),
    ),
    Fault(
        "failing-stop-is-logged",
        "LOOP-STOP-03",
        "A failing stopping listener does not fail the turn.",
        edit(
            Driver,
            "_run_steps",
            (
                f"        {STOPPING}",
                f"        try:\n            {STOPPING}        except Exception:\n            pass\n",
            ),
        ),
    ),
    Fault(
        "step-is-proposed-before-the-test",
        "LOOP-STOP-04",
        "The next step is claimed and proposed before the driver looks whether the turn is over.",
        edit(
            Driver,
            "_run_steps",
            (
                CONTINUES,
                (
                    "        if turn.outcome is not None and not inbox.has_next_step:\n"
                    '            await self._decide(agent, turn, inbox.claim("next-step", turn.number), None)\n'
                    f"{CONTINUES}"
                ),
            ),
        ),
    ),
    Fault(
        "cut-calls-are-kept",
        "LOOP-END-01",
        "An answer that hit the ceiling keeps its tool calls.",
        edit(BlockAssembler, "message", ("cut = self", "cut = False and self")),
    ),
    Fault(
        "cut-calls-are-run",
        "LOOP-END-01",
        "Complete tool calls of a truncated answer are executed.",
        together(
            edit(BlockAssembler, "message", ("cut = self", "cut = False and self")),
            edit(Driver, "_answer", ("if attempt.ceiling:", "if attempt.ceiling and not calls_of(attempt.message):")),
        ),
    ),
    Fault(
        "ceiling-carries-over",
        "LOOP-END-02",
        "The ceiling of one turn is the outcome of the next.",
        together(
            edit(
                Driver,
                "_run_turn",
                (
                    "turn = Turn(session.last_turn + 1, agent.signal)",
                    'turn = Turn(session.last_turn + 1, agent.signal, 0, getattr(agent, "ceiling", None))',
                ),
            ),
            edit(
                Driver,
                "_run_step",
                (
                    "        turn.outcome = outcome",
                    (
                        "        turn.outcome = outcome\n"
                        '        agent.ceiling = outcome if outcome == "max-tokens" else None'
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "quiet-input-stays-parked",
        "LOOP-NEXT-01",
        "The driver goes on for what was delivered waking alone.",
        together(
            edit(
                DrivenAgent,
                "send",
                ("    if wakeup:\n        self._feed", "    self.woken = wakeup\n    if wakeup:\n        self._feed"),
            ),
            edit(DrivenAgent, "turn_closed", ("self._inbox.has_pending", "self._inbox.has_pending and self.woken")),
        ),
    ),
    Fault(
        "failure-ends-the-driver",
        "LOOP-ERR-04",
        "After a failure the agent never comes to rest, and what is sent to it is not claimed.",
        edit(
            Driver,
            "_run_turn",
            (
                "reason = self._ending_of(agent, turn, failure)\n",
                (
                    "reason = self._ending_of(agent, turn, failure)\n"
                    '        if reason["kind"] == "error":\n'
                    "            await asyncio.Event().wait()\n"
                ),
            ),
        ),
    ),
    Fault(
        "failed-batch-is-put-back",
        "LOOP-ERR-05",
        "What was claimed for a step that failed before it began returns to the inbox.",
        together(
            edit(Driver, "_run_steps", KEEP_BATCH),
            edit(Driver, "_run_turn", (PUT_BACK[0], PUT_BACK[1].format(when="not turn.signal.aborted"))),
        ),
    ),
    Fault(
        "error-after-the-ending",
        "LOOP-ERR-03",
        "agent/error is emitted when the turn has closed.",
        together(
            edit(Driver, "_ending_of", ("    agent.ctx.emit(", "    agent.failure_report = (")),
            edit(
                Driver,
                "_run_turn",
                (
                    "    if leaving is not None:",
                    (
                        '    if isinstance(reason, dict) and reason["kind"] == "error":\n'
                        "        agent.ctx.emit(*agent.failure_report)\n"
                        "    if leaving is not None:"
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "one-driver-at-a-time",
        "LOOP-ISO-01",
        "An agent has to wait until no other one is running.",
        lambda: replaced(Driver, {"run": _one_at_a_time}),
    ),
    Fault(
        "failing-observer-fails-the-turn",
        "LOOP-OBS-01",
        "What an observer of the log raises fails the turn.",
        edit(Listeners, "_tell", ("if not key.contained:", 'if not key.contained or key.name == "session/event":')),
    ),
    Fault(
        "deltas-are-coalesced",
        "LOOP-CHUNK-01",
        "The deltas of a text are not logged one by one.",
        edit(
            Requests,
            "_receive",
            (
                "            event = ",
                (
                    '            if chunk["type"] == "text-delta":\n'
                    "                chunks.push(chunk)\n"
                    "                continue\n"
                    "            event = "
                ),
            ),
        ),
    ),
    Fault(
        "empty-answer-is-no-message",
        "LOOP-MSG-01",
        "An answer without content is not logged.",
        edit(
            Driver, "_answer", ("    agent.session.append(", '    attempt.message["content"] and agent.session.append(')
        ),
    ),
    Fault(
        "answer-cites-one-chunk",
        "LOOP-MSG-01",
        "An answer cites not all of its chunks.",
        edit(Driver, "_answer", ("=attempt.chunk_seqs", "=attempt.chunk_seqs[:1]")),
    ),
    Fault(
        "finish-decides-about-tools",
        "LOOP-MSG-02",
        "Tools run only where the finish says so.",
        together(
            edit(
                Requests,
                "_receive",
                (
                    "    message = chunks.message(",
                    '    agent.finish_last = chunks.finish.get("kind")\n    message = chunks.message(',
                ),
            ),
            edit(Driver, "_answer", ("if not calls:", 'if not calls or agent.finish_last != "tool-calls":')),
        ),
    ),
    Fault(
        "conclusion-skips-the-rest",
        "LOOP-CONC-01",
        "A result that concludes the turn keeps the calls behind it from being run.",
        edit(
            Batch,
            "fill",
            (
                "while self._waiting and not self._signal.aborted",
                "while self._waiting and not self._signal.aborted and not self.concluded",
            ),
        ),
    ),
    Fault(
        "failure-concludes",
        "LOOP-CONC-01",
        "A failed result concludes the turn.",
        edit(
            Batch,
            "commit_settled",
            ("if isinstance(result, ToolSuccess) and result.concludes_turn", "if call.pending._concluded"),
        ),
    ),
    Fault(
        "conclusion-drops-the-context",
        "LOOP-CONC-02",
        "A concluded turn closes although its results left contexts.",
        edit(
            Driver,
            "_run_steps",
            (
                CONTINUES,
                (
                    '        if turn.outcome == "completed" and inbox.has_next_step and any(e["type"] == '
                    '"tool/result" for e in agent.session.events[-6:]):\n'
                    "            return turn.outcome\n"
                )
                + CONTINUES,
            ),
        ),
    ),
    Fault(
        "ceiling-owes-an-answer",
        "LOOP-END-03",
        "A tool step after a ceiling hit owes another request.",
        edit(
            Driver,
            "_run_step",
            ('if turn.outcome != "max-tokens":', 'if turn.outcome != "max-tokens" or outcome is None:'),
        ),
    ),
)
