"""Fibers: mounting, loading, what they require, failing, restarting."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Final

import pytest
from tests.reference.stage import Stage, state
from typeguard import suppress_type_checks

from dshcore.context import (
    FIBER_STATUS,
    ConfigIssue,
    Context,
    InactiveContext,
    InvalidConfig,
    InvalidEffect,
    InvalidPlugin,
    NoEventLoop,
    Plugin,
    ServiceInactive,
    ServiceKey,
    Undo,
)
from dshcore.settling import SettlingLoop

CLOCK: Final = ServiceKey[str]("clock")
DISK: Final = ServiceKey[str]("disk")


def provide(key: ServiceKey[str], value: str) -> Callable[[Context], None]:
    def body(ctx: Context) -> None:
        ctx.provide(key, value)

    return body


# --- mounting --------------------------------------------------------------------------------------------------------


def test_mounting_answers_before_the_body_runs(stage: Stage) -> None:
    """FIBER-MOUNT-01: the fiber is loading then, or pending where something is missing."""

    def mount() -> None:
        free = stage.root.mount(stage.plugin("free"))
        waiting = stage.root.mount(stage.plugin("waiting", requires=[CLOCK]))
        stage.rows.append(f"mounted {state(free)} {state(waiting)}")

    stage.run(mount)
    assert stage.rows == ["free: pending → loading", "mounted loading pending", "body free", "free: loading → active"]


def test_each_mount_has_a_life_of_its_own(stage: Stage) -> None:
    """FIBER-MOUNT-02: ids, contexts, configurations and registrations are separate."""

    def body(ctx: Context, config: str) -> None:
        ctx.effect(stage.undo(config), label=config)

    plugin = Plugin(body)
    first = stage.run(lambda: stage.root.mount(plugin, "one"))
    second = stage.run(lambda: stage.root.mount(plugin, "two"))
    stage.take()
    stage.dispose(first)
    assert [row for row in stage.rows if row.startswith("undo")] == ["undo one"]
    assert (state(first), state(second)) == ("disposed", "active")
    assert first.fiber.id is None
    assert second.fiber.id is not None


def test_a_fiber_is_named_as_its_plugin_or_as_what_is_around_it(stage: Stage) -> None:
    def named(_: Context, __: object) -> None: ...

    outer = stage.mount("outer")
    assert (stage.mount(None, under=outer).name, stage.mount(None).name) == ("outer", "root")
    assert stage.run(lambda: stage.root.mount(named)).name == "named"
    assert stage.run(lambda: outer.mount(lambda *_: None)).name == "outer"


@pytest.mark.parametrize(("given", "received"), [(5, "int"), (Plugin(None), "Plugin")])  # type: ignore[arg-type]  # the point
def test_what_is_no_plugin_is_refused(stage: Stage, given: object, received: str) -> None:
    refused = pytest.raises(
        InvalidPlugin, match=f'expect function or object with an "apply" method, received {received}'
    )
    with suppress_type_checks(), refused:
        stage.run(lambda: stage.root.mount(given))  # type: ignore[call-overload]  # the point


def test_nothing_is_mounted_under_a_fiber_that_ends(stage: Stage) -> None:
    """FIBER-MOUNT-03: neither from an undo nor through a dead context; the body never runs."""
    child = stage.plugin("child")

    def mount_late(ctx: Context) -> Callable[[], None]:
        def undo() -> None:
            with pytest.raises(InactiveContext):
                ctx.mount(child)
            stage.rows.append("refused")

        return undo

    parent = stage.mount("parent", mount_late)
    stage.dispose(parent)
    with pytest.raises(InactiveContext):
        stage.run(lambda: parent.mount(child))
    assert "refused" in stage.rows
    assert "body child" not in stage.rows


def test_mounting_needs_a_loop(stage: Stage) -> None:
    fresh = Context()
    with pytest.raises(RuntimeError, match="no running event loop"):
        fresh.mount(stage.plugin("early"))


# --- bodies ----------------------------------------------------------------------------------------------------------


def yields(*undos: Undo) -> Iterator[Undo]:
    yield from undos


async def yields_later(*undos: Undo) -> AsyncIterator[Undo]:
    for undo in undos:
        await asyncio.sleep(0)
        yield undo


async def later(undo: Undo) -> Undo:
    await asyncio.sleep(0)
    return undo


@pytest.mark.parametrize(
    ("body", "undone"),
    [
        (lambda _: None, []),
        (lambda a: a, ["a"]),
        (later, ["a"]),
        (lambda a: yields(a, lambda: None, a), ["a", "a"]),
        (lambda a: yields_later(a, a), ["a", "a"]),
    ],
)
def test_what_a_body_hands_over_is_undone_with_it(
    stage: Stage, body: Callable[[Undo], object], undone: list[str]
) -> None:
    """FIBER-BODY-01: nothing, an undo, an awaitable of it, or undos one by one."""
    plugin = stage.mount("p", lambda _: body(stage.undo("a")))
    assert state(plugin) == "active"
    stage.take()
    stage.dispose(plugin)
    assert [row for row in stage.rows if row.startswith("undo")] == [f"undo {name}" for name in undone]


def test_a_disposer_that_a_body_hands_over_is_the_same_effect(stage: Stage) -> None:
    """FIBER-BODY-01: it is owned once."""

    def body(ctx: Context) -> Undo:
        first = stage.effect(ctx, "first")
        stage.effect(ctx, "second")
        return first

    plugin = stage.mount("p", body)
    stage.take()
    stage.dispose(plugin)
    assert [row for row in stage.rows if row.startswith("undo")] == ["undo first", "undo second"]


@pytest.mark.parametrize("answer", [5, False, 0, "", "text", [print]])
@pytest.mark.parametrize("how", ["at once", "later", "yielded"])
def test_a_body_that_answers_something_else_fails(stage: Stage, answer: object, how: str) -> None:
    """FIBER-BODY-01: false, zero and texts included."""

    async def answers_later() -> object:
        return answer

    bodies: dict[str, Callable[[Context], object]] = {
        "at once": lambda _: answer,
        "later": lambda _: answers_later(),
        "yielded": lambda _: iter([stage.undo("before"), answer]),
    }
    plugin = stage.mount("p", bodies[how])
    assert state(plugin) == "failed"
    waiting = stage.start(plugin.fiber.wait)
    assert isinstance(waiting.exception(), InvalidEffect)
    assert str(waiting.exception()) == "Invalid effect"
    assert ("undo before" in stage.rows) == (how == "yielded")


def test_a_validated_configuration_reaches_the_body(stage: Stage) -> None:
    """FIBER-CONFIG-01: what is wrong with it is listed, and the body does not run."""

    def validate(raw: object) -> int:
        if raw == "wrong":
            raise InvalidConfig([ConfigIssue("no number", ["size", 0]), ConfigIssue("no")])
        return int(str(raw))

    seen: list[object] = []
    plugin = Plugin(lambda _, config: seen.append(config), validate=validate)
    assert state(stage.run(lambda: stage.root.mount(plugin, "7"))) == "active"
    wrong = stage.run(lambda: stage.root.mount(plugin, "wrong"))
    assert (seen, state(wrong)) == ([7], "failed")
    assert str(wrong.fiber.error) == "invalid config:\n  - no number (at size.0)\n  - no"


# --- states ----------------------------------------------------------------------------------------------------------


def test_every_change_is_told_once_and_in_the_moment(stage: Stage) -> None:
    """FIBER-STATE-01: a failed body passes through unloading, and so do a restart, a loss and a disposal."""

    def fails(_: Context) -> None:
        raise ValueError("no")

    failed = stage.mount("f", fails)
    assert stage.take() == ["f: pending → loading", "body f", "f: loading → unloading", "f: unloading → failed"]
    stage.dispose(failed)
    assert stage.take() == ["f: failed → unloading", "f: unloading → disposed"]
    provider = stage.mount("p", provide(CLOCK, "one"))
    consumer = stage.mount("c", requires=[CLOCK])
    stage.take()
    stage.start(consumer.fiber.restart)
    assert stage.take() == ["c: active → unloading", "c: unloading → loading", "body c", "c: loading → active"]
    stage.dispose(provider)
    assert [row for row in stage.take() if row.startswith("c:")] == ["c: active → unloading", "c: unloading → pending"]


def test_the_recorded_example(stage: Stage) -> None:
    """A consumer was mounted first, its provider comes and goes (FIBER-INJECT-03, FIBER-DISP-01)."""
    stage.mount("consumer", lambda _: stage.undo("consumer"), requires=[CLOCK])

    def body(ctx: Context) -> Undo:
        ctx.provide(CLOCK, "one")
        return stage.undo("provider")

    def mount() -> None:
        handles.append(stage.root.mount(stage.plugin("provider", body)))
        stage.rows.append("returned mount")

    def dispose() -> Awaitable[None] | None:
        answer = handles[0].fiber.dispose()
        stage.rows.append("returned dispose")
        return answer

    handles: list[Context] = []
    stage.run(mount)
    ending = stage.start(dispose)
    assert ending.done()
    assert stage.rows == [
        "provider: pending → loading",
        "returned mount",
        "body provider",
        "provider: loading → active",
        "consumer: pending → loading",
        "body consumer",
        "consumer: loading → active",
        "provider: active → unloading",
        "consumer: active → unloading",
        "returned dispose",
        "undo provider",
        "undo consumer",
        "consumer: unloading → pending",
        "provider: unloading → disposed",
    ]


def test_a_failing_status_observer_stops_nothing(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """The operation behind the transition fails; the transition stands and what follows it goes on."""
    failing: list[str] = []

    def observe(_: object) -> None:
        if stage.rows[-1] in failing:
            raise ValueError(stage.rows[-1])

    stage.root.on(FIBER_STATUS, observe)
    consumer = stage.mount("c", requires=[CLOCK])
    failing[:] = ["p: pending → loading"]
    with pytest.raises(ValueError, match="loading"):
        stage.mount("p", provide(CLOCK, "one"))
    assert state(consumer) == "active", "what it mounted is loaded all the same"
    failing[:] = ["q: loading → active"]
    waiting = stage.start(lambda: stage.root.mount(stage.plugin("q")).fiber)
    assert str(waiting.exception()) == "q: loading → active"
    for name, row in (("d", "d: active → unloading"), ("e", "e: unloading → disposed")):
        plugin = stage.mount(name, lambda _: stage.undo("it"))
        failing[:] = [row]
        assert str(stage.dispose(plugin).exception()) == row
        assert (state(plugin), stage.rows.count("undo it")) == ("disposed", 1)
        stage.take()
        stage.rows.append("next")
    assert caplog.messages == [
        "q: loading failed: ValueError: q: loading → active",
        "d: unloading failed: ValueError: d: active → unloading",
        "e: unloading failed: ValueError: e: unloading → disposed",
    ]


def test_a_dependent_may_end_while_another_one_is_told(stage: Stage) -> None:
    """FIBER-DISP-07: it does not set out any more."""
    dependents: list[Context] = []

    def observe(_: object) -> None:
        if stage.rows[-1] == "c: pending → loading":
            dependents[1].fiber.dispose()

    dependents += [stage.mount(name, requires=[CLOCK]) for name in "cd"]
    stage.root.on(FIBER_STATUS, observe)
    stage.run(lambda: stage.root.provide(CLOCK, "one"))
    assert [state(one) for one in dependents] == ["active", "disposed"]
    assert "body d" not in stage.rows


def test_a_dependents_failing_observer_is_no_affair_of_the_provider(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.mount("c", requires=[CLOCK])
    stage.mount("d", requires=[CLOCK])

    def observe(_: object) -> None:
        if stage.rows[-1] == "c: pending → loading":
            raise ValueError("no")

    stage.root.on(FIBER_STATUS, observe)
    with caplog.at_level(logging.ERROR):
        provider = stage.mount("p", provide(CLOCK, "one"))
    assert stage.start(provider.fiber.wait).exception() is None
    assert {"body c", "body d"} <= set(stage.rows)
    assert "no" in caplog.text


# --- waiting ---------------------------------------------------------------------------------------------------------


def test_a_fiber_that_waits_for_a_service_is_at_rest(stage: Stage) -> None:
    """FIBER-AWAIT-01."""
    plugin = stage.mount("c", requires=[CLOCK])
    assert stage.start(plugin.fiber.wait).done()
    assert (state(plugin), plugin.fiber.in_transition) == ("pending", False)


def test_a_handle_waits_for_no_child_and_fails_with_none(stage: Stage) -> None:
    """FIBER-AWAIT-02."""

    def fails(_: Context) -> None:
        raise ValueError("no")

    def body(ctx: Context) -> None:
        ctx.mount(stage.plugin("slow", lambda _: stage.gate("slow")))
        ctx.mount(stage.plugin("failing", fails))

    parent = stage.mount("parent", body)
    assert stage.start(parent.fiber.wait).exception() is None
    assert state(parent) == "active"


# --- requirements ----------------------------------------------------------------------------------------------------


def test_a_body_runs_when_everything_required_is_active(stage: Stage) -> None:
    """FIBER-INJECT-01, FIBER-INJECT-02, SVC-INIT-01: whatever came first; a provider that loads does not count."""
    stage.mount("c", requires=[CLOCK, DISK])

    async def slowly(ctx: Context) -> None:
        ctx.provide(CLOCK, "one")
        await stage.gate("p")

    stage.mount("p", slowly)
    stage.mount("q", provide(DISK, "two"))
    assert "body c" not in stage.rows
    stage.release("p")
    assert stage.rows[-3:] == ["c: pending → loading", "body c", "c: loading → active"]


def test_nobody_loads_with_a_provider_that_fails(stage: Stage) -> None:
    """FIBER-INJECT-02, FIBER-FAIL-01."""
    consumer = stage.mount("c", requires=[CLOCK])

    async def body(ctx: Context) -> None:
        ctx.provide(CLOCK, "one")
        await stage.gate("p")

    stage.mount("p", body)
    stage.release("p", ValueError("no"))
    assert state(consumer) == "pending"
    assert stage.root.get(CLOCK) is None


def test_dependents_set_out_before_who_waits_for_the_provider(stage: Stage) -> None:
    """FIBER-INJECT-03."""
    consumer = stage.mount("c", requires=[CLOCK])

    async def wait() -> str:
        await stage.root.mount(stage.plugin("p", provide(CLOCK, "one"))).fiber
        return state(consumer)

    assert stage.start(wait).result() in ("loading", "active")


def test_a_loss_unloads_and_a_return_loads_anew(stage: Stage) -> None:
    """FIBER-INJECT-04: the same fiber, with the new value."""
    seen: list[str] = []

    def body(ctx: Context) -> Undo:
        seen.append(ctx[CLOCK])
        return stage.undo("c")

    withdraw = stage.root.provide(CLOCK, "one")
    consumer = stage.mount("c", body, requires=[CLOCK])
    number = consumer.fiber.id
    stage.take()
    stage.start(withdraw)
    assert stage.take() == ["c: active → unloading", "undo c", "c: unloading → pending"]
    stage.run(lambda: stage.root.provide(CLOCK, "two"))
    assert (state(consumer), consumer.fiber.id, seen) == ("active", number, ["one", "two"])


def test_a_replaced_provider_reloads(stage: Stage) -> None:
    """FIBER-INJECT-04: also where the loss and the return come in one step."""
    first = stage.mount("p", provide(CLOCK, "one"))
    seen: list[str] = []
    consumer = stage.mount("c", lambda ctx: seen.append(ctx[CLOCK]), requires=[CLOCK])
    second = stage.root.open(name="q")

    stage.start(first.fiber.dispose)
    stage.run(lambda: second.provide(CLOCK, "two"))
    assert (seen, state(consumer)) == (["one", "two"], "active")


def test_a_body_runs_to_its_end_although_it_lost_a_requirement(stage: Stage) -> None:
    """FIBER-INJECT-05: what it registers until then is accepted, and undone."""
    withdraw = stage.root.provide(CLOCK, "one")

    async def body(ctx: Context) -> None:
        await stage.gate("c")
        stage.effect(ctx, "late")

    consumer = stage.mount("c", body, requires=[CLOCK])
    stage.take()
    stage.start(withdraw)
    assert (state(consumer), stage.take()) == ("loading", [])
    stage.release("c")
    assert stage.take() == ["c: loading → unloading", "undo late", "c: unloading → pending"]


def test_a_requirement_that_is_lost_before_the_body_began(stage: Stage) -> None:
    """The body does not run; what was registered meanwhile is undone."""
    consumer = stage.mount("c", requires=[CLOCK])
    stage.effect(consumer, "early")
    stage.take()

    def come_and_go() -> None:
        stage.root.provide(CLOCK, "one")()

    stage.run(come_and_go)
    assert stage.rows == ["c: pending → loading", "c: loading → unloading", "undo early", "c: unloading → pending"]


# --- failing, restarting ---------------------------------------------------------------------------------------------


def test_what_a_failed_body_registered_is_undone(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """FIBER-FAIL-01: services too; the failure is logged, and reaches whoever waits."""
    failure = ValueError("no")

    def body(ctx: Context) -> None:
        stage.effect(ctx, "e")
        ctx.provide(CLOCK, "one")
        raise failure

    with caplog.at_level(logging.ERROR):
        plugin = stage.mount("p", body)
    assert "undo e" in stage.rows
    assert (state(plugin), stage.root.get(CLOCK), plugin.fiber.error) == ("failed", None, failure)
    assert caplog.messages == ["plugin p failed: ValueError: no"]
    assert stage.start(plugin.fiber.wait).exception() is failure


def test_a_failed_fiber_loads_again(stage: Stage) -> None:
    """FIBER-FAIL-02: on restart, and when a requirement that was lost returns."""
    bad = True

    def body(_: Context) -> None:
        if bad:
            raise ValueError("no")

    withdraw = stage.root.provide(CLOCK, "one")
    plugin = stage.mount("p", body, requires=[CLOCK])
    stage.start(withdraw)
    stage.run(lambda: stage.root.provide(CLOCK, "two"))
    assert stage.rows.count("body p") == 2
    bad = False
    assert stage.start(plugin.fiber.restart).exception() is None
    assert (state(plugin), plugin.fiber.error) == ("active", None)
    assert stage.start(plugin.fiber.wait).exception() is None


def test_a_cancellation_of_its_own_making_is_a_bodys_failure(stage: Stage) -> None:
    def body(_: Context) -> None:
        raise asyncio.CancelledError

    plugin = stage.mount("p", body)
    assert (state(plugin), type(plugin.fiber.error)) == ("failed", asyncio.CancelledError)


def test_a_load_that_the_host_cancels_has_failed(loop: SettlingLoop, stage: Stage) -> None:
    """FIBER-FAIL-01: whatever ends a body, what it had registered is undone, and the fiber comes to rest."""

    async def body(ctx: Context) -> None:
        stage.effect(ctx, "e")
        await stage.gate("p")

    plugin = stage.mount("p", body)
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.settle()
    assert not plugin.fiber.in_transition
    assert stage.take()[-3:] == ["p: loading → unloading", "undo e", "p: unloading → failed"]
    assert isinstance(plugin.fiber.error, asyncio.CancelledError)
    stage.start(plugin.fiber.restart)
    stage.release("p")
    assert state(plugin) == "active"


def test_a_load_that_is_cancelled_before_it_begins_has_failed(loop: SettlingLoop, stage: Stage) -> None:
    """FIBER-FAIL-01: the body has not run, and nobody waits for ever."""

    def mount_and_cancel() -> Context:
        before = asyncio.all_tasks(loop)
        mounted = stage.root.mount(stage.plugin("p"))
        for task in asyncio.all_tasks(loop) - before:
            task.cancel()
        return mounted

    plugin = stage.run(mount_and_cancel)
    assert stage.take() == ["p: pending → loading", "p: loading → unloading", "p: unloading → failed"]
    assert stage.start(plugin.fiber.wind_down).done()
    stage.dispose(plugin)
    assert state(plugin) == "disposed"


def test_whatever_ends_a_body_its_fiber_comes_to_rest(stage: Stage) -> None:
    """FIBER-FAIL-01, FIBER-AWAIT-01: also what is more than an exception; awaiting fails with it."""

    class Stop(BaseException):
        """Nobody catches it by accident."""

    def body(ctx: Context) -> None:
        stage.effect(ctx, "e")
        raise Stop

    plugin = stage.mount("p", body)
    assert stage.take()[-2:] == ["undo e", "p: unloading → failed"]
    assert isinstance(plugin.fiber.error, Stop)
    assert isinstance(stage.start(lambda: plugin.fiber).exception(), Stop)


def test_a_restart_disposes_of_children_for_good(stage: Stage) -> None:
    """FIBER-RESTART-01."""
    children: list[Context] = []

    def body(ctx: Context) -> None:
        stage.effect(ctx, "e")
        children.append(ctx.mount(stage.plugin("child", lambda _: stage.undo("child"))))

    parent = stage.mount("parent", body)
    number = parent.fiber.id
    stage.take()
    stage.start(parent.fiber.restart)
    assert [state(child) for child in children] == ["disposed", "active"]
    assert (state(parent), parent.fiber.id) == ("active", number)
    assert [row for row in stage.rows if row.startswith(("undo", "body"))] == [
        "undo e",
        "undo child",
        "body parent",
        "body child",
    ]


def test_a_restart_of_what_loads_or_waits_changes_nothing(stage: Stage) -> None:
    loading = stage.mount("p", lambda _: stage.gate("p"))
    waiting = stage.mount("c", requires=[CLOCK])
    stage.take()
    restarting = stage.start(loading.fiber.restart)
    assert stage.start(waiting.fiber.restart).done()
    assert (stage.take(), restarting.done()) == ([], False)
    stage.release("p")
    assert restarting.done()
    assert stage.take() == ["p: loading → active"]


def test_what_was_disposed_of_cannot_be_restarted(stage: Stage) -> None:
    plugin = stage.mount("p")
    stage.dispose(plugin)
    assert isinstance(stage.start(plugin.fiber.restart).exception(), InactiveContext)


def test_an_owner_without_a_body_waits_and_returns_like_any_other(stage: Stage) -> None:
    withdraw = stage.root.provide(CLOCK, "one")
    owner = stage.root.open(name="o", requires=[CLOCK])
    assert (owner[CLOCK], repr(owner), repr(owner.fiber)) == ("one", "<Context o active>", "<Fiber o active>")
    stage.start(withdraw)
    assert state(owner) == "pending"
    with pytest.raises(ServiceInactive):
        owner[CLOCK]
    with pytest.raises(NoEventLoop):
        stage.root.provide(CLOCK, "two")  # outside the loop nothing can be loaded: nothing has changed
    stage.run(lambda: stage.root.provide(CLOCK, "two"))
    assert owner[CLOCK] == "two"
