"""What the host does: it cancels tasks, ends the loop, or calls where no loop is running."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Final

import pytest
from tests.reference.stage import Stage, state

from dshcore.context import FIBER_STATUS, Context, NoEventLoop, ServiceKey, Undo
from dshcore.events import Parallel
from dshcore.settling import SettlingLoop

CLOCK: Final = ServiceKey[str]("clock")
FLUSH: Final = Parallel[str]("flush", scoped=False)


@pytest.fixture
def complaints(loop: SettlingLoop) -> list[str]:
    """What asyncio complains of: a failure that nobody has asked for."""
    told: list[str] = []
    loop.set_exception_handler(lambda _, context: told.append(context["message"]))
    return told


def journeys(stage: Stage, name: str) -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks(stage.loop) if task.get_name().startswith(f"{name}: ")]


# --- cancellation ----------------------------------------------------------------------------------------------------


def stubborn(stage: Stage, name: str) -> Undo:
    """Make an undo that notes how often it is cancelled, and goes on to its end."""

    async def undo() -> None:
        gate = stage._gates[name] = stage.loop.create_future()
        while not gate.done():
            try:
                await asyncio.shield(gate)
            except asyncio.CancelledError:
                stage.rows.append(f"{name} cancelled")

    return undo


def test_an_unload_that_is_cancelled_goes_on_to_its_end(stage: Stage) -> None:
    """FIBER-DISP-02, SCOPE-DISP-02: whoever waits is not told of an end that has not come; undos are cancelled once."""
    plugin = stage.mount("p", lambda _: stubborn(stage, "e"))
    ending = stage.start(plugin.dispose)
    (journey,) = journeys(stage, "p")
    for _ in range(2):
        journey.cancel()
        stage.settle()
        assert (state(plugin), ending.done()) == ("unloading", False)
    stage.release("e")
    assert (state(plugin), ending.cancelled(), journey.cancelled()) == ("disposed", True, True)
    assert stage.rows.count("e cancelled") == 1


def cancel_all(stage: Stage) -> None:
    """Do what the end of `asyncio.run` does: every task there is, one time."""
    for task in asyncio.all_tasks(stage.loop) - {asyncio.current_task(stage.loop)}:
        task.cancel()


@pytest.mark.parametrize("turns", range(4))
def test_a_program_that_ends_in_a_disposal_does_not_wait_for_its_undos(stage: Stage, turns: int) -> None:
    """However far the disposal has come: every undo begins, and what the host could not cancel yet is cancelled."""
    owner = stage.mount("owner")
    child = stage.mount("child", under=owner)
    child.effect(stage.slow("of a child"), label="e")
    withdraw = stage.root.provide(CLOCK, "one")
    stage.mount("dependent", lambda _: stage.slow("of a dependent"), requires=[CLOCK])
    part = owner.effect(stage.slow("of a part"), label="part")
    owner.composite(lambda: iter([withdraw]), label="one")
    owner.composite(lambda: iter([part]), label="another")
    stage.take()

    async def main() -> None:
        owner.dispose()
        for _ in range(turns):
            await asyncio.sleep(0)
        cancel_all(stage)

    stage.start(main)
    undone = [row for row in stage.take() if row.startswith("undo")]
    assert sorted(undone) == ["undo of a child …", "undo of a dependent …", "undo of a part …"]
    assert (state(owner), state(child), asyncio.all_tasks(stage.loop)) == ("disposed", "disposed", set())


def test_what_the_host_has_cancelled_is_not_cancelled_again(stage: Stage) -> None:
    """An undo that cleans up when it is cancelled does so undisturbed, also below a child that ends with its owner."""
    owner = stage.mount("owner")
    stage.mount("child", lambda _: stubborn(stage, "e"), under=owner)
    stage.run(lambda: [owner.dispose()])
    stage.run(lambda: cancel_all(stage))
    assert (stage.rows.count("e cancelled"), state(owner)) == (1, "unloading")
    stage.release("e")
    assert state(owner) == "disposed"


@pytest.mark.parametrize("row", ["p: active → unloading", "p: unloading → disposed"])
def test_a_failing_status_observer_is_told_of_by_the_completion(
    stage: Stage, caplog: pytest.LogCaptureFixture, row: str
) -> None:
    """It reaches whoever waits, once it stands in the log."""

    def observe(_: object) -> None:
        if stage.rows[-1] == row:
            raise ValueError(row)

    plugin = stage.mount("p")
    stage.root.on(FIBER_STATUS, observe)
    assert str(stage.start(plugin.dispose).exception()) == row
    assert state(plugin) == "disposed"
    assert caplog.messages == [f"p: unloading failed: ValueError: {row}"]


def test_a_disposal_that_nobody_awaits_leaves_asyncio_nothing_to_say(loop: SettlingLoop, complaints: list[str]) -> None:
    """What a status observer failed with stands in the log already."""

    def observe(_: object) -> None:
        raise ValueError("no")

    async def main() -> None:
        root = Context()
        plugin = root.open(name="p")
        root.on(FIBER_STATUS, observe)
        plugin.dispose()

    logging.disable(logging.CRITICAL)  # a record that is kept keeps everything
    try:
        loop.create_task(main())
        loop.settle()
    finally:
        logging.disable(logging.NOTSET)
    gc.collect()
    assert complaints == []


def test_the_undos_of_a_program_that_ends_have_not_failed(caplog: pytest.LogCaptureFixture) -> None:
    """The host cancels everything; nothing of it is a failure of an undo, and no task is left behind."""
    rows: list[str] = []

    async def never() -> None:
        await asyncio.get_running_loop().create_future()

    async def setup() -> AsyncIterator[Undo]:
        yield lambda: rows.append("part")
        yield lambda: asyncio.sleep(0)
        await never()

    async def main() -> None:
        root = Context()
        ending = root.open(name="ending")
        ending.effect(never, label="e")
        ending.async_composite(never_set_up, label="none")
        root.async_composite(setup, label="s")
        root.mount(lambda _ctx, _config: never())
        root.mount(lambda _ctx, _config: never())
        await asyncio.sleep(0)
        root.mount(lambda _ctx, _config: never())
        ending.dispose()
        for _ in range(3):
            await asyncio.sleep(0)

    async def never_set_up() -> None:
        await never()

    with caplog.at_level(logging.DEBUG, logger="dshcore"):
        asyncio.run(main())
    gc.collect()
    assert rows == ["part"]
    assert [record.getMessage() for record in caplog.records if record.name != "asyncio"] == []
    assert [message for message in caplog.messages if "destroyed" in message or "never" in message] == []


# --- parallel --------------------------------------------------------------------------------------------------------


def waiting(stage: Stage, name: str) -> Callable[[str], Awaitable[None]]:
    """Make a listener that cleans up slowly when it is cancelled."""

    async def listen(_: str) -> None:
        try:
            await stage.gate(name)
        except asyncio.CancelledError:
            stage.rows.append(f"{name} cancelled")
            await stage.gate(f"{name} cleaning")
            stage.rows.append(f"{name} clean")
            raise

    return listen


@pytest.mark.parametrize("times", [1, 2])
def test_a_cancelled_parallel_dispatch_ends_when_its_listeners_have(stage: Stage, times: int) -> None:
    """EVT-PAR-01: a second cancellation is handed on, too, and nothing ends before the listeners have."""
    stage.root.on(FLUSH, waiting(stage, "a"))
    dispatch = stage.start(lambda: stage.root.parallel(FLUSH, "x"))
    for _ in range(times):
        assert not dispatch.done()
        dispatch.cancel()
        stage.settle()
    if times == 1:
        assert not dispatch.done()
        stage.release("a cleaning")
    assert dispatch.cancelled()
    assert stage.rows == (["a cancelled", "a clean"] if times == 1 else ["a cancelled"])


def test_a_parallel_dispatch_can_be_cancelled_before_anybody_waits(stage: Stage) -> None:
    """EVT-PAR-01: the listeners have started with the call."""
    stage.root.on(FLUSH, waiting(stage, "a"))

    def dispatch_and_cancel() -> list[asyncio.Future[None]]:
        answer = asyncio.ensure_future(stage.root.parallel(FLUSH, "x"))
        answer.cancel()
        return [answer]

    (answer,) = stage.run(dispatch_and_cancel)
    assert (stage.rows, answer.done()) == (["a cancelled"], False)
    stage.release("a cleaning")
    assert answer.cancelled()


def test_a_listener_that_fails_when_it_is_cancelled_is_logged(
    stage: Stage, complaints: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The cancellation is what comes out; the failure stands in the log."""

    async def listen(_: str) -> None:
        try:
            await stage.gate("a")
        except asyncio.CancelledError:
            raise ValueError("broken") from None

    stage.root.on(FLUSH, listen)
    dispatch = stage.start(lambda: stage.root.parallel(FLUSH, "x"))
    dispatch.cancel()
    stage.settle()
    assert dispatch.cancelled()
    gc.collect()
    assert (complaints, caplog.messages) == ([], ["flush listener failed: ValueError: broken"])


def test_a_parallel_dispatch_runs_whether_or_not_anybody_waits(stage: Stage, recwarn: pytest.WarningsRecorder) -> None:
    """EVT-PAR-01: the listeners have started with the call; Python has no coroutine to complain of."""

    async def listen(payload: str) -> None:
        stage.rows.append(payload)

    stage.root.on(FLUSH, listen)
    stage.run(lambda: [stage.root.parallel(FLUSH, "x")])
    gc.collect()
    assert (stage.rows, len(recwarn)) == (["x"], 0)


# --- without a loop --------------------------------------------------------------------------------------------------


def test_a_mount_without_a_loop_leaves_nothing(stage: Stage) -> None:
    """FIBER-MOUNT-01: it is refused before anything is owned."""
    owned = len(stage.root.fiber.effects)
    with pytest.raises(NoEventLoop, match="no running event loop"):
        stage.root.mount(stage.plugin("p"))
    assert len(stage.root.fiber.effects) == owned


def test_what_takes_time_cannot_be_undone_without_a_loop_and_stays(
    stage: Stage, recwarn: pytest.WarningsRecorder
) -> None:
    """EFFECT-SINGLE-01: nothing was undone, so that it still can be."""

    def parts() -> Iterator[Undo]:
        yield stage.undo("first")
        yield stage.slow("slow")
        yield stage.undo("last")

    owner = stage.root.open(name="o")
    effect, composite = owner.effect(stage.slow("e"), label="e"), owner.composite(parts, label="c")
    for disposer in (effect, composite):
        with pytest.raises(NoEventLoop):
            disposer()
    assert (stage.take(), len(owner.fiber.effects)) == (["undo last"], 2)
    stage.start(composite)
    stage.release("slow")
    stage.start(effect)
    stage.release("e")
    assert stage.take() == ["undo slow …", "undo slow", "undo first", "undo e …", "undo e"]
    assert (len(owner.fiber.effects), len(recwarn)) == (0, 0)


def test_a_setup_without_a_loop_leaves_nothing(stage: Stage) -> None:
    """EFFECT-ASYNC-01: it is refused before its body is called."""

    async def setup() -> None:
        stage.rows.append("set up")

    owner = stage.root.open(name="o")
    with pytest.raises(NoEventLoop):
        owner.async_composite(setup, label="s")
    assert (stage.take(), len(owner.fiber.effects)) == ([], 0)


def test_a_disposal_without_a_loop_changes_nothing(stage: Stage) -> None:
    """FIBER-DISP-01: neither the fiber's nor that of a service somebody is loaded with; both can be done later."""
    withdraw = stage.root.provide(CLOCK, "one")
    plugin = stage.mount("p", requires=[CLOCK])
    stage.take()
    for disposer in (withdraw, plugin.fiber.dispose):
        with pytest.raises(NoEventLoop):
            disposer()
    assert (stage.take(), state(plugin), stage.root.get(CLOCK)) == ([], "active", "one")
    stage.start(withdraw)
    assert (state(plugin), stage.root.get(CLOCK)) == ("pending", None)
    stage.dispose(plugin)
    assert state(plugin) == "disposed"


def test_a_parallel_dispatch_without_a_loop_calls_nobody(stage: Stage) -> None:
    """EVT-PAR-01."""
    stage.root.on(FLUSH, waiting(stage, "a"))
    with pytest.raises(NoEventLoop):
        stage.root.parallel(FLUSH, "x")
    assert stage.rows == []
