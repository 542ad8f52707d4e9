"""The part of the session of `test_dsh_node_table` that the profile `session` has, and what its operations answer."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dshconform.protocol.json_value import Json

NOTE: Final = {"type": "x/note", "seq": 0, "time": 1, "data": {}}

SESSION_COMMANDS: Final[Sequence[tuple[str, dict[str, Any]]]] = [
    ("session.create", {"session": "s", "id": "s"}),
    ("session.refuse", {"session": "s", "when": {"type": "x/other"}}),
    ("session.prepare", {"session": "p", "id": "p", "seed": []}),
    ("session.enter", {"session": "p", "as": "leave"}),
    ("session.announce", {"session": "p"}),
    ("session.get", {"id": "p"}),
    ("session.list", {}),
    ("session.fork", {"source": {"id": "p"}, "session": "f", "id": "f"}),
    ("session.flush", {"task": "t", "session": "p"}),
    (
        "session.restore",
        {"session": "r", "id": "r", "header": {"version": 0, "id": "r", "createdAt": 1}, "events": [NOTE]},
    ),
]
"""Every operation of the profile."""

SESSION_RESULTS: Final[Mapping[str, Json]] = {
    "session.create": "s",
    "session.prepare": "p",
    "session.get": "p",
    "session.list": ["s", "p"],
    "session.fork": "f",
    "session.restore": "r",
}
"""What they answer, where it says something."""
