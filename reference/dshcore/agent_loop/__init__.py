"""The agent loop: the phase machine, the driver, model requests, creation and teardown of agents."""

from dshcore.agent_loop.configured import (
    CONFIG_START_FAILED,
    ConfigStartFailed,
    ConfiguredAgent,
    ConfiguredAgents,
    FixedIdentity,
    settle_identities,
)
from dshcore.agent_loop.creation import (
    AGENT_LOOP,
    AgentLoop,
    InvalidSessionId,
    LoopMisconfigured,
    PersistenceMissing,
)
from dshcore.agent_loop.creation_ends import CreationAborted, LoopInactive
from dshcore.agent_loop.life import ForeignLoop
from dshcore.agent_loop.request import InvalidMaxTokens, NoRoute

__all__ = [
    "AGENT_LOOP",
    "CONFIG_START_FAILED",
    "AgentLoop",
    "ConfigStartFailed",
    "ConfiguredAgent",
    "ConfiguredAgents",
    "CreationAborted",
    "FixedIdentity",
    "ForeignLoop",
    "InvalidMaxTokens",
    "InvalidSessionId",
    "LoopInactive",
    "LoopMisconfigured",
    "NoRoute",
    "PersistenceMissing",
    "settle_identities",
]
