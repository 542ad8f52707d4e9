"""Named faults of the reference: they show that the checks can fail, and for the right reason."""

from typing import Final

from dshconform.faults.answers import ANSWER_FAULTS
from dshconform.faults.assemblies import ASSEMBLY_FAULTS
from dshconform.faults.cancel_calls import CANCEL_CALL_FAULTS
from dshconform.faults.cancelled_calls import CANCELLED_CALL_FAULTS
from dshconform.faults.cancelled_streams import CANCELLED_STREAM_FAULTS
from dshconform.faults.cancelled_turns import CANCELLED_TURN_FAULTS
from dshconform.faults.configured_agents import CONFIGURED_AGENT_FAULTS
from dshconform.faults.containment import CONTAINMENT_FAULTS
from dshconform.faults.contexts import CONTEXT_FAULTS
from dshconform.faults.creations import CREATION_FAULTS
from dshconform.faults.dispatches import DISPATCH_FAULTS
from dshconform.faults.effects import EFFECT_FAULTS
from dshconform.faults.endings import ENDING_FAULTS
from dshconform.faults.fault import Fault
from dshconform.faults.handle import HANDLE_FAULTS
from dshconform.faults.inbox import INBOX_FAULTS
from dshconform.faults.initiators import INITIATOR_FAULTS
from dshconform.faults.latch import LATCH_FAULTS
from dshconform.faults.lifecycle import LIFECYCLE_FAULTS
from dshconform.faults.listeners import LISTENER_FAULTS
from dshconform.faults.llm_calls import LLM_CALL_FAULTS
from dshconform.faults.llm_streams import LLM_STREAM_FAULTS
from dshconform.faults.pending import PENDING_FAULTS
from dshconform.faults.pipeline import PIPELINE_FAULTS
from dshconform.faults.prompts import PROMPT_FAULTS
from dshconform.faults.proposals import PROPOSAL_FAULTS
from dshconform.faults.record import RECORD_FAULTS
from dshconform.faults.refused_appends import REFUSED_APPEND_FAULTS
from dshconform.faults.registrations import REGISTRATION_FAULTS
from dshconform.faults.rendered_prompts import RENDERING_FAULTS
from dshconform.faults.requests import REQUEST_FAULTS
from dshconform.faults.rollbacks import ROLLBACK_FAULTS
from dshconform.faults.scheduling import SCHEDULING_FAULTS
from dshconform.faults.schemas import SCHEMA_FAULTS
from dshconform.faults.scopes import SCOPE_FAULTS
from dshconform.faults.session_enforcement import SESSION_ENFORCEMENT_FAULTS
from dshconform.faults.session_log import SESSION_LOG_FAULTS
from dshconform.faults.session_seeds import SESSION_SEED_FAULTS
from dshconform.faults.session_store import SESSION_STORE_FAULTS
from dshconform.faults.session_surface import SESSION_SURFACE_FAULTS
from dshconform.faults.teardowns import TEARDOWN_FAULTS
from dshconform.faults.tool_calls import TOOL_CALL_FAULTS
from dshconform.faults.tool_contract import TOOL_CONTRACT_FAULTS
from dshconform.faults.tool_pipeline import TOOL_PIPELINE_FAULTS
from dshconform.faults.tool_policy import TOOL_POLICY_FAULTS
from dshconform.faults.tool_registry import TOOL_REGISTRY_FAULTS
from dshconform.faults.tool_results import TOOL_RESULT_FAULTS
from dshconform.faults.turn import TURN_FAULTS
from dshconform.faults.wakes import SPENT_WAKE_FAULTS, WAKE_FAULTS
from dshconform.faults.work import WORK_FAULTS

FAULTS: Final[tuple[Fault, ...]] = (*INBOX_FAULTS, *LATCH_FAULTS)
"""Those that the inbox machine finds."""

SCENARIO_FAULTS: Final[tuple[Fault, ...]] = (
    *HANDLE_FAULTS,
    *PENDING_FAULTS,
    *CANCEL_CALL_FAULTS,
    *CANCELLED_TURN_FAULTS,
    *CANCELLED_STREAM_FAULTS,
    *WAKE_FAULTS,
    *PROPOSAL_FAULTS,
    *ENDING_FAULTS,
    *CONTAINMENT_FAULTS,
    *REQUEST_FAULTS,
    *ANSWER_FAULTS,
    *TOOL_CALL_FAULTS,
    *TOOL_CONTRACT_FAULTS,
    *SCHEMA_FAULTS,
    *TOOL_REGISTRY_FAULTS,
    *TOOL_POLICY_FAULTS,
    *TOOL_PIPELINE_FAULTS,
    *TOOL_RESULT_FAULTS,
    *RECORD_FAULTS,
    *REFUSED_APPEND_FAULTS,
    *LISTENER_FAULTS,
    *LIFECYCLE_FAULTS,
    *CREATION_FAULTS,
    *TEARDOWN_FAULTS,
    *REGISTRATION_FAULTS,
    *INITIATOR_FAULTS,
    *CONFIGURED_AGENT_FAULTS,
    *WORK_FAULTS,
    *CONTEXT_FAULTS,
    *EFFECT_FAULTS,
    *DISPATCH_FAULTS,
    *SCOPE_FAULTS,
    *LLM_STREAM_FAULTS,
    *LLM_CALL_FAULTS,
    *PROMPT_FAULTS,
    *ASSEMBLY_FAULTS,
    *RENDERING_FAULTS,
    *SESSION_LOG_FAULTS,
    *SESSION_SURFACE_FAULTS,
    *SESSION_STORE_FAULTS,
    *SESSION_SEED_FAULTS,
    *SESSION_ENFORCEMENT_FAULTS,
)
"""Those that a scenario, or a cell of a table, finds: by the clause itself, or by an invariant that has it."""

_OF_MACHINES: Final = (
    *SPENT_WAKE_FAULTS,
    *CANCELLED_CALL_FAULTS,
    *TURN_FAULTS,
    *SCHEDULING_FAULTS,
    *PIPELINE_FAULTS,
    *ROLLBACK_FAULTS,
)
_EVERY: Final = (*FAULTS, *SCENARIO_FAULTS, *_OF_MACHINES)
ALL_FAULTS: Final[tuple[Fault, ...]] = tuple({fault.id: fault for fault in _EVERY}.values())
"""All of them, each once; whoever tries one asks every check that cites its clause."""


def faults_of(clause: str) -> list[Fault]:
    """Every fault that violates a clause."""
    return [fault for fault in ALL_FAULTS if fault.clause == clause]


__all__ = [
    "ALL_FAULTS",
    "FAULTS",
    "PIPELINE_FAULTS",
    "ROLLBACK_FAULTS",
    "SCENARIO_FAULTS",
    "SCHEDULING_FAULTS",
    "TURN_FAULTS",
    "Fault",
    "faults_of",
]
