"""Programs that end, or give up what they wait for: the log is balanced, no driver runs, and nothing is printed."""

import asyncio
import gc
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest
from tests.reference.world import Model, hang, message, show_event, when

from dshcore.agent import AGENTS, Agent, AgentHandle, AgentOptions, CreateAgentOptions, ResumeAgentOptions
from dshcore.agent_loop import ConfiguredAgent
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.llm import LLM
from dshcore.session import SESSION_EVENT, SESSION_PERSISTENCE, Preparation
from dshcore.spine import compose, mount_loop

OPTIONS = CreateAgentOptions(session_id="a", agent_options=AgentOptions(provider="mock", model="m1"))


class NeverLoads:
    """A store that answers nothing."""

    async def prepare(self, session_id: str, signal: CancelSignal) -> Preparation:  # noqa: ARG002 - never
        answer: Preparation = await asyncio.get_running_loop().create_future()
        return answer

    async def list(self, signal: CancelSignal) -> Sequence[Mapping[str, Any]]:  # noqa: ARG002 - never
        answer: Sequence[Mapping[str, Any]] = await asyncio.get_running_loop().create_future()
        return answer


class Program:
    """An application with an agent in the middle of its answer."""

    root: Context
    handle: AgentHandle

    @property
    def agent(self) -> Agent:
        return self.handle.agent

    async def begin(self) -> None:
        self.root = compose(without={"loop"})
        mount_loop(self.root)
        model = Model()
        model.follow(hang())
        self.root[LLM].register(self.root, ["mock"], model)
        self.handle = await self.root[AGENTS].create(self.root, OPTIONS)
        streaming = asyncio.Event()
        self.root.on(SESSION_EVENT, when(lambda p: show_event(p.event) == "chunk text-delta", streaming.set))
        self.agent.followup(message("A"))
        self.agent.followup(message("B"))
        await streaming.wait()

    # what is under way when the program ends

    async def waiting(self) -> None:
        await self.agent.when_idle()

    async def creating(self) -> None:
        async def setup(ctx: Context) -> None:
            ctx.effect(lambda: asyncio.sleep(0), label="test")
            await asyncio.get_running_loop().create_future()

        await self.root[AGENTS].create(self.agent.ctx, CreateAgentOptions(session_id="b", setup=setup))

    async def resuming(self) -> None:
        self.root.provide(SESSION_PERSISTENCE, NeverLoads())
        await self.root[AGENTS].resume(self.root, ResumeAgentOptions(resume_session_id="c"))

    async def disposing(self) -> None:
        self.agent.ctx.effect(lambda: asyncio.get_running_loop().create_future(), label="test")
        await self.handle.dispose()

    async def ending(self) -> None:
        self.agent.ctx.effect(lambda: asyncio.get_running_loop().create_future(), label="test")
        await self.root.dispose()

    async def maintaining(self) -> None:
        other = await self.root[AGENTS].create(self.root, CreateAgentOptions(session_id="m"))

        async def task(_: object) -> None:
            other.agent.followup(message("behind it"))
            await asyncio.get_running_loop().create_future()

        await other.agent.run_maintenance(task)

    async def initiating(self) -> None:
        async def operation() -> None:
            await asyncio.get_running_loop().create_future()

        await self.root[AGENTS].initiators.within(self.agent, operation)

    async def starting(self) -> None:
        root = compose(without={"loop"})
        root.provide(SESSION_PERSISTENCE, NeverLoads())
        mount_loop(
            root, agents=[ConfiguredAgent(id="x", session_id="s"), ConfiguredAgent(id="y", resume_session_id="r")]
        )
        await asyncio.get_running_loop().create_future()


UNDER_WAY = (
    Program.waiting,
    Program.creating,
    Program.resuming,
    Program.disposing,
    Program.ending,
    Program.maintaining,
    Program.initiating,
    Program.starting,
)


def run(main: Callable[[Program], Awaitable[None]]) -> Program:
    """Run a program under `asyncio.run`, and let the interpreter complain of whatever is left."""
    program = Program()

    async def whole() -> None:
        await program.begin()
        await main(program)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(whole(), debug=False)
        gc.collect()
    return program


def check(program: Program, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    log = [show_event(event) for event in program.agent.session.events]
    assert "turn/end 1 aborted" in log
    assert log.count("turn/start 1") == 1
    assert "turn/start 2" not in log
    assert program.agent.status == "idle"
    assert capfd.readouterr().err == ""
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


@pytest.mark.parametrize("part", UNDER_WAY)
def test_program_that_ends(
    part: Callable[[Program], Awaitable[None]], capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """It leaves `asyncio.run` while something is under way in another task."""

    async def main(program: Program) -> None:
        kept = asyncio.ensure_future(part(program))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not kept.done()

    check(run(main), capfd, caplog)


@pytest.mark.parametrize("part", UNDER_WAY)
def test_host_that_gives_up(
    part: Callable[[Program], Awaitable[None]], capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """It cancels the task that waits, goes on for a while, and ends."""

    async def main(program: Program) -> None:
        kept = asyncio.ensure_future(part(program))
        for _ in range(10):
            await asyncio.sleep(0)
        kept.cancel()
        await asyncio.wait((kept,))
        assert kept.cancelled()
        for _ in range(10):
            await asyncio.sleep(0)

    check(run(main), capfd, caplog)


def test_loop_that_is_closed_under_its_tasks() -> None:
    """Nothing runs any more: the log ends open, and whoever loads it again has to repair it."""
    loop = asyncio.new_event_loop()
    program = Program()
    loop.run_until_complete(program.begin())
    loop.close()
    log = [show_event(event) for event in program.agent.session.events]
    assert not any(row.startswith("turn/end") for row in log)
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # asyncio would complain in a later test
        coroutine = task.get_coro()
        assert coroutine is not None
        coroutine.close()
