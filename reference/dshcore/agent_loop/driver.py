"""The driver: turns pending messages into turns and steps on the log.

One run lasts from a wake until nothing is left to do. Its first stretch, inside the call that woke it, opens the turn
and claims the first batch (AGENT-SEND-04), and the assembly of the prompt begins there. In every proposal the driver
suspends once on purpose, right after the assembly, so that everything later comes after that call and the code around
it (AGENT-SEND-07).

What closes steps and turns, and what settles the run, is synchronous: wherever a failure, an abort or a cancellation of
the task by its host strikes, the log is balanced when it leaves the driver, and no call can come between the last look
at the inbox and `idle` (WAKE-GAP-01). An abort travels as an exception, raised by the checks
(`signal.raise_if_aborted`); whatever fails while the signal is aborted counts as the abort (CANCEL-ERR-01).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dshcore.agent import (
    AGENT_ERROR,
    AGENT_PRE_STEP,
    AGENT_REQUEST_ERROR,
    AGENT_TURN_STOPPING,
    AgentErrorRaised,
    AgentPreStep,
    AgentRequestError,
    AgentTurnStopping,
    Enter,
    PreStepDecision,
    Reject,
    RequestErrorAction,
    Retry,
    Target,
)
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.request import Failed, Prompt, Requests
from dshcore.agent_loop.scheduling import Scheduler, calls_of
from dshcore.cancel_signal import CancelSignal
from dshcore.host import host_is_cancelling, is_contained
from dshcore.json import JsonObject
from dshcore.llm import LlmError, turn_failure
from dshcore.system_prompt import AssembleContext, Assembly, SnapshotProjection, SystemPrompt, render_system

Outcome: TypeAlias = Literal["completed", "max-tokens", "blocked"]
"""How a turn ends that neither failed nor was aborted."""

_GOES_ON: Final[frozenset[Outcome]] = frozenset({"completed", "max-tokens"})
_ABORTED: Final = {"kind": "aborted"}  # LOG-EVT-03: who cancelled is not recorded


@dataclass(slots=True)
class Turn:
    """An open turn, as far as it has come.

    Attributes:
        number: Its number.
        signal: Its signal; one for the whole turn (CANCEL-SIGNAL-01).
        opened: The number of its last opened step, 0 before the first (LOOP-STEP-01).
        outcome: How it would close now; none while a follow-up request is owed.
    """

    number: int
    signal: CancelSignal
    opened: int = 0
    outcome: Outcome | None = None


class Driver:
    """The driver of one agent.

    Args:
        prompts: Assembles the prompts of its steps.
        snapshots: Tells when the model has to be told of its runtime context.
        requests: Makes the agent's model requests.
        scheduler: Runs the tool calls that the model asks for.
    """

    def __init__(
        self, prompts: SystemPrompt, snapshots: SnapshotProjection, requests: Requests, scheduler: Scheduler
    ) -> None:
        self._prompts = prompts
        self._snapshots = snapshots
        self._requests = requests
        self._scheduler = scheduler

    async def run(self, agent: DrivenAgent) -> None:
        """Drive an agent until nothing is left to do.

        Args:
            agent: The agent, whose phase is running.

        Cancellation:
            A cancellation of the task by its host aborts the open turn as `disposed`. The log is balanced and the
            agent idle when it goes on; a remembered wake is forgotten, what is pending stays.

        Spec:
            LOOP-NEXT-01, LOOP-NEXT-02, AGENT-STATUS-04, CANCEL-PHASE-01, CANCEL-BETWEEN-01, WAKE-GAP-01, LOOP-ISO-01,
            LIFE-DISP-13
        """
        try:
            while not agent.signal.aborted and await self._run_turn(agent):
                pass
        finally:
            if host_is_cancelling():
                agent.host_cancelled()
            agent.settle()

    async def _run_turn(self, agent: DrivenAgent) -> bool:
        """Open one turn, run its steps, close it; answer whether the run goes on.

        Spec:
            LOOP-OPEN-01, LOOP-OPEN-02, LOOP-OPEN-03, LOOP-ERR-03, LOOP-ERR-04, LOOP-APP-04, CANCEL-ERR-01,
            CANCEL-ERR-02, CANCEL-END-01, LOG-EVT-01, LOG-EVT-02, INV-TURN-01, INV-TURN-02, INV-TURN-03
        """
        session = agent.session
        turn = Turn(session.last_turn + 1, agent.signal)
        try:
            session.append("turn/start", {"turn": turn.number})  # LOG-EVT-01: no trigger
        except Exception as error:  # noqa: BLE001 - LOOP-OPEN-03: nothing was claimed, the number is not consumed
            agent.ctx.emit(AGENT_ERROR, AgentErrorRaised(agent, turn.number - 1, 0, error))
            return False
        leaving: BaseException | None = None
        may_go_on = False
        try:
            outcome = await self._run_steps(agent, turn)
            reason: object = {"kind": outcome}
            may_go_on = outcome in _GOES_ON and turn.opened > 0  # LOOP-NEXT-01, LOOP-NEXT-02
        except BaseException as failure:  # noqa: BLE001 - whatever it is, the turn is closed first
            if host_is_cancelling() or not isinstance(failure, (Exception, asyncio.CancelledError)):
                agent.host_cancelled()
                leaving = asyncio.CancelledError() if isinstance(failure, Exception) else failure
            reason = self._ending_of(agent, turn, failure)
        try:
            session.append("turn/end", {"turn": turn.number, "reason": reason})
        except Exception as error:  # noqa: BLE001 - LOOP-APP-04: the log keeps no ending
            may_go_on = False
            agent.ctx.emit(AGENT_ERROR, AgentErrorRaised(agent, turn.number, turn.opened, error))
        if leaving is not None:
            raise leaving
        return agent.turn_closed(may_go_on=may_go_on)

    def _ending_of(self, agent: DrivenAgent, turn: Turn, failure: BaseException) -> object:
        """Answer the reason of a turn that failed, and report the failure unless it is the abort.

        The ending is settled before the report: a listener that cancels does not change it (CANCEL-ERR-02).

        Spec:
            LOOP-ERR-01, LOOP-ERR-02, LOOP-ERR-03, CANCEL-ERR-01, CANCEL-ERR-02, LOG-EVT-03, LOG-EVT-04
        """
        if turn.signal.aborted:
            return _ABORTED
        agent.ctx.emit(AGENT_ERROR, AgentErrorRaised(agent, turn.number, turn.opened, failure))
        return {"kind": "error", "error": turn_failure(failure)}

    async def _run_steps(self, agent: DrivenAgent, turn: Turn) -> Outcome:
        """Propose and run steps until the turn is over; answer how it ends.

        Spec:
            LOOP-PRE-01, LOOP-PRE-05, LOOP-PRE-06, LOOP-PRE-07, LOOP-PRE-08, LOOP-PRE-09, LOOP-STEER-01, LOOP-STOP-01,
            LOOP-STOP-02, LOOP-STOP-03, LOOP-STOP-04, LOOP-ERR-05, LOOP-CONC-02, LOOP-END-03, CANCEL-PHASE-02,
            CANCEL-PHASE-03, CANCEL-PHASE-04, CANCEL-STOP-01, LIFE-DISP-14
        """
        inbox, signal = agent.inbox, turn.signal
        target: Target = "next-turn"
        while True:
            signal.raise_if_aborted()
            batch = inbox.claim(target, turn.number)  # CANCEL-KEEP-03: whatever follows, it is not put back
            assembly = await self._assemble(agent, signal)
            signal.raise_if_aborted()
            decision = await self._decide(agent, turn, batch, self._snapshots.due(assembly))
            signal.raise_if_aborted()
            if isinstance(decision, Reject):
                return "blocked"
            if not decision.messages:
                if turn.outcome is not None:
                    return turn.outcome  # LOOP-PRE-09: nothing is owed, and nothing was entered
                if turn.opened == 0:
                    return "completed"  # LOOP-PRE-08
                # LOOP-PRE-10: the model is owed a look at its tool results
            await self._run_step(agent, turn, decision.messages, assembly)
            signal.raise_if_aborted()
            target = "next-step"
            if turn.outcome is None or inbox.has_next_step:
                continue
            await agent.ctx.serial(AGENT_TURN_STOPPING, AgentTurnStopping(agent, turn.number, signal))
            signal.raise_if_aborted()
            if not inbox.has_next_step:  # LOOP-STOP-02: the inbox alone decides
                return turn.outcome

    async def _assemble(self, agent: DrivenAgent, signal: CancelSignal) -> Assembly:
        """Assemble the prompt of a proposal, and suspend: nothing later happens inside the call that woke the driver.

        Spec:
            REQ-PROMPT-01, REQ-PROMPT-02, PROMPT-ASM-04, AGENT-SEND-07
        """
        failure: BaseException | None = None
        assembly = Assembly()
        try:
            assembly = await self._prompts.assemble(AssembleContext(scope=agent, agent=agent, signal=signal))
        except BaseException as error:
            if not is_contained(error):
                raise
            failure = error
        await asyncio.sleep(0)
        if failure is not None:
            raise failure
        return assembly

    async def _decide(
        self, agent: DrivenAgent, turn: Turn, batch: tuple[JsonObject, ...], snapshot: JsonObject | None
    ) -> PreStepDecision:
        """Ask the listeners what the proposed step enters.

        Args:
            agent: Whose step it is.
            turn: The open turn.
            batch: What was claimed for it.
            snapshot: What the model has to be told of its runtime context; at the end of the default batch alone.

        Spec:
            LOOP-PRE-02, LOOP-PRE-03, LOOP-PRE-04, LOOP-PRE-11, LOOP-STEP-01, PROMPT-SNAP-01, PROMPT-SNAP-07
        """

        async def enter_all() -> PreStepDecision:
            return Enter(batch if snapshot is None else (*batch, snapshot))

        proposal = AgentPreStep(agent, turn.number, turn.opened + 1, batch, turn.signal)
        answer = agent.ctx.waterfall(AGENT_PRE_STEP, proposal, enter_all)
        decision: object = await answer
        match decision:
            case Reject():
                return decision
            case Enter(messages=list() | tuple()):
                return decision
            case _:  # LOOP-PRE-11
                raise TypeError(f"agent/pre-step was answered with {decision!r}: answer Enter(messages) or Reject()")

    async def _run_step(self, agent: DrivenAgent, turn: Turn, entered: Sequence[object], assembly: Assembly) -> None:
        """Open a step over its entered messages, run it, close it.

        Spec:
            LOOP-PRE-01, LOOP-PRE-03, LOOP-STEP-01, LOOP-APP-01, LOOP-APP-02, LOOP-APP-03, LOOP-END-02,
            CANCEL-PHASE-05, LOG-EVT-06, LOG-EVT-07, INV-STEP-01, INV-STEP-02
        """
        session = agent.session
        place = {"turn": turn.number, "step": turn.opened + 1}
        session.append("step/start", place)
        turn.opened += 1
        outcome: Outcome | None = None
        try:
            for message in entered:  # CANCEL-PHASE-05: an abort does not cut the batch; LOG-EVT-06: each as it is
                # MSG-SHAPE-01, MSG-SRC-01, MSG-BLOCK-01: whole, whatever it has that nobody here knows
                session.append("user/message", message, surface_op="append")
            turn.signal.raise_if_aborted()
            outcome = await self._answer(agent, turn, assembly)
        finally:
            session.append("step/end", place)  # LOOP-APP-03: a refusal is the turn's failure
        if turn.outcome != "max-tokens":  # LOOP-END-02, LOOP-END-03
            turn.outcome = outcome

    async def _answer(self, agent: DrivenAgent, turn: Turn, assembly: Assembly) -> Outcome | None:
        """Get the model's answer, log it, and do what it asks for; answer the step's outcome, if it has one.

        Spec:
            REQ-PROMPT-01, REQ-PROMPT-02, RERR-RETRY-01, RERR-RETRY-02, RERR-RETRY-03, RERR-TERM-01, RERR-TERM-02,
            LOOP-MSG-01, LOOP-MSG-02, LOOP-END-01, LOOP-CONC-01, CANCEL-MSG-01
        """
        prompt = Prompt(render_system(assembly), tuple(assembly.tools))
        place = (agent, turn.number, turn.opened, turn.signal)
        while isinstance(attempt := await self._requests.attempt(*place, prompt), Failed):
            if not await self._may_retry(agent, turn, attempt):
                raise LlmError.from_facts(attempt.failure)
        agent.session.append(
            "assistant/message",
            attempt.data,
            surface_op="append",
            source_event_seqs=attempt.chunk_seqs,
        )
        if attempt.ceiling:
            return "max-tokens"
        calls = calls_of(attempt.message)
        if not calls:
            return "completed"
        concluded = await self._scheduler.run(*place, calls)
        return "completed" if concluded else None

    async def _may_retry(self, agent: DrivenAgent, turn: Turn, attempt: Failed) -> bool:
        """Ask the listeners whether a failed request is made again.

        Spec:
            RERR-WHEN-01, RERR-POS-01, RERR-PAY-01, RERR-CANCEL-01, RERR-THROW-01, CANCEL-RERR-01
        """

        async def give_up() -> RequestErrorAction:
            return None

        hook = AgentRequestError(
            agent, turn.number, turn.opened, attempt.provider, attempt.failure, attempt.retry_policy, turn.signal
        )
        action = await agent.ctx.waterfall(AGENT_REQUEST_ERROR, hook, give_up)
        turn.signal.raise_if_aborted()
        return isinstance(action, Retry)
