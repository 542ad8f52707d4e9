"""Faults of the driver: what it makes of the answers of its hooks, and how it tells of a turn's end."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any, Final, TypeAlias

from dshconform.faults.fault import Fault, replaced
from dshcore.agent import AGENT_ERROR, AgentErrorRaised, AgentTurnStopping, Enter, PreStepDecision
from dshcore.agent_loop import driver, request
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.driver import Driver, Turn
from dshcore.agent_loop.request import Failed, Requests
from dshcore.cancel_signal import Aborted
from dshcore.events import Serial
from dshcore.json import JsonObject, freeze
from dshcore.llm import CallConfig, LlmError, turn_failure

Rest: TypeAlias = Any
"""The rest of a signature, passed on: a fault is about its clause, not about how the driver is built."""

_decide: Final[Callable[..., Awaitable[PreStepDecision]]] = Driver._decide  # noqa: SLF001 - faults are planted inside
_may_retry: Final = Driver._may_retry  # noqa: SLF001
_run_step: Final[Callable[..., Awaitable[None]]] = Driver._run_step  # noqa: SLF001
_run_steps: Final = Driver._run_steps  # noqa: SLF001
_turn_closed: Final = DrivenAgent.turn_closed

_NOBODY_LISTENS: Final = Serial[AgentTurnStopping, None]("nobody/listens", first_value_wins=False)


async def _enter_in_doubt(
    self: Driver, agent: DrivenAgent, turn: Turn, batch: tuple[JsonObject, ...], *rest: Rest
) -> PreStepDecision:
    try:
        return await _decide(self, agent, turn, batch, *rest)
    except TypeError:
        return Enter(batch)


async def _enter_what_was_claimed(
    self: Driver, agent: DrivenAgent, turn: Turn, batch: tuple[JsonObject, ...], *rest: Rest
) -> PreStepDecision:
    decision = await _decide(self, agent, turn, batch, *rest)
    return Enter(batch) if isinstance(decision, Enter) and decision.messages else decision


async def _outcome_first(self: Driver, agent: DrivenAgent, turn: Turn) -> driver.Outcome:
    outcome = await _run_steps(self, agent, turn)
    return turn.outcome or outcome


async def _forget_the_ceiling(self: Driver, agent: DrivenAgent, turn: Turn, *rest: Rest) -> None:
    turn.outcome = None
    await _run_step(self, agent, turn, *rest)


async def _retry_in_spite_of_an_abort(self: Driver, agent: DrivenAgent, turn: Turn, attempt: Failed) -> bool:
    try:
        return await _may_retry(self, agent, turn, attempt)
    except Aborted:
        return True


async def _ignore_a_failing_recovery(self: Driver, agent: DrivenAgent, turn: Turn, attempt: Failed) -> bool:
    try:
        return await _may_retry(self, agent, turn, attempt)
    except Exception:  # noqa: BLE001 - that is the fault
        return False


def _always_an_error(self: Driver, agent: DrivenAgent, turn: Turn, failure: BaseException) -> object:
    del self
    agent.ctx.emit(AGENT_ERROR, AgentErrorRaised(agent, turn.number, turn.opened, failure))
    return {"kind": "error", "error": turn_failure(failure)}


def _error_of_the_next_step(agent: DrivenAgent, turn: int, step: int, error: BaseException) -> AgentErrorRaised:
    return AgentErrorRaised(agent, turn, step + 1, error)


def _trust_any_code(error: BaseException) -> JsonObject:
    code = getattr(error, "code", None)
    failure = turn_failure(error)
    return freeze({**failure, "code": code}) if isinstance(code, str) else failure


def _leave_out_causes(error: BaseException) -> JsonObject:
    return turn_failure(error) if isinstance(error, LlmError) else freeze({"message": str(error), "code": "UNKNOWN"})


def _go_on_whatever_happened(self: DrivenAgent, *, may_go_on: bool) -> bool:
    del may_go_on
    return _turn_closed(self, may_go_on=True)


def _propose_the_options(self: Requests) -> CallConfig:
    options = self._options
    return CallConfig(provider=options.provider or "", model=options.model or "", max_tokens=options.max_tokens)


class _Nobody:
    """A class without instances."""


def _of_driver(**members: object) -> AbstractContextManager[None]:
    return replaced(Driver, members)


def _of_module(**members: object) -> AbstractContextManager[None]:
    return replaced(driver, members)


TURN_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "missing-decision-means-enter",
        "LOOP-PRE-11",
        "A pre-step answer that is no decision enters the claimed batch.",
        lambda: _of_driver(_decide=_enter_in_doubt),
    ),
    Fault(
        "decision-is-only-yes-or-no",
        "LOOP-PRE-03",
        "Whatever messages a decision names, the claimed batch is entered.",
        lambda: _of_driver(_decide=_enter_what_was_claimed),
    ),
    Fault(
        "later-rejection-keeps-the-outcome",
        "LOOP-PRE-06",
        "A rejected later proposal closes the turn with the outcome that it had.",
        lambda: _of_driver(_run_steps=_outcome_first),
    ),
    Fault(
        "rejection-goes-on",
        "LOOP-PRE-07",
        "After a rejected later proposal the driver goes on with the next queued message.",
        lambda: _of_module(_GOES_ON=frozenset({"completed", "max-tokens", "blocked"})),
    ),
    Fault(
        "stop-is-not-asked",
        "LOOP-STOP-01",
        "A turn closes without agent/turn-stopping.",
        lambda: _of_module(AGENT_TURN_STOPPING=_NOBODY_LISTENS),
    ),
    Fault(
        "ceiling-is-forgotten",
        "LOOP-END-02",
        "The last step's outcome decides, although an earlier one hit the ceiling.",
        lambda: _of_driver(_run_step=_forget_the_ceiling),
    ),
    Fault(
        "failed-turn-goes-on",
        "LOOP-NEXT-02",
        "After a failed turn the driver continues with what is queued.",
        lambda: replaced(DrivenAgent, {"turn_closed": _go_on_whatever_happened}),
    ),
    Fault(
        "any-code-is-recorded",
        "LOOP-ERR-01",
        "The own code of an error that is no model error is recorded.",
        lambda: _of_module(turn_failure=_trust_any_code),
    ),
    Fault(
        "causes-are-left-out",
        "LOOP-ERR-02",
        "Only the outermost message of a failure is kept.",
        lambda: _of_module(turn_failure=_leave_out_causes),
    ),
    Fault(
        "error-names-the-next-step",
        "LOOP-ERR-03",
        "agent/error tells of a step that was not opened.",
        lambda: _of_module(AgentErrorRaised=_error_of_the_next_step),
    ),
    Fault(
        "cancellation-is-an-error",
        "CANCEL-ERR-01",
        "A turn that fails while its signal is aborted ends as an error.",
        lambda: _of_driver(_ending_of=_always_an_error),
    ),
    Fault(
        "every-failure-is-retried",
        "RERR-TERM-01",
        "Whatever recovery answers, the request is made again.",
        lambda: _of_module(Retry=object),
    ),
    Fault(
        "no-failure-is-retried",
        "RERR-RETRY-01",
        "A retry is taken for any other answer.",
        lambda: _of_module(Retry=_Nobody),
    ),
    Fault(
        "failing-recovery-is-ignored",
        "RERR-THROW-01",
        "A recovery listener's own failure is swallowed, and that of the request reported.",
        lambda: _of_driver(_may_retry=_ignore_a_failing_recovery),
    ),
    Fault(
        "retry-wins-over-an-abort",
        "RERR-CANCEL-01",
        "A cancel during recovery does not keep the request from being prepared again.",
        lambda: _of_driver(_may_retry=_retry_in_spite_of_an_abort),
    ),
    Fault(
        "every-request-starts-from-the-options",
        "REQ-SEED-02",
        "What a listener made of an earlier request is forgotten.",
        lambda: replaced(Requests, {"_proposal": _propose_the_options}),
    ),
    Fault(
        "header-for-every-request",
        "REQ-HEAD-02",
        "A header is logged although nothing has changed.",
        lambda: replaced(request, {"header_equals": lambda *_: False}),
    ),
)
"""Each is a wrong implementation that the *violation* of its clause describes; the turn machine finds it."""
