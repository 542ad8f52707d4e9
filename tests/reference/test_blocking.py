"""The blocking surface: calls that wait, around an application in a thread of its own."""

import subprocess
import sys
import threading
from collections.abc import Iterator
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
