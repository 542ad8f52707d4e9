"""The end of a fiber: when it takes effect, in which order things are undone, what it waits for."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import pytest
from tests.reference.stage import Stage, state

from dshcore.context import Context, InactiveContext, ServiceKey

CLOCK: Final = ServiceKey[str]("clock")


def test_a_disposal_takes_effect_inside_the_call(stage: Stage) -> None:
    """FIBER-DISP-01: id, state, refusal and the dependents' state; undos come later."""

    def body(ctx: Context) -> None:
        ctx.provide(CLOCK, "one")
        stage.effect(ctx, "e")

    provider = stage.mount("p", body)
    consumer = stage.mount("c", requires=[CLOCK])
    stage.take()

    def dispose() -> Awaitable[None] | None:
        answer = provider.fiber.dispose()
        assert (provider.fiber.id, state(provider), state(consumer)) == (None, "unloading", "unloading")
        assert stage.take() == ["p: active → unloading", "c: active → unloading"]
        with pytest.raises(InactiveContext):
            stage.effect(provider, "late")
        return answer

    assert stage.start(dispose).done()
    assert "undo e" in stage.rows


def test_undos_are_started_in_reverse_with_children_at_their_place(stage: Stage) -> None:
    """FIBER-DISP-02, FIBER-DISP-03: none waits for another, and the end waits for all."""

    def body(ctx: Context) -> None:
        stage.effect(ctx, "e1")
        ctx.effect(stage.slow("s1"), label="s1")
        ctx.mount(stage.plugin("child", lambda child: child.effect(stage.slow("s2"), label="s2")))
        stage.effect(ctx, "e2")

    parent = stage.mount("parent", body)
    stage.take()
    ending = stage.dispose(parent)
    assert stage.take() == [
        "parent: active → unloading",
        "undo e2",
        "child: active → unloading",
        "undo s1 …",
        "undo e1",
        "undo s2 …",
    ]
    stage.release("s1")
    assert not ending.done()
    stage.release("s2")
    assert ending.done()
    assert stage.take() == ["undo s1", "undo s2", "child: unloading → disposed", "parent: unloading → disposed"]


def test_a_failing_undo_stops_nothing(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """FIBER-DISP-04: it is logged, and the disposal completes."""
    plugin = stage.mount("p")
    for register in (stage.undo("a"), stage.failing("b"), stage.undo("c")):
        plugin.effect(register, label="e")
    stage.take()
    with caplog.at_level(logging.WARNING):
        ending = stage.dispose(plugin)
    assert (ending.exception(), state(plugin)) == (None, "disposed")
    assert [row for row in stage.rows if row.startswith("undo")] == ["undo c", "undo b", "undo a"]
    assert caplog.messages == ["undo of e failed: ValueError: b"]


def test_a_disposal_is_single_shot(stage: Stage) -> None:
    """FIBER-DISP-05: the second call answers nothing, not the running disposal."""
    plugin = stage.mount("p")
    plugin.effect(stage.slow("e"), label="e")
    ending = stage.dispose(plugin)
    assert stage.run(plugin.fiber.dispose) is None
    assert not ending.done()
    stage.release("e")
    assert ending.done()
    assert stage.rows.count("undo e") == 1


def test_a_disposal_waits_for_a_running_body(stage: Stage) -> None:
    """FIBER-DISP-06: registrations are refused from the request on; what came before it is undone."""

    async def body(ctx: Context) -> None:
        stage.effect(ctx, "early")
        await stage.gate("body")
        with pytest.raises(InactiveContext):
            stage.effect(ctx, "late")
        stage.rows.append("refused")

    plugin = stage.mount("p", body)
    stage.take()
    ending = stage.dispose(plugin)
    assert (plugin.fiber.id, state(plugin), ending.done()) == (None, "loading", False)
    stage.release("body")
    assert stage.rows == ["refused", "p: loading → unloading", "undo early", "p: unloading → disposed"]
    assert ending.done()


def test_a_body_does_not_run_after_a_disposal(stage: Stage) -> None:
    """FIBER-DISP-07."""

    def mount_and_dispose() -> Awaitable[None] | None:
        return stage.root.mount(stage.plugin("p")).fiber.dispose()

    assert stage.start(mount_and_dispose).done()
    assert stage.rows == ["p: pending → loading", "p: loading → unloading", "p: unloading → disposed"]


@pytest.mark.parametrize("how", ["withdrawal", "disposal"])
def test_a_service_is_gone_when_its_dependents_have_unloaded(stage: Stage, how: str) -> None:
    """FIBER-DISP-08."""
    provider = stage.root.open(name="p")
    withdraw = provider.provide(CLOCK, "one")
    consumer = stage.mount("c", requires=[CLOCK])
    consumer.effect(stage.slow("e"), label="e")
    ending = stage.start(withdraw) if how == "withdrawal" else stage.dispose(provider)
    assert not ending.done()
    stage.release("e")
    assert ending.done()
    assert state(consumer) == "pending"


def test_a_withdrawal_that_nobody_waits_for_takes_no_time(stage: Stage) -> None:
    assert stage.root.provide(CLOCK, "one")() is None


def test_disposing_of_the_root_leaves_it_usable(stage: Stage) -> None:
    """FIBER-DISP-09: everything in it is undone; its id stays 0."""
    plugin = stage.mount("p", lambda _: stage.undo("p"))
    stage.effect(stage.root, "e")
    stage.take()
    assert stage.start(stage.root.dispose).done()
    assert stage.rows == [
        "root: active → unloading",
        "undo e",
        "p: active → unloading",
        "undo p",
        "p: unloading → disposed",
        "root: unloading → loading",
        "root: loading → active",
    ]
    assert (stage.root.fiber.id, state(plugin)) == (0, "disposed")
    assert state(stage.mount("again")) == "active"
    assert stage.start(stage.root.fiber.dispose).done()
    assert state(stage.root) == "active"


def test_while_the_root_unloads_it_refuses(stage: Stage) -> None:
    """EFFECT-INACT-01."""
    stage.root.effect(stage.slow("e"), label="e")
    ending = stage.start(stage.root.dispose)
    assert not stage.root.active
    with pytest.raises(InactiveContext):
        stage.effect(stage.root, "late")
    again = stage.start(stage.root.dispose)
    stage.release("e")
    assert ending.done()
    assert again.done()
    assert stage.root.active


@pytest.mark.parametrize("failed", [False, True])
def test_what_waits_or_has_failed_is_undone_too(stage: Stage, failed: bool) -> None:
    """FIBER-DISP-10: it passes through unloading."""

    def fails(_: Context) -> None:
        raise ValueError("no")

    plugin = stage.mount("p", fails) if failed else stage.mount("p", requires=[CLOCK])
    stage.effect(plugin, "e")
    before = state(plugin)
    stage.take()
    stage.dispose(plugin)
    assert stage.rows == [f"p: {before} → unloading", "undo e", "p: unloading → disposed"]


def test_who_is_active_goes_by_the_id(stage: Stage) -> None:
    """FIBER-ACTIVE-01: a restart passes, a disposal fails from its first moment on, whatever the state is."""
    answers: list[str] = []

    def ask(ctx: Context) -> Callable[[], None]:
        def undo() -> None:
            try:
                ctx.assert_active()
            except InactiveContext as error:
                answers.append(error.code)
            else:
                answers.append("active")

        return undo

    plugin = stage.mount("p", ask)
    waiting = stage.mount("w", requires=[CLOCK])
    waiting.assert_active()
    stage.start(plugin.fiber.restart)
    stage.dispose(plugin)
    with pytest.raises(InactiveContext):
        plugin.assert_active()
    assert answers == ["active", "INACTIVE_EFFECT"]


def test_registrations_are_refused_while_unloading_and_accepted_otherwise(stage: Stage) -> None:
    """EFFECT-INACT-01: also for a restart; a waiting, loading or failed fiber accepts."""
    refused: list[str] = []

    def body(ctx: Context) -> Callable[[], None]:
        stage.effect(ctx, "while loading")

        def undo() -> None:
            with pytest.raises(InactiveContext) as error:
                stage.effect(ctx, "from an undo")
            refused.append(error.value.code)

        return undo

    plugin = stage.mount("p", body)
    stage.start(plugin.fiber.restart)
    assert refused == ["INACTIVE_EFFECT"]
    assert state(plugin) == "active"


def test_a_disposal_can_be_begun_from_the_body(stage: Stage) -> None:
    """It is not waited for there; the fiber ends, and its handle with it."""

    def body(ctx: Context) -> None:
        stage.effect(ctx, "e")
        ctx.fiber.dispose()

    plugin = stage.mount("p", body)
    assert state(plugin) == "disposed"
    assert "undo e" in stage.rows
    assert stage.start(plugin.fiber.wait).exception() is None


def test_nothing_is_kept_of_what_was_disposed_of(stage: Stage) -> None:
    """An application whose plugins come and go does not grow."""
    for requires in ([], [CLOCK]):
        stage.dispose(stage.mount("p", lambda _: stage.undo("p"), requires=requires))
    stage.start(stage.root.provide(CLOCK, "one"))
    services = stage.root._app.services
    assert (len(stage.root.fiber.effects), services._dependents, services._provisions) == (0, {}, {})


def test_a_context_that_is_dead_still_looks_up(stage: Stage) -> None:
    """CTX-DEAD-01."""
    plugin = stage.mount("p")
    stage.dispose(plugin)
    stage.root.provide(CLOCK, "one")
    assert plugin.get(CLOCK) == "one"


def test_a_scope_is_disposed_of_without_a_loop_only_where_one_has_run(stage: Stage) -> None:
    """The journey begins at once, and goes on when the loop runs."""
    plugin = stage.mount("p", lambda _: stage.undo("p"))
    with pytest.raises(RuntimeError, match="no running event loop"):
        plugin.dispose()
    assert plugin.active
