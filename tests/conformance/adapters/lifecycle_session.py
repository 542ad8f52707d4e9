"""A session in which every operation of the profile `lifecycle` occurs, and every kind of call that it leads to."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dshconform.protocol.json_value import Json

STORED: Final = {"header": {"version": 0, "id": "old", "createdAt": 1}, "events": []}
LOAD: Final[dict[str, Any]] = {
    "$fn": "load",
    "calls": [[{"do": "throw", "error": {"$error": {"message": "no"}}}], [{"do": "return", "value": STORED}]],
}
READS: Final[dict[str, Any]] = {"$fn": "reads", "do": [{"op": "initiator.current"}, {"op": "initiator.require"}]}
CREATES: Final[dict[str, Any]] = {"$fn": "creates", "do": [{"do": "return", "value": {"stub": "x"}}]}

LIFECYCLE_SESSION: Final[Sequence[tuple[str, dict[str, Any]]]] = [
    ("world.open", {"config": {"without": ["loop"]}}),
    ("listen", {"as": "failed", "event": "agent-loop/config-start-failed", "fn": {"$fn": "failed"}}),
    (
        "world.load",
        {
            "task": "t",
            "part": "persistence",
            "config": {"load": LOAD, "list": {"$fn": "list"}, "release": {"$fn": "release"}},
        },
    ),
    (
        "world.load",
        {
            "task": "t",
            "part": "loop",
            "config": {"agents": [{"id": "label", "sessionId": "z"}, {"id": "other", "resumeSessionId": "lost"}]},
        },
    ),
    ("agent.resume", {"task": "t", "agent": "old"}),
    ("agent.create", {"agent": "now", "sync": True}),
    ("session.prepare", {"session": "s", "id": "x"}),
    ("registry.stub", {"agent": "x", "id": "x", "session": "s"}),
    ("registry.enter", {"agent": "x", "as": "leave", "owner": "old"}),
    ("registry.owns", {"id": "x", "owner": "old"}),
    ("registry.announce", {"agent": "x"}),
    ("undo", {"of": "leave"}),
    ("registry.register", {"agent": "x", "as": "registered"}),
    ("initiator.current", {}),
    ("initiator.run", {"agent": "x", "fn": READS}),
    ("ctx.value", {"name": "agent", "in": {"agent": "old"}}),
    ("world.unload", {"task": "t", "part": "loop"}),
    ("registry.setFactory", {"as": "factory", "create": CREATES, "resume": {"$fn": "resumes"}}),
    ("agent.create", {"task": "t", "agent": "made"}),
    ("world.close", {}),
]
"""What is resumed is answered by the second load: the first one fails, and that is announced."""

LIFECYCLE_RESULTS: Final[Mapping[str, Json]] = {
    "registry.owns": True,
    "initiator.require": "x",
    "ctx.value": "old",
}
"""What they answer, where it says something."""

LIFECYCLE_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "factory": frozenset({"owner", "op", "options"}),
    "boundary": frozenset(),
    "store/load": frozenset({"session", "signal"}),
    "store/list": frozenset(),
    "store/release": frozenset({"session"}),
    "agent-loop/config-start-failed": frozenset({"sessionId", "error"}),
}
"""The kinds of calls that occur, with their fields."""
