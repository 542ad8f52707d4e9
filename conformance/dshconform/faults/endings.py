"""Faults of what follows a step: another one, the stopping hook, the end of the turn, the next turn."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshconform.faults.pieces import ASK, CONTINUES, REJECTED
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.scheduling import _Batch as Batch
from dshcore.llm.assembler import BlockAssembler

_STOPPING: Final = ASK.lstrip()

ENDING_FAULTS: Final[tuple[Fault, ...]] = (
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
                f"        {_STOPPING}",
                f"        try:\n            {_STOPPING}        except Exception:\n            pass\n",
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
        "conclusion-skips-the-rest",
        "LOOP-CONC-01",
        "A result that concludes the turn keeps the calls behind it from being run.",
        edit(
            Batch,
            "fill",
            ("while self._waiting and ", "while self._waiting and not self.concluded and "),
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
