"""The same surface for scripts and notebooks: calls that wait, around an application in a thread of its own.

    with Application() as app:
        app.call(lambda root: root[LLM].register(root, ["scripted"], ScriptedModel()))
        handle = app.create(CreateAgentOptions(session_id="demo", agent_options=AgentOptions(provider="scripted")))
        handle.agent.followup(user_message("hello"))
        handle.agent.when_idle()
        print(handle.agent.events[-1])

The application runs on an event loop that nobody else has, so that it goes on while the script computes or the notebook
waits for its next cell. Whatever is said about the order of events inside one call holds here as well: each call here
is one uninterrupted stretch there. Listeners, tools and models are called in that thread; they use the asynchronous
surface, and a call from there to here is refused, since it would wait for itself.
"""

import asyncio
import atexit
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, TypeVar, cast, overload

from dshcore.agent import (
    AGENTS,
    Agent,
    AgentHandle,
    AgentOptions,
    CancelCause,
    CreateAgentOptions,
    ResumeAgentOptions,
    Status,
    Target,
)
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.errors import DshError
from dshcore.ids import SessionId
from dshcore.json import JsonObject
from dshcore.session import SessionEvent
from dshcore.spine import compose

T = TypeVar("T")


class WouldBlock(DshError):
    """A call that waits was made in the thread that it would wait for."""

    default_code = "WOULD_BLOCK"

    def __init__(self) -> None:
        super().__init__("this would wait for itself: in listeners, tools and models use the asynchronous surface")


class ApplicationClosed(DshError):
    """The application has ended."""

    default_code = "APPLICATION_CLOSED"

    def __init__(self) -> None:
        super().__init__("the application is closed")


class Application:
    """An application on a private event loop. It ends with its `with` block, by `close`, or with the interpreter.

    Args:
        composition: What `dshcore.spine.compose` takes.

    Raises:
        Exception: It cannot be composed.
    """

    def __init__(self, **composition: Any) -> None:  # noqa: ANN401 - compose's own
        ready: Future[asyncio.AbstractEventLoop] = Future()
        self._thread: Final = threading.Thread(target=self._serve, args=(ready,), name="dshcore", daemon=True)
        self._open = True
        self._thread.start()
        self._loop: Final = ready.result()
        try:
            self._root: Final = self._run(partial(compose, **composition), None)
        except BaseException:
            self._stop()
            raise
        atexit.register(self.close)  # the thread is a daemon: a script that ends without closing does it here

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @overload
    def call(self, function: Callable[[Context], Awaitable[T]], *, timeout: float | None = ...) -> T: ...
    @overload
    def call(self, function: Callable[[Context], T], *, timeout: float | None = ...) -> T: ...
    def call(self, function: Callable[[Context], object], *, timeout: float | None = None) -> object:
        """Call a function in the application's thread, and wait for what it answers.

        Args:
            function: Called with the root context. An awaitable that it answers is waited for.
            timeout: Seconds to wait at the most.

        Raises:
            TimeoutError: It took longer. It was cancelled.
            WouldBlock: The caller is in that thread.
            ApplicationClosed: The application has ended.
            BaseException: What the function raised.

        Cancellation:
            An interrupt of the caller cancels what is waited for.
        """
        return self._run(partial(function, self._root), timeout)

    def create(self, options: CreateAgentOptions) -> "Handle":
        """Create an agent that the application owns; see `AgentRegistry.create`."""
        return Handle(self, self.call(lambda root: root[AGENTS].create(root, options)))

    def resume(self, options: ResumeAgentOptions) -> "Handle":
        """Resume an agent that the application owns; see `AgentRegistry.resume`."""
        return Handle(self, self.call(lambda root: root[AGENTS].resume(root, options)))

    def close(self) -> None:
        """Tear everything down, agents first, and end the thread. Doing it again changes nothing.

        Raises:
            WouldBlock: The caller is in that thread.
        """
        if not self._open:
            return
        self._assert_outside()
        try:
            self.call(lambda root: root.dispose())
        finally:
            self._stop()

    # --- the thread --------------------------------------------------------------------------------------------------

    def _run(self, function: Callable[[], T | Awaitable[T]], timeout: float | None) -> T:
        self._assert_outside()
        if not self._open:
            raise ApplicationClosed
        waiting = asyncio.run_coroutine_threadsafe(_settled(function), self._loop)
        try:
            return waiting.result(timeout)
        except BaseException:
            waiting.cancel()
            raise

    def _assert_outside(self) -> None:
        if threading.current_thread() is self._thread:
            raise WouldBlock

    def _serve(self, ready: "Future[asyncio.AbstractEventLoop]") -> None:
        with asyncio.Runner() as runner:
            ready.set_result(runner.get_loop())
            runner.run(self._until_stopped(), context=copy_context())

    async def _until_stopped(self) -> None:
        self._stopped = asyncio.Event()
        await self._stopped.wait()

    def _stop(self) -> None:
        self._open = False
        atexit.unregister(self.close)
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()


class Handle:
    """An agent, and the capability to dispose of it; see `AgentHandle`."""

    def __init__(self, application: Application, handle: AgentHandle) -> None:
        self._application: Final = application
        self._handle: Final = handle
        self.agent: Final = BlockingAgent(application, handle.agent)

    def dispose(self) -> None:
        """Dispose of the agent, and wait until its teardown is complete."""
        self._application.call(lambda _: self._handle.dispose())


class BlockingAgent:
    """An agent as scripts see it; see `Agent`. What is read is a copy of the moment."""

    def __init__(self, application: Application, agent: Agent) -> None:
        self._application: Final = application
        self._agent: Final = agent

    @property
    def id(self) -> SessionId:
        """The identity that it shares with its session."""
        return self._agent.id

    @property
    def options(self) -> AgentOptions:
        """What it was created with."""
        return self._agent.options

    @property
    def status(self) -> Status:
        """Whether a driver is active."""
        return self._read(lambda agent: agent.status)

    @property
    def header(self) -> JsonObject:
        """The header of its session."""
        return self._agent.session.header

    @property
    def events(self) -> tuple[SessionEvent, ...]:
        """The log of its session."""
        return self._read(lambda agent: tuple(agent.session.events))

    @property
    def messages(self) -> tuple[JsonObject, ...]:
        """The conversation, as the model would be shown it."""
        return self._read(lambda agent: tuple(agent.session.derive_messages()))

    @property
    def pending(self) -> tuple[JsonObject, ...]:
        """What no turn has taken yet: for the next step, then for the next turn."""
        return self._read(lambda agent: (*agent.inbox.next_step, *agent.inbox.next_turn))

    def send(self, message: Mapping[str, object], target: Target, wakeup: bool) -> None:
        """Insert a message; see `Agent.send`."""
        self._read(lambda agent: agent.send(message, target, wakeup))

    def followup(self, message: Mapping[str, object]) -> None:
        """Send a message for a turn of its own, waking."""
        self._read(lambda agent: agent.followup(message))

    def steer(self, message: Mapping[str, object]) -> None:
        """Send a message for the next step, waking."""
        self._read(lambda agent: agent.steer(message))

    def inject(self, message: Mapping[str, object]) -> None:
        """Send a message for the next step, without waking."""
        self._read(lambda agent: agent.inject(message))

    def cancel(self, cause: CancelCause, *, keep_inbox: bool = False) -> None:
        """Cancel what is pending, and abort the activity; see `Agent.cancel`."""
        self._read(lambda agent: agent.cancel(cause, keep_inbox=keep_inbox))

    def when_idle(self, *, timeout: float | None = None) -> None:
        """Wait until no driver and no maintenance task is active.

        Raises:
            TimeoutError: It took longer; the agent goes on.
        """
        self._application.call(lambda _: self._agent.when_idle(), timeout=timeout)

    def run_maintenance(self, task: Callable[[CancelSignal], Awaitable[T]]) -> T:
        """Run one exclusive task in the application's thread, and wait for it; see `Agent.run_maintenance`."""
        return self._application.call(lambda _: self._agent.run_maintenance(task))

    def _read(self, look: Callable[[Agent], T]) -> T:
        return self._application.call(lambda _: look(self._agent))


async def _settled(function: Callable[[], T | Awaitable[T]]) -> T:
    answer = function()
    return await cast("Awaitable[T]", answer) if inspect.isawaitable(answer) else answer
