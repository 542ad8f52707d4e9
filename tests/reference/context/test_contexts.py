"""Contexts: what is derived from them, own values, accessors, look-ups and realms."""

from collections.abc import Callable
from typing import Final

import pytest
from tests.reference.stage import Stage, state

from dshcore.agent import AGENT
from dshcore.context import (
    Context,
    KeyDeclared,
    Plugin,
    ServiceInactive,
    ServiceKey,
    ServiceMissing,
    ServiceTaken,
)
from dshcore.events import Emit

CLOCK: Final = ServiceKey[str]("clock")
DISK: Final = ServiceKey[str]("disk")
PLACE: Final = ServiceKey[str]("place")
TOLD: Final = Emit[str]("told", scoped=False)


# --- the tree --------------------------------------------------------------------------------------------------------


def test_a_derived_context_has_the_same_owner(stage: Stage) -> None:
    """CTX-TREE-01: its registrations, services and listeners are those of its origin."""
    plugin = stage.mount("p")
    derived = plugin.derive()
    stage.effect(derived, "e")
    derived.provide(CLOCK, "one")
    derived.on(TOLD, stage.note("heard"))
    assert (derived.fiber, stage.root.get(CLOCK)) == (plugin.fiber, "one")
    stage.root.emit(TOLD, "x")
    stage.dispose(plugin)
    stage.root.emit(TOLD, "x")
    assert (stage.rows.count("undo e"), stage.rows.count("heard")) == (1, 1)


def test_an_own_value_is_seen_downwards_alone(stage: Stage) -> None:
    """CTX-TREE-02: on what is derived from the context and mounted under it, and nowhere else."""
    origin = stage.mount("p")
    derived = origin.derive(PLACE, "here")
    child = stage.mount("child", under=derived)
    for ctx in (derived, derived.derive(CLOCK, "x"), derived.isolate(DISK), child, child.open(name="scope")):
        assert ctx[PLACE] == "here"
    assert derived.derive(PLACE, "there")[PLACE] == "there"
    for ctx in (origin, origin.derive(), stage.mount("sibling", under=origin)):
        with pytest.raises(ServiceMissing):
            ctx.read(PLACE)
    assert stage.root.read(PLACE) is None


def test_an_own_value_hides_an_accessor(stage: Stage) -> None:
    """CTX-OWN-01."""
    undeclare = stage.root.accessor(PLACE, lambda ctx: f"in {ctx.name}")
    plugin = stage.mount("p")
    assert (plugin[PLACE], plugin.derive(PLACE, "own")[PLACE], plugin.get(PLACE)) == ("in p", "own", None)
    undeclare()
    with pytest.raises(ServiceMissing):
        plugin.read(PLACE)


def test_a_key_is_an_accessor_or_a_service(stage: Stage) -> None:
    """CTX-ACC-02: the later declaration fails and changes nothing; a withdrawn service stays one."""
    undeclare = stage.root.accessor(PLACE, lambda _: "here")
    with pytest.raises(KeyDeclared, match='property "place" is already declared as accessor'):
        stage.root.provide(PLACE, "service")
    with pytest.raises(KeyDeclared, match='property "place" is already declared as accessor'):
        stage.root.accessor(PLACE, lambda _: "there")
    assert (stage.root.read(PLACE), len(stage.root.fiber.effects)) == ("here", 1)
    undeclare()
    stage.root.provide(PLACE, "service")()
    with pytest.raises(KeyDeclared, match='property "place" is already declared as service'):
        stage.root.accessor(PLACE, lambda _: "here")
    assert len(stage.root.fiber.effects) == 0


# --- looking up ------------------------------------------------------------------------------------------------------


def test_a_service_counts_while_its_provider_is_active(stage: Stage) -> None:
    """CTX-GET-01: not in the provider's own body, and not once it unloads."""
    seen: list[str | None] = []

    def body(ctx: Context) -> Callable[[], None]:
        ctx.provide(CLOCK, "one")
        seen.append(ctx.get(CLOCK))
        return lambda: seen.append(ctx.get(CLOCK))

    provider = stage.mount("p", body)
    stranger = stage.mount("s")
    assert stranger.get(CLOCK) == "one"
    stage.dispose(provider)
    assert (seen, stranger.get(CLOCK)) == ([None, None], None)


def test_a_required_read_looks_up_the_mount_tree(stage: Stage) -> None:
    """CTX-READ-01: what its own fiber or one around it requires or provides; not sideways."""
    stage.root.open(name="elsewhere").provide(DISK, "far")
    seen: list[str] = []

    def parent(ctx: Context) -> None:
        ctx.provide(CLOCK, "mine")
        seen.append(ctx[CLOCK])
        ctx.mount(Plugin(lambda child, _: seen.extend([child[CLOCK], child[DISK]])))

    stage.mount("parent", parent, requires=[DISK])
    sibling = stage.mount("sibling")
    assert seen == ["mine", "mine", "far"]
    with pytest.raises(ServiceMissing):
        sibling[CLOCK]


def test_a_required_read_of_what_was_not_declared_fails(stage: Stage) -> None:
    """CTX-READ-02: the contexts of the root alone read anything, and nothing for what is not there."""
    plugin = stage.mount("p", lambda ctx: ctx.provide(CLOCK, "one"))
    scope = stage.root.open(name="scope", scope="s")
    assert (stage.root.read(CLOCK), stage.root.derive().read(CLOCK), stage.root.read(DISK)) == ("one", "one", None)
    with pytest.raises(ServiceMissing, match='cannot get property "disk" without inject'):
        stage.root[DISK]
    for ctx in (plugin, scope, stage.mount("q")):
        with pytest.raises(ServiceMissing, match='cannot get property "disk" without inject'):
            ctx.read(DISK)
    with pytest.raises(ServiceMissing):
        scope.read(CLOCK)


def test_a_required_read_through_what_is_not_loaded_fails(stage: Stage) -> None:
    """CTX-READ-03."""
    consumer = stage.mount("c", requires=[CLOCK])
    for _ in range(2):
        with pytest.raises(ServiceInactive, match='cannot get required service "clock" in inactive context'):
            consumer.read(CLOCK)
        withdraw = stage.run(lambda: stage.root.provide(CLOCK, "one"))
        assert consumer[CLOCK] == "one"
        stage.start(withdraw)


def test_an_undo_can_still_use_what_its_plugin_was_loaded_with(stage: Stage) -> None:
    """CTX-READ-04: although the optional look-up no longer finds it; the provider, too, reads its own."""
    seen: list[object] = []

    def consume(ctx: Context) -> Callable[[], None]:
        return lambda: seen.append((ctx[CLOCK], ctx.get(CLOCK)))

    def provide(ctx: Context) -> None:
        ctx.effect(lambda: seen.append(ctx[CLOCK]), label="own")
        ctx.provide(CLOCK, "one")

    provider = stage.mount("p", provide)
    stage.mount("c", consume, requires=[CLOCK])
    stage.dispose(provider)
    assert seen == ["one", ("one", None)]


def test_the_second_provider_is_refused_while_the_first_one_loads(stage: Stage) -> None:
    """CTX-PROVIDE-02, SVC-CLAIM-01: its mount fails, the first one stays."""

    async def body(ctx: Context) -> None:
        ctx.provide(CLOCK, "one")
        await stage.gate("first")

    stage.mount("first", body)
    second = stage.mount("second", lambda ctx: ctx.provide(CLOCK, "two"))
    assert (state(second), type(second.fiber.error)) == ("failed", ServiceTaken)
    assert str(second.fiber.error) == 'service "clock" has been registered at <first>'
    stage.release("first")
    assert stage.root.get(CLOCK) == "one"


# --- realms ----------------------------------------------------------------------------------------------------------


def test_an_isolated_service_stands_alone(stage: Stage) -> None:
    """SVC-REALM-01: for look-ups, required reads and waiting; other keys are as they were."""
    stage.root.provide(CLOCK, "outer")
    stage.root.provide(DISK, "disk")
    inside = stage.root.isolate(CLOCK)
    assert (inside.get(CLOCK), inside.read(CLOCK), inside.get(DISK)) == (None, None, "disk")
    consumer = stage.mount("c", requires=[CLOCK, DISK], under=inside)
    assert state(consumer) == "pending"
    stage.run(lambda: inside.provide(CLOCK, "inner"))
    assert (consumer[CLOCK], stage.root[CLOCK], state(consumer)) == ("inner", "outer", "active")
    deeper = consumer.isolate(CLOCK)
    with pytest.raises(ServiceMissing):
        deeper[CLOCK]
    assert deeper[DISK] == "disk"


def test_realms_of_one_label_are_one(stage: Stage) -> None:
    """SVC-REALM-02."""
    one, same = stage.root.isolate(CLOCK, "L"), stage.root.isolate(CLOCK, "L")
    other, alone, alone_too = stage.root.isolate(CLOCK, "M"), stage.root.isolate(CLOCK), stage.root.isolate(CLOCK)
    one.provide(CLOCK, "L")
    alone.provide(CLOCK, "alone")
    found = [ctx.get(CLOCK) for ctx in (one, same, other, alone, alone_too, stage.root)]
    assert found == ["L", "L", None, "alone", None, None]


def test_the_events_of_a_service_stay_in_its_realm(stage: Stage) -> None:
    """SVC-REALM-03: global listeners excepted; for another service the realm plays no part."""
    inside = stage.root.isolate(CLOCK)
    stage.root.on(TOLD, stage.note("outer"))
    inside.on(TOLD, stage.note("inner"))
    inside.on(TOLD, stage.note("everywhere"), global_=True)
    stage.root.emit(TOLD, "x", to=stage.root.receiver(CLOCK))
    assert stage.take() == ["outer", "everywhere"]
    inside.emit(TOLD, "x", to=inside.receiver(CLOCK))
    assert stage.take() == ["inner", "everywhere"]
    stage.root.emit(TOLD, "x", to=stage.root.receiver(DISK))
    assert stage.take() == ["outer", "inner", "everywhere"]


# --- owners that need no loop ----------------------------------------------------------------------------------------


def test_an_owner_that_requires_what_is_not_there_is_not_opened(stage: Stage) -> None:
    with pytest.raises(ServiceMissing):
        stage.root.open(name="o", requires=[CLOCK])
    assert len(stage.root.fiber.effects) == 0


def test_the_key_of_the_agent_has_the_name_that_the_specification_gives_it() -> None:
    assert AGENT.name == "agent"


def test_a_key_that_is_provided_anew_stays_with_its_provider(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """CTX-PROVIDE-01, CTX-READ-01: the end of the withdrawal takes the old provision along, and no other."""
    provider = stage.root.open(name="p")
    withdraw = provider.provide(CLOCK, "one")
    consumer = stage.mount("c", lambda _: stage.slow("c"), requires=[CLOCK])
    withdrawal = stage.start(withdraw)
    stage.run(lambda: provider.provide(CLOCK, "two"))
    stage.release("c")
    assert withdrawal.done()
    assert (provider[CLOCK], consumer[CLOCK]) == ("two", "two")
    ending = stage.start(provider.dispose)
    stage.release("c")
    assert (ending.done(), caplog.messages) == (True, [])
