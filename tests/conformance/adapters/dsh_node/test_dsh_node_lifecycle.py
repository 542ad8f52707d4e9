"""The adapter of the published packages has the operations of the profile `lifecycle`, and their edges."""

from typing import Any

import pytest
from tests.conformance.adapters.lifecycle_judging import judge_lifecycle_session

from dshconform.links.subprocess import SubprocessLink

pytestmark = pytest.mark.node


def test_every_operation_and_kind(dsh_node_process: SubprocessLink) -> None:
    """Each operation is executed, and each kind of call is made with its fields."""
    judge_lifecycle_session(dsh_node_process)


def test_a_world_that_cannot_end_is_left(dsh_node_process: SubprocessLink) -> None:
    """What waits for ever keeps nobody from the next world."""
    call = dsh_node_process.call
    call("world.open")
    call("agent.create", {"task": "t", "agent": "a"})
    call("effect", {"as": "e", "in": {"agent": "a"}, "undo": {"$fn": "slow", "do": "gate"}})
    call("initiator.run", {"agent": "a", "task": "held", "fn": {"$fn": "held", "do": "gate"}})
    message = {"id": "A", "role": "user", "content": [{"type": "text", "text": "A"}], "source": {"kind": "user"}}
    do: list[Any] = [
        {"op": "world.unload", "args": {"task": "u", "part": "agents"}},
        {"op": "agent.followup", "args": {"agent": "a", "message": message}},
    ]
    call("burst", {"do": do})
    assert call("world.close").result is None
    assert call("world.open").result is None
