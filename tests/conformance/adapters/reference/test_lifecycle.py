"""The adapter of the reference has the operations of the profile `lifecycle`, and says what it cannot do."""

import re
from typing import Any

import pytest
from tests.conformance.adapters.lifecycle_judging import judge_lifecycle_session

from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.links.in_process import InProcessLink
from dshconform.links.link import AdapterFault


def test_every_operation_and_kind() -> None:
    """Each operation is executed, and each kind of call is made with its fields."""
    with InProcessLink(ReferenceAdapter(), typed=True) as link:
        judge_lifecycle_session(link)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"agents": "a"}, "`agents` must be a list"),
        ({"agents": [{"label": "a"}]}, "is none: an object with some of cwd, id"),
        ({"identities": []}, "`identities` must go from label to identity"),
        ({"persistence": {"kind": "stub", "load": 5}}, "persistence: 'load' must be a function"),
        ({"colour": "red"}, "config 'colour' is not offered"),
        ({"without": ["loft"]}, "config 'without' must list parts"),
    ],
)
def test_a_configuration_that_cannot_be(config: dict[str, Any], problem: str) -> None:
    """The suite is told which member is wrong."""
    with InProcessLink(ReferenceAdapter()) as link, pytest.raises(AdapterFault, match=re.escape(problem)):
        link.call("world.open", {"config": config})


@pytest.mark.parametrize(
    ("op", "args", "problem"),
    [
        ("world.unload", {"task": "t", "part": "loop"}, "'loop' is not loaded"),
        ("initiator.current", {}, "there has been no registry of agents"),
    ],
)
def test_parts_and_registries_that_are_not_there(op: str, args: dict[str, Any], problem: str) -> None:
    """A part that is not loaded cannot be unloaded, and without a registry nothing can be read from it."""
    with InProcessLink(ReferenceAdapter()) as link:
        link.call("world.open", {"config": {"bare": True}})
        with pytest.raises(AdapterFault, match=problem):
            link.call(op, args)


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("agent.followup", {"agent": "x", "message": {}}),
        ("agent.cancel", {"agent": "x", "cause": {"kind": "user"}}),
        ("agent.maintain", {"task": "t", "agent": "x", "fn": {"$fn": "f"}}),
        ("inbox.clear", {"agent": "x"}),
    ],
)
def test_nothing_drives_a_stub(op: str, args: dict[str, Any]) -> None:
    """A stub has an id, a session and a scope, and refuses everything else."""
    with InProcessLink(ReferenceAdapter()) as link:
        link.call("world.open")
        link.call("session.prepare", {"session": "s", "id": "x"})
        link.call("registry.stub", {"agent": "x", "id": "x", "session": "s"})
        error = link.call(op, args).error
        assert isinstance(error, dict)
        assert error["message"] == "'x' is a stub: nothing drives it"
