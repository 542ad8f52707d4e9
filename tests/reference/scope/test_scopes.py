"""Scopes and carriers: what is in a scope, whom its events reach, how it ends."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from tests.reference.stage import Stage
from tests.reference.world import World

from dshcore.agent import AGENT, AGENT_STATUS, AGENTS, AgentStatusChanged
from dshcore.context import Context, InactiveContext, ServiceKey, ServiceMissing, Undo
from dshcore.events import Emit
from dshcore.scope import (
    Layers,
    NamedTable,
    Scope,
    ScopeCycle,
    ScopeKeyBound,
    bind_scope_parent,
    carrier_key,
    create_scope,
    is_carrier,
    scope_chain_of,
    scope_of,
    scope_parent_of,
    scope_target,
)
from dshcore.session import SESSION_EVENT, SESSIONS

CLOCK: Final = ServiceKey[str]("clock")
TOLD: Final = Emit[str]("told")
PLAIN: Final = Emit[str]("plain", scoped=False)


class Key:
    """Equal to every other key."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key)

    def __hash__(self) -> int:
        return 0


@dataclass
class Layer:
    named: NamedTable[int] = field(default_factory=NamedTable[int])


class Registry:
    def __init__(self) -> None:
        self.changes = 0
        self.layers = Layers(Layer, self._changed)

    def _changed(self) -> None:
        self.changes += 1

    def add(self, owner: Context, name: str) -> Any:
        return self.layers.register(owner, lambda layer: layer.named.insert(name, 0), label=name)

    def names(self, key: object | None) -> list[str]:
        return list(self.layers.merge(key, lambda layer: layer.named))


@pytest.fixture
def registry() -> Registry:
    return Registry()


def tell(stage: Stage, key: object | None) -> list[str]:
    stage.take()
    stage.root.emit(TOLD, "x", to=scope_target("subject", key))
    return stage.take()


# --- minting ---------------------------------------------------------------------------------------------------------


def test_a_scope_can_be_used_at_once_and_ends_with_who_minted_it(stage: Stage) -> None:
    """SCOPE-MINT-01, SCOPE-MINT-03: a scope in a scope goes with the outer one."""
    made: list[Scope] = []

    def body(ctx: Context) -> None:
        made.append(create_scope(ctx, "outer"))
        made.append(create_scope(made[0].ctx, "inner", name="inner"))
        stage.effect(made[1].ctx, "e")

    plugin = stage.mount("p", body)
    stage.dispose(plugin)
    assert "undo e" in stage.rows
    for scope in made:
        with pytest.raises(InactiveContext):
            stage.effect(scope.ctx, "late")
    assert (made[0].ctx.name, made[1].ctx.name) == ("p", "inner")


def test_nothing_is_minted_through_what_ends(stage: Stage) -> None:
    """SCOPE-MINT-02: yet a key that was to be bound is bound."""
    plugin = stage.mount("p")
    stage.dispose(plugin)
    key, parent = Key(), Key()
    with pytest.raises(InactiveContext) as refused:
        create_scope(plugin, key, parent=parent)
    assert refused.value.code == "INACTIVE_EFFECT"
    assert scope_parent_of(key) is parent


def test_equal_keys_are_two_scopes(stage: Stage, registry: Registry) -> None:
    """SCOPE-MINT-04."""
    one, other = Key(), Key()
    registry.add(create_scope(stage.root, one).ctx, "a")
    registry.add(create_scope(stage.root, other).ctx, "b")
    assert (registry.names(one), registry.names(other)) == (["a"], ["b"])


def test_scopes_of_one_key_share_all_but_their_life(stage: Stage, registry: Registry) -> None:
    """SCOPE-MINT-05."""
    first, second = create_scope(stage.root, "k"), create_scope(stage.root, "k")
    for name, scope in (("first", first), ("second", second)):
        scope.ctx.on(TOLD, stage.note(name))
        registry.add(scope.ctx, name)
    assert (tell(stage, "k"), registry.names("k")) == (["first", "second"], ["first", "second"])
    stage.start(first.dispose)
    assert (tell(stage, "k"), registry.names("k")) == (["second"], ["second"])


def test_the_nearest_tag_counts(stage: Stage) -> None:
    """SCOPE-TAG-01: derived contexts and plugins inherit it."""
    scope = create_scope(stage.root, "outer")
    plugin = stage.mount("p", under=scope.ctx)
    inner = create_scope(plugin, "inner")
    contexts = (stage.root, stage.mount("q"), scope.ctx, scope.ctx.derive(), plugin, inner.ctx, plugin.open(name="o"))
    assert [scope_of(ctx) for ctx in contexts] == [None, None, "outer", "outer", "outer", "inner", "outer"]


def test_nested_scopes_are_not_linked(stage: Stage, registry: Registry) -> None:
    """SCOPE-TAG-02: without a parent the inner one inherits nothing."""
    outer = create_scope(stage.root, "outer")
    create_scope(outer.ctx, "inner")
    registry.add(outer.ctx, "a")
    outer.ctx.on(TOLD, stage.note("outer"))
    assert (registry.names("inner"), tell(stage, "inner"), scope_chain_of("inner")) == ([], [], ("inner",))


def test_an_entry_ends_with_its_plugin_which_may_be_before_the_scope(stage: Stage, registry: Registry) -> None:
    """SCOPE-TAG-03."""
    scope = create_scope(stage.root, "s")
    plugin = stage.mount("p", lambda ctx: registry.add(ctx, "a") and None, under=scope.ctx)
    assert (registry.names("s"), registry.names(None)) == (["a"], [])
    stage.dispose(plugin)
    assert (registry.names("s"), scope.ctx.active) == ([], True)


def test_services_are_resolved_as_by_the_minter(stage: Stage) -> None:
    """SCOPE-DEPS-01: whoever holds it, also when it has ended; the root's licence is not inherited."""
    stage.root.open(name="p").provide(CLOCK, "one")
    made: list[Scope] = []
    stage.mount("minter", lambda ctx: made.append(create_scope(ctx, "s")), requires=[CLOCK])
    assert made[0].ctx[CLOCK] == "one"
    stage.start(made[0].dispose)
    assert made[0].ctx[CLOCK] == "one"
    with pytest.raises(ServiceMissing):
        create_scope(stage.root, "r").ctx.read(CLOCK)


# --- ending ----------------------------------------------------------------------------------------------------------


def test_a_disposal_undoes_everything_in_the_scope(stage: Stage, registry: Registry) -> None:
    """SCOPE-DISP-01, SCOPE-DISP-02, SCOPE-DISP-03: all calls answer the same completion."""
    scope = create_scope(stage.root, "s")
    scope.ctx.on(TOLD, stage.note("heard"))
    registry.add(scope.ctx, "a")
    scope.ctx.effect(stage.slow("e"), label="e")
    stage.mount("p", lambda _: stage.undo("p"), under=scope.ctx)
    first, second = stage.start(scope.dispose), stage.start(scope.dispose)
    with pytest.raises(InactiveContext):
        registry.add(scope.ctx, "late")
    assert (first.done(), second.done()) == (False, False)
    stage.release("e")
    assert (first.done(), second.done()) == (True, True)
    with pytest.raises(InactiveContext):
        registry.add(scope.ctx, "late")
    assert (registry.names("s"), registry.layers.peek("s"), tell(stage, "s")) == ([], None, [])


def test_the_raw_disposer_is_single_shot(stage: Stage) -> None:
    """SCOPE-DISP-04: `dispose` waits for the teardown that it started."""
    scope = create_scope(stage.root, "s")
    scope.ctx.effect(stage.slow("e"), label="e")
    stage.start(scope.raw_dispose)
    assert stage.run(scope.raw_dispose) is None
    ending = stage.start(scope.dispose)
    assert not ending.done()
    stage.release("e")
    assert ending.done()
    assert stage.start(scope.dispose).done()


@pytest.mark.parametrize("raw", [True, False])
def test_a_composite_places_the_teardown(stage: Stage, raw: bool) -> None:
    """SCOPE-DISP-05: the raw disposer does, `dispose` does not."""
    owner = stage.root.open(name="owner")

    def body() -> Iterator[Undo]:
        yield stage.undo("a")
        scope = create_scope(owner, "s", name="s")
        scope.ctx.effect(stage.slow("scope"), label="scope")
        yield scope.raw_dispose if raw else scope.dispose
        yield stage.undo("b")

    owner.composite(body, label="c")
    ending = stage.dispose(owner)
    rows = [row for row in stage.take() if row.startswith(("undo", "s:"))]
    begins = ["undo b", "s: active → unloading"] if raw else ["s: active → unloading", "undo b"]
    assert rows == [*begins, "undo scope …"]
    stage.release("scope")
    assert [row for row in stage.take() if row.startswith("undo")] == ["undo scope", "undo a"]
    assert ending.done()


def test_the_end_of_a_scope_is_not_the_end_of_its_key(stage: Stage, registry: Registry) -> None:
    """SCOPE-DISP-06: its link stays, and it can be minted again, starting empty."""
    key, team = Key(), Key()
    create_scope(stage.root, team).ctx.on(TOLD, stage.note("team"))
    scope = create_scope(stage.root, key, parent=team)
    scope.ctx.on(TOLD, stage.note("key"))
    stage.root.on(TOLD, stage.note("plain"))
    registry.add(scope.ctx, "old")
    assert tell(stage, key) == ["team", "key", "plain"]
    stage.start(scope.dispose)
    assert tell(stage, key) == ["team", "plain"]
    registry.add(create_scope(stage.root, key).ctx, "new")
    assert registry.names(key) == ["new"]


# --- events ----------------------------------------------------------------------------------------------------------


def test_events_flow_up_the_chain_and_never_down(stage: Stage) -> None:
    """SCOPE-EVT-01, SCOPE-EVT-02, SCOPE-EVT-03: without a key untagged listeners alone hear."""
    a, b, c, sibling = Key(), Key(), Key(), Key()
    scopes = {
        "a": create_scope(stage.root, a),
        "b": create_scope(stage.root, b, parent=a),
        "c": create_scope(stage.root, c, parent=b),
        "sibling": create_scope(stage.root, sibling, parent=b),
    }
    for name, scope in scopes.items():
        scope.ctx.on(TOLD, stage.note(name))
    stage.root.on(TOLD, stage.note("plain"))
    assert tell(stage, c) == ["a", "b", "c", "plain"]
    assert tell(stage, b) == ["a", "b", "plain"]
    assert tell(stage, a) == ["a", "plain"]
    assert tell(stage, None) == ["plain"]


def test_a_global_listener_hears_all_keys_while_its_scope_lives(stage: Stage) -> None:
    """SCOPE-EVT-04."""
    scope = create_scope(stage.root, "a")
    scope.ctx.on(TOLD, stage.note("everywhere"), global_=True)
    assert tell(stage, "b") == tell(stage, None) == ["everywhere"]
    stage.start(scope.dispose)
    assert tell(stage, "b") == []


@dataclass(eq=False)
class Base:
    """A subject with a filter of its own."""

    consents: bool
    asked: list[object] = field(default_factory=list[object])

    def admits(self, context: Context) -> bool:
        self.asked.append(context)
        return self.consents


def test_the_consent_of_the_base_is_needed_as_well(stage: Stage) -> None:
    """SCOPE-EVT-05: it is asked itself, and not for global listeners."""
    scope = create_scope(stage.root, "a")
    scope.ctx.on(TOLD, stage.note("a"))
    scope.ctx.on(TOLD, stage.note("everywhere"), global_=True)
    create_scope(stage.root, "b").ctx.on(TOLD, stage.note("b"))
    for base, expected in ((Base(consents=False), ["everywhere"]), (Base(consents=True), ["a", "everywhere"])):
        stage.take()
        stage.root.emit(TOLD, "x", to=scope_target(base, "a"))
        assert stage.take() == expected
        assert len(base.asked) == 2


def test_a_carrier_follows_the_link_as_it_is(stage: Stage) -> None:
    """SCOPE-EVT-06, BIND-REBIND-01."""
    a, b, c = Key(), Key(), Key()
    for name, key in (("a", a), ("b", b)):
        create_scope(stage.root, key).ctx.on(TOLD, stage.note(name))
    binding = bind_scope_parent(c, a)
    carrier = scope_target("subject", c)
    binding.rebind(b)
    stage.root.emit(TOLD, "x", to=carrier)
    assert stage.take() == ["b"]


def test_where_an_event_is_dispatched_plays_no_part(stage: Stage) -> None:
    """SCOPE-EVT-07: without a carrier everybody hears, whatever scope the dispatching context is in."""
    a, b = create_scope(stage.root, "a"), create_scope(stage.root, "b")
    a.ctx.on(PLAIN, stage.note("a"))
    b.ctx.on(PLAIN, stage.note("b"))
    a.ctx.emit(PLAIN, "x")
    assert stage.take() == ["a", "b"]


def test_a_carrier_tells_nothing_of_its_subject() -> None:
    """SCOPE-EVT-10: it is a new object each time; what is no carrier has no key."""
    subject = Base(consents=True)
    one, other = scope_target(subject, "k"), scope_target(subject, "k")
    assert one is not other
    assert (is_carrier(one), is_carrier(subject)) == (True, False)
    assert (carrier_key(one), carrier_key(subject), carrier_key(scope_target(subject, None))) == ("k", None, None)
    assert not hasattr(one, "consents")


# --- agents and sessions ---------------------------------------------------------------------------------------------


def test_the_payload_alone_says_whose_event_it_is(world: World) -> None:
    """SCOPE-EVT-08: whichever agent's context dispatches it."""
    a, b = world.create("a"), world.create("b")
    heard: list[str] = []
    for agent in (a, b):
        agent.ctx.on(AGENT_STATUS, lambda event, at=agent: heard.append(f"{at.id}: {event.agent.id}"))  # type: ignore[misc]  # bound now
    a.ctx.emit(AGENT_STATUS, AgentStatusChanged(b, "idle"))
    assert heard == ["b: b"]


def test_the_agent_of_a_context(world: World) -> None:
    """CTX-OWN-01, CTX-ACC-01: its own one, on everything under it and for good; none elsewhere, which is no error."""
    agent = world.create("a")
    under = world.run(lambda: agent.ctx.open(name="under"))
    plain = world.run(lambda: world.root.open(name="plain"))
    assert (agent.ctx[AGENT], under[AGENT], plain.read(AGENT), world.root.read(AGENT)) == (agent, agent, None, None)
    assert agent.ctx[AGENTS] is world.root[AGENTS], "SCOPE-DEPS-01: as through the loop's context"
    world.dispose()
    assert agent.ctx[AGENT] is agent


def test_session_events_go_where_the_session_was_entered(world: World) -> None:
    """SCOPE-EVT-09: the tag of that context, then; through a plain context plain listeners alone."""
    agent, team = Key(), Key()
    heard: list[str] = []
    scope = create_scope(world.root, agent, parent=team)
    for name, ctx in (
        ("agent", scope.ctx),
        ("team", create_scope(world.root, team).ctx),
        ("other", create_scope(world.root, Key()).ctx),
        ("plain", world.root),
    ):
        ctx.on(SESSION_EVENT, lambda event, name=name: heard.append(f"{name}: {event.session.id}"))  # type: ignore[misc]  # bound now
    sessions = world.root[SESSIONS]
    for name, via in (("s", scope.ctx), ("p", world.root)):
        session = sessions.prepare(name)
        sessions.enter(session, via)
        heard.clear()
        session.append("x", {})
        expected = ["agent: s", "team: s", "plain: s"] if name == "s" else ["plain: p"]
        assert heard == expected


# --- parents ---------------------------------------------------------------------------------------------------------


def test_a_scope_with_a_parent_is_bound_for_good(stage: Stage) -> None:
    """BIND-MINT-01: nobody gets the binding."""
    key, parent = Key(), Key()
    create_scope(stage.root, key, parent=parent)
    assert scope_parent_of(key) is parent
    with pytest.raises(ScopeKeyBound):
        bind_scope_parent(key, Key())


def test_nothing_is_minted_for_a_key_that_cannot_be_bound(stage: Stage) -> None:
    """BIND-MINT-02: the link is as it was."""
    key, parent = Key(), Key()
    bind_scope_parent(key, parent)
    with pytest.raises(ScopeKeyBound):
        create_scope(stage.root, key, parent=Key())
    with pytest.raises(ScopeCycle):
        create_scope(stage.root, parent, parent=key)
    assert len(stage.root.fiber.effects) == 0
    assert scope_parent_of(key) is parent


def test_a_new_link_moves_no_registrations(stage: Stage, registry: Registry) -> None:
    """BIND-REBIND-01, BIND-REBIND-03: views follow it at once, for the key and what is below it; entries stay."""
    a, b, one, other, below = Key(), Key(), Key(), Key(), Key()
    for name, key in (("a", a), ("b", b), ("one", one)):
        registry.add(create_scope(stage.root, key).ctx, name)
    binding = bind_scope_parent(one, a)
    bind_scope_parent(other, a)
    bind_scope_parent(below, one)
    assert registry.names(below) == ["a", "one"]
    changes = registry.changes
    binding.rebind(b)
    assert [registry.names(key) for key in (one, below, other)] == [["b", "one"], ["b", "one"], ["a"]]
    assert registry.changes == changes


def test_a_composite_adopts_a_registration(stage: Stage, registry: Registry) -> None:
    """LAYER-EFF-05: the disposer is the exact one; called twice it tells once."""
    owner = stage.root.open(name="owner")

    def body() -> Iterator[Undo]:
        yield lambda: stage.rows.append(f"before: {registry.names(None)}")
        yield registry.add(owner, "a")
        yield lambda: stage.rows.append(f"behind: {registry.names(None)}")

    owner.composite(body, label="c")
    stage.dispose(owner)
    assert [row for row in stage.rows if ":" in row and "→" not in row] == ["behind: ['a']", "before: []"]
    again = registry.add(stage.root, "b")
    changes = registry.changes
    again()
    again()
    assert registry.changes == changes + 1


def test_a_registration_belongs_to_who_came_for_it(stage: Stage, registry: Registry) -> None:
    """TRACE-OWNER-01: its end is the entry's end; the registry and the entries of others stay."""
    plugin, other = stage.mount("p"), stage.mount("q")
    registry.add(plugin, "p")
    registry.add(other, "q")
    stage.dispose(plugin)
    assert registry.names(None) == ["q"]
