"""What scopes inherit, and how restrictions narrow it."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.toolbox import Toolbox, error_of
from tests.reference.world import World
from typeguard import suppress_type_checks

from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.scope import bind_scope_parent
from dshcore.tools import TOOLS_CHANGE, InvalidRestriction, ToolCallRequest


class Key:
    """A scope."""


@pytest.fixture
def chain() -> tuple[Key, Key, Key]:
    """A scope, the one around it, and the one around that."""
    child, parent, grandparent = Key(), Key(), Key()
    bind_scope_parent(child, parent)
    bind_scope_parent(parent, grandparent)
    return child, parent, grandparent


def scoped(world: World, key: object) -> Context:
    """A context of a scope."""
    return world.run(lambda: world.root.open(scope=key))


def names(tools: Toolbox, scope: object | None = None) -> str:
    return " ".join(schema["name"] for schema in tools.tools.schemas(scope))


def restrict(world: World, tools: Toolbox, owner: Context, **lists: Any) -> Callable[[], object]:
    disposer: Callable[[], object] = world.run(lambda: tools.tools.restrict(owner, **lists))
    return disposer


def test_the_nearest_definition_of_a_chain_counts(world: World, tools: Toolbox, chain: tuple[Key, Key, Key]) -> None:
    """Every name of the scopes around is inherited (TOOL-SCOPE-03)."""
    child, parent, grandparent = chain
    tools.add("g", lambda *_: "global")
    tools.add("t", lambda *_: "grandparent", owner=scoped(world, grandparent))
    tools.add("only", lambda *_: "grandparent", owner=scoped(world, grandparent))
    tools.add("t", lambda *_: "parent", owner=scoped(world, parent))
    assert names(tools, child) == "g t only"
    values = [tools.execute("t", scope=scope) for scope in (child, parent, grandparent)]
    assert [result.is_error or result.value for result in values] == ["parent", "parent", "grandparent"]
    assert error_of(tools.execute("only")).message == 'unknown tool "only"'


def test_a_restriction_filters_every_scope_below(world: World, tools: Toolbox, chain: tuple[Key, Key, Key]) -> None:
    """Those above and beside it are not concerned (RESTRICT-CHAIN-01)."""
    child, parent, grandparent = chain
    sibling = Key()
    bind_scope_parent(sibling, parent)
    tools.add("web")
    tools.add("bash")
    restrict(world, tools, scoped(world, parent), deny=["web"])
    restrict(world, tools, scoped(world, child), deny=["bash"])
    seen = [names(tools, scope) for scope in (grandparent, parent, sibling, child)]
    assert seen == ["web bash", "bash", "bash", ""]


def test_what_is_own_in_one_scope_is_inherited_below(world: World, tools: Toolbox, chain: tuple[Key, Key, Key]) -> None:
    """There it is subject to the restrictions of its own scope as well (RESTRICT-CHAIN-02)."""
    child, parent, _ = chain
    tools.add("g")
    tools.add("h")
    restrict(world, tools, scoped(world, parent), allow=["g"])
    tools.add("own", owner=scoped(world, parent))
    assert names(tools, parent) == "g own"
    assert names(tools, child) == "g"
    assert tools.tools.get("own", child) is None
    assert tools.tools.get("own", parent) is not None


def test_a_restriction_is_a_snapshot_of_its_lists(world: World, tools: Toolbox) -> None:
    """Changing a list afterwards changes nothing; what is registered later is subject to it (RESTRICT-SET-04)."""
    key, denied = Key(), ["web"]
    tools.add("web")
    tools.add("bash")
    lift = restrict(world, tools, scoped(world, key), deny=denied)
    denied.append("bash")
    assert names(tools, key) == "bash"
    world.run(lift)
    assert names(tools, key) == "web bash"
    restrict(world, tools, scoped(world, key), allow=["bash"])
    tools.add("late")
    assert names(tools, key) == "bash"


def test_a_hidden_tool_is_not_there(world: World, tools: Toolbox) -> None:
    """For none of the questions that the registry answers, but that for all names (RESTRICT-SET-05, TOOL-LIST-04)."""
    key = Key()
    tools.add("web", is_concurrency_safe=lambda _: True)
    tools.add("own", owner=scoped(world, key))
    restrict(world, tools, scoped(world, key), allow=[])
    call = ToolCallRequest(call_id="c", name="web", arguments={}, signal=CancelSignal())
    assert tools.tools.mode(call, key) == "exclusive"
    assert tools.tools.mode(call) == "parallel"
    assert error_of(tools.execute("web", scope=key)).message == 'unknown tool "web"'
    assert tools.tools.known_names(key) == {"web", "own"}
    assert tools.tools.known_names() == {"web"}


@pytest.mark.parametrize(
    ("lists", "text"),
    [
        ({}, r"tools.restrict\(\{\}\) is a no-op"),
        ({"allow": "web"}, "needs a list of names for `allow`, not 'web'"),
        ({"allow": 5}, "needs a list of names for `allow`, not 5"),
        ({"deny": map(str, ["web"])}, "needs a list of names for `deny`, not <map object"),
        ({"allow": ["web"], "deny": iter(["web"])}, "needs a list of names for `deny`, not <list_iterator"),
        ({"deny": ["run_code", "ghost"]}, 'cannot name reserved Code Mode presentation transport "run_code"'),
        ({"deny": ["own"]}, 'names unknown global tool "own"; known global tools: bash, web'),
        ({"allow": ["web", "x"], "deny": ["y"]}, 'unknown global tools "x", "y"; known global tools: bash, web'),
    ],
)
def test_a_refused_restriction_changes_nothing(world: World, tools: Toolbox, lists: dict[str, Any], text: str) -> None:
    """The error names the name and what there is (RESTRICT-ERR-01 to RESTRICT-ERR-03)."""
    key, changes = Key(), list[None]()
    tools.add("web")
    tools.add("bash")
    tools.add("own", owner=scoped(world, key))
    owner = scoped(world, key)
    world.root.on(TOOLS_CHANGE, changes.append)
    with suppress_type_checks(), pytest.raises(InvalidRestriction, match=text):
        restrict(world, tools, owner, **lists)
    with suppress_type_checks(), pytest.raises(InvalidRestriction, match="requires a scoped context"):
        restrict(world, tools, world.root, **lists)
    assert not changes
    assert names(tools, key) == "web bash own"


def test_nothing_is_known_where_nothing_is_inherited(world: World, tools: Toolbox) -> None:
    """The list of known names is not left empty (RESTRICT-ERR-02)."""
    with pytest.raises(InvalidRestriction, match=r"known global tools: \(none\)"):
        restrict(world, tools, scoped(world, Key()), deny=["x"])
