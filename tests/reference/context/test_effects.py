"""Effects: composites, adoption, rollbacks, setups that take time."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from tests.reference.stage import Stage, state
from typeguard import suppress_type_checks

from dshcore.context import AsyncDisposer, Context, Disposer, InactiveContext, InvalidEffect, Undo
from dshcore.settling import SettlingLoop


@pytest.fixture
def owner(stage: Stage) -> Context:
    return stage.root.open(name="owner")


def undos(stage: Stage) -> list[str]:
    return [row.removeprefix("undo ") for row in stage.take() if row.startswith("undo")]


def test_a_body_runs_inside_the_call(stage: Stage, owner: Context) -> None:
    """EFFECT-RUN-01."""

    def body() -> Undo:
        stage.rows.append("body")
        return stage.undo("a")

    disposer = owner.composite(body, label="c")
    stage.rows.append("registered")
    assert isinstance(disposer, Disposer)
    assert repr(disposer) == "<Disposer c>"
    assert stage.take() == ["body", "registered"]
    assert disposer() is None
    stage.dispose(owner)
    assert undos(stage) == ["a"], "EFFECT-RUN-02: what was undone is not undone again"


def test_parts_are_unwound_in_reverse_one_after_another(stage: Stage, owner: Context) -> None:
    """EFFECT-GEN-01: what takes time is finished before the next one starts."""

    def body() -> Iterator[Undo | None]:
        yield stage.undo("a")
        yield None
        yield stage.slow("b")
        yield stage.slow("c")
        yield stage.undo("d")

    undoing = stage.start(owner.composite(body, label="c"))
    assert undos(stage) == ["d", "c …"]
    stage.release("c")
    assert undos(stage) == ["c", "b …"]
    stage.release("b")
    assert undos(stage) == ["b", "a"]
    assert undoing.done()


def test_a_generator_may_answer_a_last_part(stage: Stage, owner: Context) -> None:
    def body() -> "Iterator[Undo]":
        yield stage.undo("a")
        return stage.undo("b")  # type: ignore[return-value]  # generators may

    owner.composite(body, label="c")()
    assert undos(stage) == ["b", "a"]


def test_a_failing_body_undoes_its_parts(stage: Stage, owner: Context) -> None:
    """EFFECT-GEN-02: in reverse; the error reaches the caller, and nothing stays owned."""

    def body() -> Iterator[Undo]:
        yield stage.undo("a")
        yield stage.undo("b")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        owner.composite(body, label="c")
    assert undos(stage) == ["b", "a"]
    stage.dispose(owner)
    assert undos(stage) == []


def test_a_rollback_that_takes_time_is_joined_by_the_owner(stage: Stage, owner: Context) -> None:
    """EFFECT-GEN-03: the error comes at once."""

    def body() -> Iterator[Undo]:
        yield stage.undo("a")
        yield stage.slow("b")
        raise ValueError("no")

    def register() -> None:
        with pytest.raises(ValueError, match="no"):
            owner.composite(body, label="c")
        stage.rows.append("failed")

    stage.run(register)
    assert stage.take() == ["undo b …", "failed"]
    ending = stage.dispose(owner)
    assert not ending.done()
    stage.release("b")
    assert undos(stage) == ["b", "a"]
    assert ending.done()


def test_a_failing_rollback_is_reported(stage: Stage, owner: Context, caplog: pytest.LogCaptureFixture) -> None:
    """At once it is what the caller gets, with what caused it as its context; later it is logged."""

    def body(undo: Undo) -> Callable[[], Iterator[Undo]]:
        def parts() -> Iterator[Undo]:
            yield undo
            raise ValueError("cause")

        return parts

    with pytest.raises(ValueError, match="undo") as failed:
        owner.composite(body(stage.failing("undo")), label="c")
    assert str(failed.value.__context__) == "cause"

    async def fail_later() -> None:
        raise ValueError("late")

    def register() -> None:
        with pytest.raises(ValueError, match="cause"):
            owner.composite(body(fail_later), label="c")

    with caplog.at_level(logging.WARNING):
        stage.run(register)
    assert caplog.messages == ["undo of c failed: ValueError: late"]


@pytest.mark.parametrize("wrap", [False, True])
def test_adoption_goes_by_the_very_disposer(stage: Stage, owner: Context, wrap: bool) -> None:
    """EFFECT-NEST-01, EFFECT-NEST-02: a wrapper leaves the effect where it was registered."""

    def body() -> Iterator[Undo]:
        yield stage.undo("first")
        inner = owner.effect(stage.slow("inner"), label="inner")
        yield (lambda: inner()) if wrap else inner  # noqa: PLW0108 - the point
        yield stage.undo("last")

    owner.composite(body, label="c")
    ending = stage.dispose(owner)
    assert undos(stage) == (["inner …", "last", "first"] if wrap else ["last", "inner …"])
    assert not ending.done()
    stage.release("inner")
    assert undos(stage) == (["inner"] if wrap else ["inner", "first"])
    assert ending.done()


def test_a_composite_waits_for_an_adopted_undo_that_somebody_started(stage: Stage, owner: Context) -> None:
    """EFFECT-SINGLE-02."""
    inner = owner.effect(stage.slow("inner"), label="inner")

    def body() -> Iterator[Undo]:
        yield stage.undo("first")
        yield inner

    composite = owner.composite(body, label="c")
    started = stage.start(inner)
    undoing = stage.start(composite)
    assert undos(stage) == ["inner …"]
    stage.release("inner")
    assert undos(stage) == ["inner", "first"]
    assert started.done()
    assert undoing.done()


def test_a_disposer_of_another_owner_is_called_and_stays_with_it(stage: Stage, owner: Context) -> None:
    """EFFECT-NEST-01: of the same fiber."""
    other = stage.root.open(name="other")
    foreign = stage.effect(other, "foreign")
    composite = owner.composite(lambda: foreign, label="c")
    assert len(other.fiber.effects) == 1
    composite()
    assert undos(stage) == ["foreign"]
    assert len(other.fiber.effects) == 0


def test_a_failing_part_skips_those_before_it(stage: Stage, owner: Context) -> None:
    """EFFECT-ERR-01: the failure reaches the caller; the effect counts as undone."""

    def body() -> Iterator[Undo]:
        yield stage.undo("a")
        yield stage.failing("b")
        yield stage.undo("c")

    disposer = owner.composite(body, label="c")
    with pytest.raises(ValueError, match="b"):
        disposer()
    assert disposer() is None
    stage.dispose(owner)
    assert undos(stage) == ["c", "b"]


def test_a_part_that_fails_later_does_the_same(stage: Stage, owner: Context) -> None:
    """EFFECT-ERR-01."""

    def body() -> Iterator[Undo]:
        yield stage.undo("a")
        yield stage.slow("b")

    disposer = owner.composite(body, label="c")
    undoing = stage.start(disposer)
    stage.release("b", ValueError("b"))
    assert str(undoing.exception()) == "b"
    assert undos(stage) == ["b …"]


@pytest.mark.parametrize("part", [5, 0, False, "", "text"])
@pytest.mark.parametrize("yielded", [False, True])
def test_what_is_no_undo_is_refused(stage: Stage, owner: Context, part: object, yielded: bool) -> None:
    """EFFECT-ERR-02: what was yielded before is undone."""
    closed: list[str] = []

    def yields() -> Iterator[object]:
        try:
            yield stage.undo("a")
            yield part
        finally:
            closed.append("closed")

    with suppress_type_checks(), pytest.raises(InvalidEffect) as refused:
        owner.composite(yields if yielded else lambda: part, label="c")  # type: ignore[arg-type,return-value]  # the point
    assert (str(refused.value), isinstance(refused.value, TypeError)) == ("Invalid effect", True)
    assert (undos(stage), closed) == ((["a"], ["closed"]) if yielded else ([], []))


def test_a_body_that_takes_time_is_no_body_of_a_plain_composite(stage: Stage, owner: Context) -> None:
    async def body() -> None: ...

    async def yields() -> AsyncIterator[Undo]:
        yield stage.undo("a")

    future = stage.loop.create_future()
    for made in (body, yields, lambda: future):
        with suppress_type_checks(), pytest.raises(InvalidEffect):
            owner.composite(made, label="c")  # type: ignore[arg-type]  # the point


def test_a_body_may_end_its_owner(stage: Stage, owner: Context) -> None:
    """EFFECT-REENT-01: what it yields afterwards is collected, and all is undone when it has ended."""

    def body() -> Iterator[Undo]:
        yield stage.undo("a")
        ending.append(owner.dispose())
        yield stage.undo("b")

    ending: list[object] = []
    stage.run(lambda: owner.composite(body, label="c"))
    assert [row for row in stage.rows if "→" not in row] == ["undo b", "undo a"]
    assert stage.rows[-1] == "owner: unloading → disposed"
    with pytest.raises(InactiveContext):
        owner.composite(lambda: stage.undo("late"), label="late")


# --- setups that take time -------------------------------------------------------------------------------------------


def test_an_undo_waits_for_the_setup(stage: Stage, owner: Context) -> None:
    """EFFECT-ASYNC-01: then it undoes what was set up."""

    async def body() -> Undo:
        stage.rows.append("begun")
        await stage.gate("setup")
        return stage.undo("a")

    holder: list[AsyncDisposer] = []

    def register() -> None:
        holder.append(owner.async_composite(body, label="c"))
        assert stage.take() == ["begun"], "EFFECT-RUN-01: it begins inside the call"

    stage.run(register)
    undoing = stage.start(holder[0].__call__)
    assert (undos(stage), undoing.done()) == ([], False)
    stage.release("setup")
    assert undos(stage) == ["a"]
    assert undoing.done()


def test_awaiting_it_sees_the_setup_done(stage: Stage, owner: Context) -> None:
    """EFFECT-ASYNC-01."""

    async def body() -> AsyncIterator[Undo]:
        yield stage.undo("a")
        await stage.gate("setup")
        yield stage.slow("b")

    async def register() -> AsyncDisposer:
        disposer = owner.async_composite(body, label="c")
        await disposer
        return disposer

    registering = stage.start(register)
    assert not registering.done()
    stage.release("setup")
    assert registering.done()
    ending = stage.dispose(owner)
    assert undos(stage) == ["b …"]
    stage.release("b")
    assert undos(stage) == ["b", "a"]
    assert ending.done()


@pytest.mark.parametrize("awaited", [False, True])
def test_a_failing_setup_undoes_its_parts(
    stage: Stage, owner: Context, caplog: pytest.LogCaptureFixture, awaited: bool
) -> None:
    """EFFECT-ASYNC-01: whoever awaits it gets the error, and nobody else."""

    async def body() -> AsyncIterator[Undo]:
        yield stage.undo("a")
        await asyncio.sleep(0)
        raise ValueError("no")

    async def register() -> None:
        disposer = owner.async_composite(body, label="c")
        if awaited:
            await disposer

    failure = stage.start(register).exception()
    assert (str(failure) if failure else None) == ("no" if awaited else None)
    assert (undos(stage), len(owner.fiber.effects), caplog.messages) == (["a"], 0, [])


def test_who_undoes_a_failing_setup_gets_its_error(stage: Stage, owner: Context) -> None:
    """EFFECT-ASYNC-01."""

    async def body() -> None:
        await stage.gate("setup")

    holder: list[AsyncDisposer] = []
    stage.run(lambda: holder.append(owner.async_composite(body, label="c")))
    undoing = stage.start(holder[0].__call__)
    stage.release("setup", ValueError("no"))
    assert str(undoing.exception()) == "no"


def test_a_rollback_of_a_setup_that_fails_is_logged(
    stage: Stage, owner: Context, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> AsyncIterator[Undo]:
        yield stage.failing("a")
        raise ValueError("no")

    with caplog.at_level(logging.WARNING):
        stage.run(lambda: [owner.async_composite(body, label="c")])
    assert caplog.messages == ["undo of c failed: ValueError: a"]


def test_a_setup_that_is_cancelled_counts_as_failed(loop: SettlingLoop, stage: Stage, owner: Context) -> None:
    async def body() -> AsyncIterator[Undo]:
        yield stage.undo("a")
        await stage.gate("setup")

    holder: list[AsyncDisposer] = []
    stage.run(lambda: holder.append(owner.async_composite(body, label="c")))
    holder[0].setup.cancel()
    loop.settle()
    assert undos(stage) == ["a"]
    assert state(owner) == "active"


def test_an_undo_may_answer_anything(stage: Stage, owner: Context) -> None:
    """EFFECT-GEN-01: only what can be awaited takes time; the parts before such an undo are undone."""

    def answering() -> int:
        stage.rows.append("undo b")
        return 5

    def body() -> Iterator[Undo]:
        yield stage.undo("a")
        yield answering  # type: ignore[misc]  # the point
        yield stage.slow("c")
        yield answering  # type: ignore[misc]

    with suppress_type_checks():
        plain = owner.effect(answering, label="e")  # type: ignore[arg-type]
        composite = owner.composite(body, label="c")
        assert plain() is None
        stage.start(composite)
        stage.release("c")
    assert undos(stage) == ["b", "b", "c …", "c", "b", "a"]
    assert len(owner.fiber.effects) == 0


@pytest.mark.parametrize("undo", [5, None, "text"])
def test_an_undo_that_cannot_be_called_is_refused_at_once(owner: Context, undo: object) -> None:
    """EFFECT-ERR-02: not when the owner ends."""
    with suppress_type_checks(), pytest.raises(InvalidEffect) as refused:
        owner.effect(undo, label="e")  # type: ignore[arg-type]  # the point
    assert repr(undo) in refused.value.__notes__[0]
    assert len(owner.fiber.effects) == 0


@pytest.mark.parametrize("later", [False, True])
def test_a_body_that_does_not_close_does_not_hide_why_it_was_to(
    stage: Stage, owner: Context, caplog: pytest.LogCaptureFixture, later: bool
) -> None:
    """EFFECT-ERR-02: an asynchronous generator is closed, too, and the refused part is what comes out."""

    def now() -> Iterator[object]:
        try:
            yield 5
        finally:
            stage.rows.append("closing")
            yield None

    async def then() -> AsyncIterator[object]:
        try:
            yield 5
        finally:
            stage.rows.append("closing")
            yield None

    async def register() -> None:
        if later:
            await owner.async_composite(then, label="c")  # type: ignore[arg-type]  # the point
        else:
            owner.composite(now, label="c")  # type: ignore[arg-type]  # the point

    with suppress_type_checks():
        assert isinstance(stage.start(register).exception(), InvalidEffect)
    assert stage.take() == ["closing"]
    assert [message.partition(": ")[2] for message in caplog.messages] == [
        f"RuntimeError: {'async ' if later else ''}generator ignored GeneratorExit"
    ]
