import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from dshcore.context import Context, InactiveContext, ServiceKey, ServiceMissing, ServiceTaken
from dshcore.events import Emit
from dshcore.settling import SettlingLoop

CLOCK: Final = ServiceKey[str]("clock")
TOLD: Final = Emit[str]("told", scoped=False)


class Ledger:
    """Undo functions that record when they begin and end."""

    def __init__(self, loop: SettlingLoop) -> None:
        self.rows: list[str] = []
        self._loop = loop
        self._gates: dict[str, asyncio.Future[None]] = {}

    def undo(self, name: str) -> Callable[[], None]:
        return lambda: self.rows.append(name)

    def blocked(self, name: str) -> Callable[[], Awaitable[None]]:
        gate = self._gates[name] = self._loop.create_future()

        async def undo() -> None:
            self.rows.append(f"{name} begins")
            await gate
            self.rows.append(f"{name} ends")

        return undo

    def release(self, name: str) -> None:
        self._gates[name].set_result(None)
        self._loop.settle()


@pytest.fixture
def ledger(loop: SettlingLoop) -> Ledger:
    return Ledger(loop)


def dispose(loop: SettlingLoop, ctx: Context) -> "asyncio.Future[None]":
    async def main() -> None:
        await ctx.dispose()

    task = loop.create_task(main())
    loop.settle()
    return task


def test_undos_are_started_in_reverse_order_without_waiting(loop: SettlingLoop, ledger: Ledger) -> None:
    """FIBER-DISP-02, FIBER-DISP-03: the end is reached when all have finished."""
    ctx = Context().open(scope="s")
    ctx.effect(ledger.undo("e1"), label="e1")
    ctx.effect(ledger.blocked("b1"), label="b1")
    ctx.effect(ledger.blocked("b2"), label="b2")
    ctx.effect(ledger.undo("e2"), label="e2")
    ending = dispose(loop, ctx)
    assert ledger.rows == ["e2", "b2 begins", "b1 begins", "e1"]
    ledger.release("b1")
    assert not ending.done()
    ledger.release("b2")
    assert ending.done()
    assert repr(ctx) == "<Context root disposed>"


def test_disposal_takes_effect_at_once_and_undoes_later(loop: SettlingLoop, ledger: Ledger) -> None:
    """FIBER-DISP-01: registrations are refused when the call returns, undos run after it."""
    ctx = Context().open(scope="s")
    ctx.effect(ledger.undo("e"), label="e")

    async def main() -> None:
        completion = ctx.dispose()
        assert not ctx.active
        assert ledger.rows == []
        for register in (
            lambda: ctx.effect(ledger.undo("late"), label="late"),
            lambda: ctx.on(TOLD, print),
            lambda: ctx.provide(CLOCK, "late"),
            lambda: ctx.open(scope="late"),
            ctx.assert_active,
        ):
            with pytest.raises(InactiveContext, match="cannot create effect on inactive context") as refused:
                register()
            assert refused.value.code == "INACTIVE_EFFECT"
        await completion

    loop.run_until_complete(main())
    assert ledger.rows == ["e"]
    assert Context().active


def test_a_refused_provision_leaves_the_key_free(loop: SettlingLoop) -> None:
    """SCOPE-DISP-03: every registry stays as it was."""
    root = Context()
    ctx = root.open(scope="s")
    dispose(loop, ctx)
    with pytest.raises(InactiveContext):
        ctx.provide(CLOCK, "late")
    root.provide(CLOCK, "mine")
    assert ctx.get(CLOCK) == "mine", "a disposed context still looks things up"


def test_a_failing_undo_is_logged_and_stops_nothing(
    loop: SettlingLoop, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    """FIBER-DISP-04: synchronous or not."""
    ctx = Context().open(scope="s")

    async def fail_later() -> None:
        await asyncio.sleep(0)
        raise ValueError("later")

    def fail() -> None:
        raise ValueError("now")

    async def cancelled() -> None:
        raise asyncio.CancelledError

    ctx.effect(ledger.undo("first"), label="first")
    ctx.effect(fail, label="failing")
    ctx.effect(fail_later, label="failing later")
    ctx.effect(cancelled, label="cancelled")
    ctx.effect(ledger.undo("last"), label="last")
    with caplog.at_level(logging.WARNING):
        ending = dispose(loop, ctx)
    assert ending.exception() is None
    assert ledger.rows == ["last", "first"]
    assert caplog.messages == [
        "undo of failing failed: ValueError: now",
        "undo of cancelled failed: CancelledError",
        "undo of failing later failed: ValueError: later",
    ]


def test_a_disposer_works_once(loop: SettlingLoop, ledger: Ledger) -> None:
    """EFFECT-SINGLE-01, EFFECT-RUN-02: a second call answers none at once, and the owner's end does not repeat it."""
    ctx = Context().open(scope="s")
    quick = ctx.effect(ledger.undo("quick"), label="quick")
    slow = ctx.effect(ledger.blocked("slow"), label="slow")

    async def main() -> None:
        assert quick() is None
        answer = slow()
        assert slow() is None
        assert quick() is None
        assert answer is not None
        await answer
        await ctx.dispose()

    task = loop.create_task(main())
    loop.settle()
    ledger.release("slow")
    assert task.done()
    task.result()
    assert ledger.rows == ["quick", "slow begins", "slow ends"]


def test_the_end_joins_an_undo_in_progress(loop: SettlingLoop, ledger: Ledger) -> None:
    """EFFECT-SINGLE-02."""
    ctx = Context().open(scope="s")
    slow = ctx.effect(ledger.blocked("slow"), label="slow")
    loop.call_soon(slow)
    loop.settle()
    ending = dispose(loop, ctx)
    assert not ending.done()
    ledger.release("slow")
    assert ending.done()
    assert ledger.rows == ["slow begins", "slow ends"]


@pytest.mark.parametrize("late", [False, True])
def test_a_failing_undo_reaches_who_called_its_disposer(loop: SettlingLoop, late: bool) -> None:
    """EFFECT-ERR-01: and the effect counts as undone."""
    ctx = Context().open(scope="s")

    def fail() -> None:
        raise ValueError("no")

    async def fail_later() -> None:
        raise ValueError("no")

    undo = ctx.effect(fail_later if late else fail, label="failing")

    async def call() -> None:
        answer = undo()
        assert answer is not None
        await answer

    async def main() -> None:
        with pytest.raises(ValueError, match="no"):
            await call()
        assert undo() is None
        await ctx.dispose()

    loop.run_until_complete(main())


def test_cancelling_who_waits_does_not_stop_the_undoing(loop: SettlingLoop, ledger: Ledger) -> None:
    ctx = Context().open(scope="s")
    undo = ctx.effect(ledger.blocked("slow"), label="slow")
    ctx.effect(ledger.blocked("other"), label="other")
    ending = dispose(loop, ctx)
    ending.cancel()
    loop.settle()
    assert ending.cancelled()
    ledger.release("slow")
    ledger.release("other")
    assert ledger.rows == ["other begins", "slow begins", "slow ends", "other ends"]
    assert not ctx.active
    assert undo() is None


def test_all_calls_answer_the_same_completion(loop: SettlingLoop, ledger: Ledger) -> None:
    """SCOPE-DISP-02."""
    ctx = Context().open(scope="s")
    ctx.effect(ledger.blocked("slow"), label="slow")
    first, second = dispose(loop, ctx), dispose(loop, ctx)
    assert not first.done()
    assert not second.done()
    ledger.release("slow")
    assert first.done()
    assert second.done()

    async def main() -> bool:
        return asyncio.ensure_future(ctx.dispose()).done()

    assert loop.run_until_complete(main()), "there is nothing to wait for any more"


def test_a_scope_ends_with_its_owner_at_its_place(loop: SettlingLoop, ledger: Ledger) -> None:
    """SCOPE-MINT-03, FIBER-DISP-03: the owner's end waits for the scope's."""
    owner = Context().open(scope="owner")
    owner.effect(ledger.undo("before"), label="before")
    inner = owner.open(scope="inner", name="inner")
    inner.effect(ledger.blocked("inner"), label="inner")
    owner.effect(ledger.undo("after"), label="after")
    ending = dispose(loop, owner)
    assert ledger.rows == ["after", "before", "inner begins"]
    assert not inner.active
    assert not ending.done()
    ledger.release("inner")
    assert ending.done()
    assert inner.name == "inner"


def test_an_owner_joins_the_end_of_a_scope_that_is_ending(loop: SettlingLoop, ledger: Ledger) -> None:
    owner = Context().open(scope="owner")
    inner = owner.open(scope="inner")
    inner.effect(ledger.blocked("inner"), label="inner")
    dispose(loop, inner)
    ending = dispose(loop, owner)
    assert not ending.done()
    ledger.release("inner")
    assert ending.done()


def test_what_was_undone_is_forgotten_by_its_owner(loop: SettlingLoop) -> None:
    """An application that comes and goes for long does not grow."""
    owner = Context()

    def fail() -> None:
        raise ValueError("no")

    dispose(loop, owner.open(scope="s"))
    owner.on(TOLD, print)()
    with pytest.raises(ValueError, match="no"):
        owner.effect(fail, label="failing")()
    assert len(owner.fiber.effects) == 0


def test_a_scope_that_is_not_owned_outlives_the_context_it_was_derived_from(loop: SettlingLoop, ledger: Ledger) -> None:
    owner = Context().open(scope="owner")
    inner = owner.open(scope="inner", owned=False)
    dispose(loop, owner)
    inner.effect(ledger.undo("inner"), label="inner")
    dispose(loop, inner)
    assert ledger.rows == ["inner"]
    with pytest.raises(InactiveContext):
        owner.open(scope="late", owned=False)


def test_the_root_stays_usable(loop: SettlingLoop, ledger: Ledger) -> None:
    """FIBER-DISP-09: each disposal undoes what was registered since the last."""
    root = Context()
    for round_ in ("one", "two"):
        root.provide(CLOCK, round_)
        root.effect(ledger.undo(round_), label=round_)
        dispose(loop, root)
        assert root.get(CLOCK) is None
        assert root.active
    assert ledger.rows == ["one", "two"]


def test_ending_needs_a_loop_and_says_so_before_it_changes_anything(loop: SettlingLoop) -> None:
    owner = Context().open(scope="owner")
    ctx = owner.open(scope="s")
    with pytest.raises(RuntimeError, match="no running event loop"):
        ctx.dispose()
    assert ctx.active
    dispose(loop, owner)
    assert not ctx.active


def test_a_service_is_found_everywhere_until_it_is_withdrawn(loop: SettlingLoop) -> None:
    """CTX-PROVIDE-01: by its disposer, or by its provider's end; then somebody else can provide it."""
    root = Context()
    provider, other = root.open(scope="p", name="provider"), root.open(scope="o")
    withdraw = provider.provide(CLOCK, "one")
    assert other.get(CLOCK) == root[CLOCK] == "one"
    withdraw()
    assert root.get(CLOCK) is None
    provider.provide(CLOCK, "two")
    assert other.get(CLOCK) == "two"
    dispose(loop, provider)
    other.provide(CLOCK, "three")
    withdraw()
    assert root[CLOCK] == "three"


def test_a_key_has_one_provider() -> None:
    """CTX-PROVIDE-02: the first provision stays."""
    root = Context()
    root.open(scope="p", name="provider").provide(CLOCK, "one")
    with pytest.raises(ServiceTaken, match='service "clock" has been registered at <provider>'):
        root.provide(CLOCK, "two")
    assert root[CLOCK] == "one"


def test_a_service_of_an_ending_provider_is_not_found(loop: SettlingLoop, ledger: Ledger) -> None:
    """CTX-GET-01: from the moment the end begins."""
    root = Context()
    provider = root.open(scope="p")
    provider.provide(CLOCK, "one")
    provider.effect(ledger.blocked("slow"), label="slow")

    async def main() -> None:
        completion = provider.dispose()
        assert root.get(CLOCK) is None
        ledger._gates["slow"].set_result(None)
        await completion

    loop.run_until_complete(main())


def test_two_keys_are_two_services_whatever_their_names() -> None:
    root = Context()
    root.provide(ServiceKey[str]("clock"), "other")
    assert root.get(CLOCK) is None


def test_a_missing_service_is_named() -> None:
    """CTX-READ-02."""
    with pytest.raises(ServiceMissing, match='cannot get property "clock" without inject'):
        Context()[CLOCK]
    assert Context().get(CLOCK) is None
