"""The blocking surface: calls that wait, around an application in a thread of its own."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.reference.world import USER, Model, hang, message, show_event

from dshcore.agent import AGENT_STATUS, AgentDisposed, AgentOptions, CreateAgentOptions, ResumeAgentOptions
from dshcore.agent_loop import PersistenceMissing
from dshcore.blocking import Application, ApplicationClosed, Handle, WouldBlock
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.llm import LLM
from dshcore.spine import UnknownPart

ROOT = Path(__file__).parents[2]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def app(model: Model) -> Iterator[Application]:
    with Application() as made:
        made.call(lambda root: root[LLM].register(root, ["mock"], model))
        yield made


@pytest.fixture
def handle(app: Application) -> Handle:
    return app.create(CreateAgentOptions(session_id="a", agent_options=AgentOptions(provider="mock", model="m1")))


def test_one_turn(handle: Handle) -> None:
    """A message is sent, the turn is waited for, and everything can be read."""
    agent = handle.agent
    agent.followup(message("A"))
    agent.when_idle()
    assert show_event(agent.events[-1]) == "turn/end 1 completed"
    assert [one["role"] for one in agent.messages] == ["user", "assistant"]
    assert (agent.id, agent.status, agent.options.model, agent.header["id"]) == ("a", "idle", "m1", "a")


def test_everything_that_is_sent(handle: Handle, model: Model) -> None:
    """The presets and their primitive insert where they should; a cancel aborts."""
    agent = handle.agent
    model.follow(hang())
    agent.inject(message("I"))
    agent.send(message("Q"), "next-turn", wakeup=False)
    assert [one["id"] for one in agent.pending] == ["I", "Q"]
    agent.steer(message("S"))
    assert agent.status == "running"
    agent.cancel(USER)
    agent.when_idle()
    assert (show_event(agent.events[-1]), agent.pending) == ("turn/end 1 aborted", ())


def test_waiting_may_be_limited(handle: Handle, model: Model) -> None:
    """The wait ends, and the agent goes on."""
    model.follow(hang())
    handle.agent.followup(message("A"))
    with pytest.raises(TimeoutError):
        handle.agent.when_idle(timeout=0)
    assert handle.agent.status == "running"


def test_maintenance_runs_in_the_thread(handle: Handle) -> None:
    """Its result comes back."""

    async def task(signal: CancelSignal) -> tuple[str, bool]:
        return threading.current_thread().name, signal.aborted

    assert handle.agent.run_maintenance(task) == ("dshcore", False)


def test_disposal_is_complete(handle: Handle, model: Model) -> None:
    """The log is balanced when it returns, and readable."""
    model.follow(hang())
    handle.agent.followup(message("A"))
    handle.dispose()
    assert show_event(handle.agent.events[-1]) == "turn/end 1 aborted"
    with pytest.raises(AgentDisposed):
        handle.agent.inject(message("X"))


def test_failures_reach_the_caller(app: Application) -> None:
    """As they are."""
    with pytest.raises(PersistenceMissing):
        app.resume(ResumeAgentOptions(resume_session_id="a"))
    with pytest.raises(UnknownPart):
        Application(without={"loops"})


def test_call_from_inside_is_refused(app: Application, handle: Handle) -> None:
    """It would wait for itself."""
    caught: list[Any] = []

    def listener(_: object) -> None:
        for wait in (handle.agent.when_idle, app.close):
            try:
                wait()
            except WouldBlock as error:
                caught.append(error)

    def listen(root: Context) -> None:
        root.on(AGENT_STATUS, listener)

    app.call(listen)
    handle.agent.followup(message("A"))
    handle.agent.when_idle()
    assert len(caught) == 4


def test_closing_tears_down(app: Application, handle: Handle, model: Model) -> None:
    """Agents are disposed of, their logs balanced; afterwards nothing can be called."""
    agent = handle.agent._agent
    model.follow(hang())
    handle.agent.followup(message("A"))
    app.close()
    app.close()
    assert show_event(agent.session.events[-1]) == "turn/end 1 aborted"
    with pytest.raises(ApplicationClosed):
        handle.agent.when_idle()


SCRIPT = """
from dshcore.agent import CreateAgentOptions
from dshcore.blocking import Application

def setup(ctx):
    ctx.effect(lambda: print("torn down"), label="script")

Application().create(CreateAgentOptions(session_id="a", setup=setup))
"""


def test_script_that_forgets_to_close() -> None:
    """The end of the interpreter closes it, and prints nothing."""
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "torn down\n", "")


@pytest.mark.parametrize("interrupt", [SystemExit(3), KeyboardInterrupt()])
def test_an_interrupt_of_a_called_function_reaches_the_caller(app: Application, interrupt: BaseException) -> None:
    """And the application goes on."""

    def leave(_: Context) -> None:
        raise interrupt

    with pytest.raises(type(interrupt)):
        app.call(leave)
    assert app.call(lambda _: "still there") == "still there"


def test_an_interrupt_of_a_listener_ends_the_application(app: Application, handle: Handle, model: Model) -> None:
    """Waiting calls and later ones are told so, the log is balanced, and closing returns."""
    model.follow(hang())
    handle.agent.followup(message("A"))

    def leave(root: Context) -> None:
        root.on(AGENT_STATUS, lambda _: sys.exit(3))

    app.call(leave)
    handle.agent.cancel(USER)
    with pytest.raises(ApplicationClosed):
        handle.agent.when_idle()
    with pytest.raises(ApplicationClosed):
        app.call(lambda _: None)
    assert show_event(handle.agent.events[-1]) == "turn/end 1 aborted"
    app.close()


def test_many_threads_close_at_once() -> None:
    """One of them does it, the others wait for it; a call that comes too late is refused."""
    for _ in range(20):
        app = Application()

        def use(number: int, app: Application = app) -> str:
            try:
                app.close() if number % 2 else app.call(lambda _: None)
            except ApplicationClosed:
                return "refused"
            return "done"

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(use, range(8))) <= {"done", "refused"}
        with pytest.raises(ApplicationClosed):
            app.call(lambda _: None)


def test_a_call_that_waits_while_another_thread_closes_is_told(app: Application) -> None:
    """It does not wait for ever."""
    begun = threading.Event()

    async def wait(_: Context) -> None:
        begun.set()
        await asyncio.Event().wait()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(app.call, wait)
        begun.wait()
        app.close()
        with pytest.raises(ApplicationClosed):
            waiting.result()


def test_closing_may_be_limited(app: Application, handle: Handle) -> None:
    """A cleanup that does not end is cancelled, and the application has ended."""

    async def never() -> None:
        await asyncio.Event().wait()

    app.call(lambda root: root.effect(never, label="a cleanup that does not end"))
    with pytest.raises(TimeoutError):
        app.close(timeout=0.01)
    with pytest.raises(ApplicationClosed):
        handle.agent.inject(message("X"))


def test_agents_without_a_handle_can_be_used(app: Application, handle: Handle) -> None:
    """Found by their identity, whoever made them."""
    assert [agent.id for agent in app.agents()] == ["a"]
    found = app.agent("a")
    assert found is not None
    found.followup(message("A"))
    found.when_idle()
    assert show_event(handle.agent.events[-1]) == "turn/end 1 completed"
    assert app.agent("b") is None


def test_a_closed_application_can_be_read(app: Application, handle: Handle) -> None:
    """Its logs stay, and nothing can be done any more."""
    handle.agent.followup(message("A"))
    handle.agent.when_idle()
    app.close()
    assert (show_event(handle.agent.events[-1]), handle.agent.status) == ("turn/end 1 completed", "idle")
    assert (len(handle.agent.messages), app.agents()) == (2, ())
    with pytest.raises(ApplicationClosed, match="make another one"):
        handle.agent.inject(message("X"))
