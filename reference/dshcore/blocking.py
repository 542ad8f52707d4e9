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

An interrupt (`SystemExit`, `KeyboardInterrupt`) that a called function raises goes to the caller. One that a listener,
tool or model raises ends the application as it would end `asyncio.run`: what runs is cancelled, logs are balanced.
"""

import asyncio
import atexit
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Final, Generic, Self, TypeVar, Unpack, cast, overload

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
from dshcore.spine import Composition, compose

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
        super().__init__("the application is closed: make another one; what its agents did can still be read")


@dataclass(frozen=True, slots=True)
class _Settled(Generic[T]):
    """What a called function came to; an interrupt is handed on as a value, since it would end the event loop."""

    answer: T
    interrupt: BaseException | None = None


class Application:
    """An application on a private event loop. It ends with its `with` block, by `close`, or with the interpreter.

    Args:
        composition: What `dshcore.spine.compose` takes.

    Raises:
        Exception: It cannot be composed.
    """

    def __init__(self, **composition: Unpack[Composition]) -> None:
        ready: Future[asyncio.AbstractEventLoop] = Future()
        self._thread: Final = threading.Thread(target=self._serve, args=(ready,), name="dshcore", daemon=True)
        self._entry: Final = threading.Lock()  # held to look whether it is open and hand something over, in one
        self._open = True
        self._closing = False
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

        Returns:
            What the function answers, or what it comes to where that is an awaitable.

        Raises:
            TimeoutError: It took longer. A coroutine was cancelled; a function runs to its end, and its answer is lost.
            WouldBlock: The caller is in that thread.
            ApplicationClosed: The application has ended, or ended while this waited.
            BaseException: What the function raised.

        Cancellation:
            An interrupt of the caller cancels what is waited for.
        """
        return self._run(partial(function, self._root), timeout)

    def read(self, function: Callable[[Context], T]) -> T:
        """Call a function that only looks; a closed application, in which nothing runs any more, can be looked at.

        Args:
            function: Called with the root context, in the application's thread as long as there is one.

        Returns:
            What it answers.

        Raises:
            WouldBlock: The caller is in that thread.
            BaseException: What the function raised.
        """
        try:
            return self._run(partial(function, self._root), None)
        except ApplicationClosed:
            self._thread.join()
            return function(self._root)

    def create(self, options: CreateAgentOptions) -> "Handle":
        """Create an agent that the application owns; see `AgentRegistry.create`.

        Args:
            options: What it is created from.

        Returns:
            The agent with its capability.

        Raises:
            WouldBlock: The caller is in the application's thread.
            ApplicationClosed: The application has ended.
            Exception: It could not be created; nothing is left of it.

        Cancellation:
            An interrupt rolls the creation back. One that comes when it is complete leaves the agent, without a
            handle, until the application ends; `agent` finds it.
        """
        return Handle(self, self.call(lambda root: root[AGENTS].create(root, options)))

    def resume(self, options: ResumeAgentOptions) -> "Handle":
        """Resume an agent that the application owns; see `AgentRegistry.resume`.

        Args:
            options: What it is resumed from.

        Returns:
            The agent with its capability.

        Raises:
            WouldBlock: The caller is in the application's thread.
            ApplicationClosed: The application has ended.
            Exception: It could not be resumed; nothing is left of it.

        Cancellation:
            As in `create`.
        """
        return Handle(self, self.call(lambda root: root[AGENTS].resume(root, options)))

    def agents(self) -> "tuple[BlockingAgent, ...]":
        """The live agents in the order of registration, those included that others made."""
        registry = self.read(lambda root: root.get(AGENTS))
        return (
            ()
            if registry is None
            else tuple(BlockingAgent(self, agent) for agent in self.read(lambda _: registry.list()))
        )

    def agent(self, identity: str) -> "BlockingAgent | None":
        """The live agent of an identity, whoever made it."""
        return next((agent for agent in self.agents() if agent.id == identity), None)

    def close(self, *, timeout: float | None = None) -> None:
        """Tear everything down, agents first, and end the thread. Doing it again changes nothing.

        Args:
            timeout: Seconds that the teardown may take; a model or tool that does not heed its signal would hold it up
                for ever. What still runs then is cancelled.

        Raises:
            TimeoutError: The teardown took longer. The application has ended all the same.
            WouldBlock: The caller is in that thread.

        Cancellation:
            An interrupt ends the application at once, its teardown cancelled.
        """
        self._assert_outside()
        with self._entry:
            first, self._closing = not self._closing, True
        if not first:
            self._thread.join()
            return
        try:
            with suppress(ApplicationClosed):
                self.call(lambda root: root.dispose(), timeout=timeout)
        finally:
            self._stop()

    # --- the thread --------------------------------------------------------------------------------------------------

    def _run(self, function: Callable[[], T | Awaitable[T]], timeout: float | None) -> T:
        self._assert_outside()
        with self._entry:
            if not self._open:
                raise ApplicationClosed
            waiting = asyncio.run_coroutine_threadsafe(_settled(function), self._loop)
        try:
            settled = waiting.result(timeout)
        except CancelledError:
            if self._open:
                raise
            raise ApplicationClosed from None
        except BaseException:
            waiting.cancel()
            raise
        if settled.interrupt is not None:
            raise settled.interrupt
        return settled.answer

    def _assert_outside(self) -> None:
        if threading.current_thread() is self._thread:
            raise WouldBlock

    def _serve(self, ready: "Future[asyncio.AbstractEventLoop]") -> None:
        # an interrupt has said what it had to say: the application is closed now, and whoever uses it is told
        with suppress(SystemExit, KeyboardInterrupt), asyncio.Runner() as runner:
            ready.set_result(runner.get_loop())
            try:
                runner.run(self._until_stopped(), context=copy_context())
            finally:
                with self._entry:
                    self._open = False
                runner.run(asyncio.sleep(0))  # what was handed over before that begins, and is cancelled with the rest

    async def _until_stopped(self) -> None:
        self._stopped = asyncio.Event()
        await self._stopped.wait()

    def _stop(self) -> None:
        with self._entry:
            told, self._open = self._open, False
            if told:
                self._loop.call_soon_threadsafe(self._stopped.set)
        atexit.unregister(self.close)
        self._thread.join()


class Handle:
    """An agent, and the capability to dispose of it; see `AgentHandle`.

    Args:
        application: What it runs in.
        handle: The handle there.
    """

    def __init__(self, application: Application, handle: AgentHandle) -> None:
        self._application: Final = application
        self._handle: Final = handle
        self.agent: Final = BlockingAgent(application, handle.agent)

    def dispose(self) -> None:
        """Dispose of the agent, and wait until its teardown is complete.

        Raises:
            WouldBlock: The caller is in the application's thread.
            ApplicationClosed: The application has ended, and the agent with it.

        Cancellation:
            An interrupt ends the waiting; the teardown goes on.
        """
        self._application.call(lambda _: self._handle.dispose())


class BlockingAgent:
    """An agent as scripts see it; see `Agent`. What is read is a copy of the moment.

    Args:
        application: What it runs in.
        agent: The agent there.
    """

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
        return self._look(lambda agent: agent.status)

    @property
    def header(self) -> JsonObject:
        """The header of its session."""
        return self._agent.session.header

    @property
    def events(self) -> tuple[SessionEvent, ...]:
        """The log of its session."""
        return self._look(lambda agent: tuple(agent.session.events))

    @property
    def messages(self) -> tuple[JsonObject, ...]:
        """The conversation, as the model would be shown it."""
        return self._look(lambda agent: tuple(agent.session.derive_messages()))

    @property
    def pending(self) -> tuple[JsonObject, ...]:
        """What no turn has taken yet: for the next step, then for the next turn."""
        return self._look(lambda agent: (*agent.inbox.next_step, *agent.inbox.next_turn))

    def send(self, message: Mapping[str, object], target: Target, wakeup: bool) -> None:
        """Insert a message; see `Agent.send`.

        Args:
            message: An identified user message.
            target: The list.
            wakeup: Whether it is to be worked on without another call.
        """
        self._do(lambda agent: agent.send(message, target, wakeup))

    def followup(self, message: Mapping[str, object]) -> None:
        """Send a message for a turn of its own, waking."""
        self._do(lambda agent: agent.followup(message))

    def steer(self, message: Mapping[str, object]) -> None:
        """Send a message for the next step, waking."""
        self._do(lambda agent: agent.steer(message))

    def inject(self, message: Mapping[str, object]) -> None:
        """Send a message for the next step, without waking."""
        self._do(lambda agent: agent.inject(message))

    def cancel(self, cause: CancelCause, *, keep_inbox: bool = False) -> None:
        """Cancel what is pending, and abort the activity; see `Agent.cancel`.

        Args:
            cause: Why.
            keep_inbox: Whether what is pending stays.
        """
        self._do(lambda agent: agent.cancel(cause, keep_inbox=keep_inbox))

    def when_idle(self, *, timeout: float | None = None) -> None:
        """Wait until no driver and no maintenance task is active.

        Args:
            timeout: Seconds to wait at the most.

        Raises:
            TimeoutError: It took longer; the agent goes on.
            WouldBlock: The caller is in the application's thread.
            ApplicationClosed: The application has ended, or ended while this waited.

        Cancellation:
            An interrupt ends the waiting; the agent goes on.
        """
        self._application.call(lambda _: self._agent.when_idle(), timeout=timeout)

    def run_maintenance(self, task: Callable[[CancelSignal], Awaitable[T]]) -> T:
        """Run one exclusive task in the application's thread, and wait for it; see `Agent.run_maintenance`.

        Args:
            task: Called there with the signal that a cancel of the agent aborts.

        Returns:
            What the task answered.

        Raises:
            AgentBusy: The agent is not idle.
            Exception: What the task raised.

        Cancellation:
            An interrupt cancels the task.
        """
        return self._application.call(lambda _: self._agent.run_maintenance(task))

    def _look(self, look: Callable[[Agent], T]) -> T:
        return self._application.read(lambda _: look(self._agent))

    def _do(self, act: Callable[[Agent], None]) -> None:
        self._application.call(lambda _: act(self._agent))


async def _settled(function: Callable[[], T | Awaitable[T]]) -> _Settled[T]:
    try:
        answer = function()
        return _Settled(await cast("Awaitable[T]", answer) if inspect.isawaitable(answer) else answer)
    except (SystemExit, KeyboardInterrupt) as interrupt:
        return _Settled(cast("T", None), interrupt)
