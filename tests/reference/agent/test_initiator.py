"""The initiator: which agent has caused the code that is running."""

import asyncio
import functools
from typing import Any

import pytest
from tests.reference.world import World

from dshcore import eager
from dshcore.agent import Agent, AgentRegistry, Initiators, InitiatorScopeDisposed, NoInitiator
from dshcore.context import Context


@pytest.fixture
def agents(world: World) -> tuple[Agent, Agent]:
    return world.create("a"), world.create("b")


@pytest.fixture
def owner(world: World) -> Context:
    """The context of a registry that can be closed by itself."""
    return world.root.open(scope=None, name="registry")


@pytest.fixture
def scope(owner: Context) -> Initiators:
    return AgentRegistry(owner).initiators


def test_plain_code_has_none(scope: Initiators) -> None:
    """An optional read says so, a required one fails (INIT-READ-01)."""
    assert scope.current() is None
    with pytest.raises(NoInitiator, match=r"^no initiating agent is active$"):
        scope.require()


def test_operation_keeps_its_initiator(world: World, agents: Any, scope: Initiators) -> None:
    """At once and after every await, while the caller has its own back (INIT-READ-02)."""
    gate = world.loop.create_future()
    seen: list[Any] = []

    async def operation() -> str:
        seen.append(scope.require())
        await gate
        seen.append(scope.current())
        return "done"

    async def call() -> Any:
        running = scope.within(agents[0], operation)
        seen.append(scope.current())
        gate.set_result(None)
        return await running

    assert world.start(call).result() == "done"
    assert seen == [agents[0], None, agents[0]]


def test_boundaries_nest(agents: Any, scope: Initiators) -> None:
    """They are restored on return and on a failure; one may hide the initiator (INIT-READ-03, INIT-READ-04)."""
    a, b = agents
    seen: list[Any] = []

    def fail() -> None:
        seen.append(scope.current())
        raise ValueError("inner")

    def outer() -> str:
        with pytest.raises(ValueError, match="inner"):
            scope.within(b, fail)
        seen.append(scope.current())
        seen.append(scope.without(scope.current))
        with pytest.raises(NoInitiator):
            scope.without(scope.require)
        seen.append(scope.current())
        return "answer"

    assert scope.within(a, outer) == "answer"
    assert seen == [b, a, None, a]
    assert scope.current() is None


def test_overlapping_boundaries_are_apart(world: World, agents: Any, scope: Initiators) -> None:
    """Two operations that alternate read their own agents (INIT-READ-03)."""
    seen: list[str] = []

    async def operation() -> None:
        for _ in range(3):
            seen.append(scope.require().id)
            await asyncio.sleep(0)

    world.run(lambda: [scope.within(agent, operation) for agent in agents])
    assert (sorted(seen[:2]), sorted(seen)) == (["a", "b"], ["a"] * 3 + ["b"] * 3)


def test_what_is_started_inherits(world: World, agents: Any, scope: Initiators) -> None:
    """Also when the boundary is long over; where it is hidden, nothing is inherited (INIT-READ-05)."""
    seen: list[Any] = []
    loop = world.loop

    def start() -> None:
        loop.call_later(5, lambda: seen.append(scope.current()))

    def stretch() -> None:
        scope.within(agents[0], start)
        scope.within(agents[0], lambda: scope.without(start))

    world.run(stretch)
    loop.advance(5)
    assert seen == [agents[0], None]


def test_answers_pass_as_they_are(world: World, agents: Any, scope: Initiators) -> None:
    """A future is the same object; so is a value, also one that can be awaited, and what was raised (INIT-READ-06)."""

    class Value:
        """Has other uses than to be awaited."""

        def __await__(self) -> Any:
            raise AssertionError

    future, value, failure = world.loop.create_future(), Value(), ValueError("own")

    def throw() -> None:
        raise failure

    assert scope.within(agents[0], lambda: future) is future
    assert scope.without(lambda: future) is future
    assert scope.within(agents[0], lambda: value) is value
    with pytest.raises(ValueError, match="own") as caught:
        scope.without(throw)
    assert caught.value is failure


def test_coroutine_without_a_loop(agents: Any, scope: Initiators) -> None:
    """It cannot run; nothing stays open for it."""

    async def operation() -> None:
        """Never run."""

    with pytest.raises(RuntimeError, match="no running event loop"):
        scope.within(agents[0], operation)
    assert not scope._boundaries._open


# --- closing ---------------------------------------------------------------------------------------------------------


def test_closing_refuses_boundaries_and_lets_reads_go_on(
    world: World, agents: Any, owner: Context, scope: Initiators
) -> None:
    """From its first moment on, until it is over; then nothing works (INIT-CLOSE-01, INIT-CLOSE-02, INIT-CLOSE-04)."""
    gate, seen = world.loop.create_future(), list[Any]()

    async def hold() -> None:
        await gate
        seen.append(scope.current())

    def fail() -> None:
        pytest.fail("the operation was called")

    world.run(lambda: scope.within(agents[0], hold))

    def close() -> None:
        owner.dispose()
        with pytest.raises(InitiatorScopeDisposed, match=r"^agent initiator scope is disposed$"):
            scope.within(agents[0], fail)
        with pytest.raises(InitiatorScopeDisposed):
            scope.without(fail)
        seen.append(scope.current())

    world.run(close)
    assert (seen, scope.current()) == ([None], None)
    with pytest.raises(InitiatorScopeDisposed):
        scope.without(lambda: 1)
    world.run(lambda: gate.set_result(None))
    assert seen == [None, agents[0]]
    for read in (scope.current, scope.require):
        with pytest.raises(InitiatorScopeDisposed):
            read()


def test_end_of_what_is_around_closes_too(world: World, agents: Any) -> None:
    """A scope that contains the registry counts from its own beginning (INIT-CLOSE-01)."""
    outer = world.root.open(scope=None, name="outer")
    scope = AgentRegistry(outer.open(name="registry")).initiators

    def close() -> None:
        outer.dispose()
        with pytest.raises(InitiatorScopeDisposed):
            scope.within(agents[0], lambda: 1)

    world.run(close)


def test_root_that_goes_on_does_not_open_it_again(world: World, agents: Any) -> None:
    """The registry that ended with it stays closed (INIT-CLOSE-01, INIT-CLOSE-04)."""
    scope = AgentRegistry(world.root).initiators
    world.run(world.root.dispose)
    assert world.root.active
    with pytest.raises(InitiatorScopeDisposed):
        scope.within(agents[0], lambda: 1)
    with pytest.raises(InitiatorScopeDisposed):
        scope.current()


def test_closing_waits_for_what_was_returned(world: World, agents: Any, owner: Context, scope: Initiators) -> None:
    """And not for what a boundary has started besides (INIT-CLOSE-03)."""
    gates = [world.loop.create_future() for _ in range(2)]
    detached: list[Any] = []

    async def wait() -> None:
        await world.loop.create_future()

    for gate in gates:
        scope.within(agents[0], functools.partial(asyncio.ensure_future, gate))
    world.run(lambda: scope.within(agents[0], lambda: detached.append(eager.start(wait()))))
    closing = world.start(owner.dispose)
    assert not closing.done()
    world.run(lambda: gates[0].set_result(None))
    assert not closing.done()
    world.run(lambda: gates[1].set_exception(ValueError("rejected")))
    assert (closing.done(), detached[0].done(), str(gates[1].exception())) == (True, False, "rejected")


@pytest.mark.parametrize("unrelated", [False, True])
def test_closing_from_inside_a_boundary(
    world: World, agents: Any, owner: Context, scope: Initiators, *, unrelated: bool
) -> None:
    """The chain that began it is not waited for, whatever it is nested in; others are (INIT-CLOSE-05)."""
    gate = world.loop.create_future()
    if unrelated:
        world.run(lambda: scope.within(agents[1], lambda: gate))
    ended: list[str] = []

    async def inner() -> None:
        await owner.dispose()
        ended.append("inner")

    async def outer() -> None:
        await scope.without(inner)
        ended.append("outer")

    world.run(lambda: scope.within(agents[0], outer))
    if unrelated:
        assert ended == []
        world.run(lambda: gate.set_result(None))
    assert ended == ["inner", "outer"]
