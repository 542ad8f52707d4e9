"""A session in which every operation of the profile `llm` occurs."""

from collections.abc import Mapping, Sequence
from typing import Final

from tests.conformance.adapters.dsh_node.talk import SPEAKS, Command

from dshconform.protocol.json_value import Json

REQUEST: Final[Command] = {"provider": "q", "model": "m1", "messages": []}

LLM_SESSION: Final[Sequence[tuple[str, Command]]] = [
    ("world.open", {}),
    ("model.register", {"as": "m", "routes": ["p"], "stream": SPEAKS, "models": {"$fn": "models"}}),
    ("model.replace", {"of": "m", "routes": ["q"]}),
    ("model.providers", {}),
    ("model.models", {"task": "t", "provider": "q"}),
    ("model.info", {"task": "t", "provider": "q", "model": "m1"}),
    ("llm.prepare", {"task": "t", "call": "c", "config": {"provider": "q", "model": "m1"}}),
    ("llm.stream", {"stream": "s", "call": "c", "request": REQUEST}),
    ("llm.pull", {"task": "t", "stream": "s"}),
    ("llm.close", {"task": "t", "stream": "s"}),
    ("llm.error", {"message": "busy", "code": "RATE_LIMIT", "status": 429}),
    ("agent.create", {"task": "t", "agent": "a", "options": {"provider": "q", "model": "m1"}}),
    ("model.select", {"agent": "a", "as": "sel", "selection": {"provider": "q", "model": "m2"}}),
    ("world.close", {}),
]

LLM_RESULTS: Final[Mapping[str, Json]] = {
    "model.providers": [{"id": "q", "name": "q"}],
    "llm.error": {"code": "RATE_LIMIT", "failure": {"message": "busy", "code": "RATE_LIMIT", "status": 429}},
}
"""What the operations answer whose result says something."""
