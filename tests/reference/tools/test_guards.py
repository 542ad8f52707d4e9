"""Who may keep a call from its body: guards, and those who are asked for approval."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.toolbox import BEFORE, Toolbox, answering, content, error_of, raising
from tests.reference.world import World
from typeguard import suppress_type_checks

from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, InactiveContext
from dshcore.scope import bind_scope_parent
from dshcore.tools import (
    APPROVAL,
    TOOLS_CHANGE,
    TOOLS_PRE_EXECUTE,
    ApprovalRequest,
    Ask,
    Guard,
    InvalidTool,
    ToolExecution,
    ToolFailure,
)


class Key:
    """A scope."""


def scoped(world: World, key: object) -> Context:
    """A context of a scope."""
    return world.run(lambda: world.root.open(scope=key))


def guard(world: World, tools: Toolbox, check: Guard, owner: Context | None = None) -> Callable[[], object]:
    """Register a guard."""
    own = world.root if owner is None else owner
    disposer: Callable[[], object] = world.run(lambda: tools.tools.guard(own, check))
    return disposer


def saying(world: World, name: str, reason: str | None = None) -> Guard:
    """A guard that notes that it is asked."""

    def check(_: ToolExecution) -> str | None:
        world.rows.append(name)
        return reason

    return check


# --- guards ----------------------------------------------------------------------------------------------------------


def test_guards_are_asked_from_the_outside_in(world: World, tools: Toolbox) -> None:
    """The global ones, then those of the chain, the farthest first; the first reason ends it (PIPE-GUARD-01)."""
    child, parent = Key(), Key()
    bind_scope_parent(child, parent)
    tools.add()
    guard(world, tools, saying(world, "child", "too late"), scoped(world, child))
    guard(world, tools, saying(world, "parent", ""), scoped(world, parent))
    guard(world, tools, saying(world, "first"))
    guard(world, tools, saying(world, "second"))
    tools.record_stages()
    result = tools.execute(scope=child)
    assert result == ToolFailure(error=error_of(result), content=content("Error: "))
    assert error_of(result).message == ""
    assert world.take() == ["> pre c", "first", "second", "parent", "> post c error", "tools/result c error"]
    assert not tools.execute().is_error  # a call of nobody knows no scope


def test_a_failing_guard_fails_the_call(world: World, tools: Toolbox) -> None:
    """Nobody else is asked (PIPE-GUARD-03)."""
    tools.add()
    guard(world, tools, raising(ValueError("stuck")))
    guard(world, tools, saying(world, "second"))
    tools.record_stages()
    assert error_of(tools.execute()).message == "stuck"
    assert world.take() == ["> pre c", "tools/result c error"]


@pytest.mark.parametrize("answer", [True, ["no"], 0])
def test_a_guard_answers_a_reason_or_nothing(world: World, tools: Toolbox, answer: Any) -> None:
    """Anything else fails the call: a guard that is not understood does not abstain."""
    tools.add()
    guard(world, tools, lambda _: answer)
    assert "a guard answered" in error_of(tools.execute()).message


def test_a_guard_cannot_wait(world: World, tools: Toolbox) -> None:
    """A coroutine is no reason, and is closed."""
    tools.add()

    async def check(_: ToolExecution) -> str:
        return "no"

    guard(world, tools, check)  # type: ignore[arg-type]
    assert "a guard answered <coroutine" in error_of(tools.execute()).message


def test_what_is_no_function_is_no_guard(world: World, tools: Toolbox) -> None:
    """It is told where it is registered; and who has ended registers nothing (TOOL-DISPOSE-03)."""
    with pytest.raises(InvalidTool, match="a guard is a function"), suppress_type_checks():
        guard(world, tools, "no")  # type: ignore[arg-type]
    owner = scoped(world, Key())
    world.run(owner.dispose)
    with pytest.raises(InactiveContext):
        guard(world, tools, saying(world, "g"), owner)


def test_guards_are_no_change(world: World, tools: Toolbox) -> None:
    """Nobody is told of them (TOOL-CHANGE-01)."""
    changes: list[None] = []
    world.root.on(TOOLS_CHANGE, changes.append)
    world.run(guard(world, tools, saying(world, "g")))
    assert not changes


def test_guards_are_read_live(world: World, tools: Toolbox) -> None:
    """One that is added is asked, one that is lifted is not; an emptied layer waits (PIPE-GUARD-04, PIPE-GUARD-05)."""
    tools.add()
    lifts: list[Callable[[], object]] = []

    def change(_: ToolExecution) -> None:
        lifts.pop()()
        tools.tools.guard(world.root, saying(world, "added", "added"))

    leave = guard(world, tools, change)
    lifts.append(guard(world, tools, saying(world, "lifted", "lifted")))
    assert error_of(tools.execute()).message == "added"
    assert world.take() == ["added"]
    lifts.append(leave)
    world.run(leave)


def test_a_layer_that_was_emptied_waits_for_the_next_call(world: World, tools: Toolbox) -> None:
    """A guard that replaces itself is not asked again and again (PIPE-GUARD-05)."""
    tools.add()
    lifts: list[Callable[[], object]] = []

    def replace(_: ToolExecution) -> None:
        lifts.pop()()
        tools.tools.guard(world.root, saying(world, "later", "later"))

    lifts.append(guard(world, tools, replace))
    assert not tools.execute().is_error
    assert error_of(tools.execute()).message == "later"


# --- approvals -------------------------------------------------------------------------------------------------------


class Asked:
    """An approval service that notes what it is asked, and answers what it was told to."""

    def __init__(self, answer: Any) -> None:
        self.requests: list[ApprovalRequest] = []
        self._answer = answer

    async def request(self, request: ApprovalRequest, /) -> Any:
        self.requests.append(request)
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer(request) if callable(self._answer) else self._answer


def ask(world: World, answer: Any, reason: str | None = None) -> Asked:
    """Have policy ask, and a service answer."""
    service = Asked(answer)
    world.root.on(TOOLS_PRE_EXECUTE, answering(Ask(reason)))
    world.run(lambda: world.root.provide(APPROVAL, service))
    return service


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        ("rejected", 'the user rejected tool "t"'),
        ("cancelled", 'approval for tool "t" was cancelled'),
        ("unavailable", 'tool "t" requires approval, but no approval channel is available'),
    ],
)
def test_what_is_not_granted_is_denied(world: World, tools: Toolbox, outcome: str, text: str) -> None:
    """In the registry's words, whatever policy asked for (PIPE-PRE-03)."""
    tools.add()
    service, agent, signal = ask(world, outcome, "is it safe?"), world.create(), CancelSignal()
    tools.record_stages(of=("post",))
    world.take()
    result = tools.execute(scope=agent, signal=signal)
    assert error_of(result).message == text
    assert world.take() == ["> post c error"]
    assert service.requests == [
        ApprovalRequest(agent=agent, tool_name="t", call_id="c", signal=signal, reason="is it safe?")
    ]


def test_a_granted_call_still_passes_the_guards(world: World, tools: Toolbox) -> None:
    """They are asked as after an allow (PIPE-PRE-04)."""
    tools.add()
    service, agent = ask(world, "allowed-once"), world.create()
    assert not tools.execute(scope=agent).is_error
    assert service.requests[0].reason is None
    guard(world, tools, saying(world, "g", "guarded"))
    assert error_of(tools.execute(scope=agent)).message == "guarded"


def test_nobody_is_asked_about_a_call_of_nobody(world: World, tools: Toolbox) -> None:
    """There is nobody to route the request through (PIPE-PRE-03)."""
    tools.add()
    service = ask(world, "allowed-once")
    assert error_of(tools.execute()).message == (
        'tool "t" requires approval, but the call has no agent to route it through'
    )
    assert not service.requests


@pytest.mark.parametrize("answer", ["later", None, ValueError("no line"), asyncio.CancelledError()])
def test_a_failing_approval_fails_the_call(world: World, tools: Toolbox, answer: Any) -> None:
    """So does an answer that is no outcome; policy on results is not asked (PIPE-PRE-05)."""
    tools.add()
    ask(world, answer)
    agent = world.create()
    tools.record_stages(of=("post", "result"))
    world.take()
    assert tools.execute(scope=agent).is_error
    assert world.take() == ["tools/result c error"]


@pytest.mark.parametrize(("outcome", "aborted"), [("cancelled", True), ("rejected", False), ("allowed-once", True)])
def test_an_abort_while_somebody_decides(world: World, tools: Toolbox, outcome: str, aborted: bool) -> None:
    """It wins over a withdrawn request and over a grant, not over a rejection (PIPE-CANCEL-02, PIPE-CANCEL-03)."""
    tools.add()

    def decide(request: ApprovalRequest) -> str:
        request.signal.abort("why")
        return outcome

    ask(world, decide)
    agent = world.create()
    assert (error_of(tools.execute(scope=agent)) == BEFORE) is aborted
