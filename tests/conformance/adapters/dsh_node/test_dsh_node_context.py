"""The adapter of the published packages knows owners, scopes and contexts."""

import pytest
from tests.conformance.adapters.context_session import check_kinds, check_operations
from tests.conformance.adapters.dsh_node.talk import message, told, with_agent

from dshconform.links.link import AdapterFault
from dshconform.links.subprocess import SubprocessLink

pytestmark = pytest.mark.node


def test_every_operation(dsh_node_process: SubprocessLink) -> None:
    """Every operation is executed, and answers what the table says."""
    check_operations(dsh_node_process.call)


def test_every_kind(dsh_node_process: SubprocessLink) -> None:
    """Every kind of call is seen with its fields."""
    check_kinds(dsh_node_process.call)


def test_an_owner_lives_in_a_whole_composition(dsh_node: SubprocessLink) -> None:
    """What an owner registers in a composition ends with it."""
    with_agent(dsh_node)
    dsh_node.call("owner.open", {"owner": "p"})
    dsh_node.call("listen", {"as": "l", "in": "p", "event": "agent/inbox/inserted", "fn": {"$fn": "heard"}})
    heard = "script agent/inbox/inserted"
    assert heard in told(dsh_node.call("agent.inject", {"agent": "a", "message": message("A")}))
    dsh_node.call("owner.close", {"owner": "p", "task": "t"})
    assert heard not in told(dsh_node.call("agent.inject", {"agent": "a", "message": message("B")}))


@pytest.mark.parametrize(
    ("op", "args", "problem"),
    [
        ("owner.state", {"owner": "nobody"}, 'there is no owner "nobody"'),
        ("ctx.get", {"key": "k", "in": "nowhere"}, 'there is no context "nowhere"'),
        ("scope.close", {"task": "t", "scope": "root"}, '"root" is no scope'),
        ("scope.rebind", {"of": "nothing", "parent": "p"}, 'there is no binding "nothing"'),
        ("dispatch", {"mode": "emit", "event": "ping", "to": "nobody"}, 'there is no target "nobody"'),
        ("service.view", {"service": "none"}, 'there is no service "none"'),
    ],
)
def test_a_name_that_stands_for_nothing_is_a_fault(
    installation: object, op: str, args: dict[str, str], problem: str
) -> None:
    """It is the suite's mistake, and no observation."""
    from dshconform.adapters.dsh_node.install import Installation

    assert isinstance(installation, Installation)
    with SubprocessLink(installation.command) as link:
        link.call("world.open", {"config": {"bare": True}})
        with pytest.raises(AdapterFault, match=problem):
            link.call(op, args)
