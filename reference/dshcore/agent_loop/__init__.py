"""The agent loop: the phase machine, the driver, model requests, creation and teardown of agents."""

from dshcore.agent_loop.creation import AGENT_LOOP, AgentLoop, CreationAborted, LoopInactive, LoopMisconfigured
from dshcore.agent_loop.request import InvalidMaxTokens, NoRoute

__all__ = [
    "AGENT_LOOP",
    "AgentLoop",
    "CreationAborted",
    "InvalidMaxTokens",
    "LoopInactive",
    "LoopMisconfigured",
    "NoRoute",
]
