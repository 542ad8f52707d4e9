"""Agents declared in configuration: who they are, and how they start with the loop.

A fresh entry starts at once, and so does one of a fixed id where nothing is stored. Otherwise the entry is restored in
the background: what fails there is reported, and the loop and the other entries go on.
"""

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal
from uuid import uuid4

from msgspec import UNSET

from dshcore.agent import AgentOptions, AgentRegistry, CreateAgentOptions, ResumeAgentOptions
from dshcore.agent_loop.creation import AgentLoop, LoopMisconfigured
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, Plugin
from dshcore.errors import describe
from dshcore.events import Emit
from dshcore.host import is_contained
from dshcore.json import abridged
from dshcore.session import SESSION_PERSISTENCE, SessionPersistence, SessionStore

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredAgent:
    """An agent that starts with the loop.

    Attributes:
        id: Its label, for messages; labels need not be unique.
        session_id: Its exact identity, restored where it is stored and created otherwise. Without one it is a fresh
            agent at every start.
        resume_session_id: The stored session that it goes on with; never created. The empty text counts as absent.
        provider: Where its first request goes.
        model: To which model.
        max_tokens: The output cap of its requests.
        cwd: The working directory in the header of a new session.
    """

    id: str
    session_id: str | None = None
    resume_session_id: str | None = None
    provider: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    cwd: str | None = None

    @property
    def options(self) -> AgentOptions:
        """The options of the agent."""
        return AgentOptions(
            provider=UNSET if self.provider is None else self.provider,
            model=UNSET if self.model is None else self.model,
            max_tokens=UNSET if self.max_tokens is None else self.max_tokens,
        )

    @property
    def meta(self) -> Mapping[str, object]:
        """What the configuration says of the header of a new session."""
        return {} if self.cwd is None else {"cwd": self.cwd}


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedIdentity:
    """The identity that a launcher gives to an entry, in place of what the entry says.

    Attributes:
        id: The exact identity.
        resume: Whether it has to be stored.
    """

    id: str
    resume: bool = False


@dataclass(frozen=True, slots=True)
class ConfigStartFailed:
    """A configured agent did not start; the loop goes on without it.

    Attributes:
        session_id: The identity that it was to have.
        error: Why.
    """

    session_id: str
    error: BaseException


CONFIG_START_FAILED: Final = Emit[ConfigStartFailed](
    "agent-loop/config-start-failed", scoped=False, contained=True, report="config-start-failed"
)
"""A configured agent did not start (CONF-FAIL-01, CONF-FAIL-02)."""


def settle_identities(
    entries: Sequence[ConfiguredAgent], identities: Mapping[str, FixedIdentity]
) -> tuple[ConfiguredAgent, ...]:
    """Settle which entry has which identity.

    Args:
        entries: As they are configured.
        identities: What the launcher fixes, by label.

    Returns:
        The entries, each with one identity at the most.

    Raises:
        LoopMisconfigured: An entry has two, or two entries have the same; an id or a label is no text, or empty; an
            identity is fixed of which there is no entry.

    Spec:
        CONF-ID-02, CONF-ID-03, CONF-ID-04, CONF-ID-05
    """
    for entry in entries:
        _check_text("the label of a configured agent", entry.id)
    if unknown := sorted(identities.keys() - {entry.id for entry in entries}):
        raise LoopMisconfigured(f'an identity is fixed for "{unknown[0]}", and no configured agent has that label')
    settled: list[ConfiguredAgent] = []
    labels: dict[str, str] = {}
    for given in entries:
        entry = _with_identity(given, identities.get(given.id))
        if entry.session_id is not None and entry.resume_session_id is not None:
            raise LoopMisconfigured(f'agent "{entry.id}": sessionId and resumeSessionId are mutually exclusive')
        identity = entry.session_id or entry.resume_session_id
        if identity is not None:
            if identity in labels:
                both = f'agents "{labels[identity]}" and "{entry.id}"'
                raise LoopMisconfigured(f'{both} use duplicate exact session identity "{identity}"')
            labels[identity] = entry.id
        settled.append(entry)
    return tuple(settled)


def _with_identity(entry: ConfiguredAgent, fixed: FixedIdentity | None) -> ConfiguredAgent:
    """Answer an entry with the identity that its launcher fixes, or else as it is, less an empty one to resume."""
    if fixed is not None:  # CONF-ID-05
        _check_text(f'agent "{entry.id}": the fixed id', fixed.id)
        exact, stored = (None, fixed.id) if fixed.resume else (fixed.id, None)
        return replace(entry, session_id=exact, resume_session_id=stored)
    if entry.resume_session_id == "":  # CONF-ID-02
        entry = replace(entry, resume_session_id=None)
    for name, given in (("sessionId", entry.session_id), ("resumeSessionId", entry.resume_session_id)):
        if given is not None:
            _check_text(f'agent "{entry.id}": {name}', given)
    return entry


def _check_text(what: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise LoopMisconfigured(f"{what} must be a text of at least one character, not {abridged(value)}")


class ConfiguredAgents:
    """Starts the configured agents of one loop, on behalf of the loop itself.

    Args:
        ctx: The context of the loop, whose end is theirs.
        loop: What makes them.
        sessions: Where they are published.
        agents: Where they are registered.

    Spec:
        CONF-OWN-01
    """

    def __init__(self, ctx: Context, loop: AgentLoop, sessions: SessionStore, agents: AgentRegistry) -> None:
        self._ctx = ctx
        self._loop = loop
        self._sessions = sessions
        self._agents = agents
        self._closing = CancelSignal()
        self._tasks: set[asyncio.Task[None]] = set()  # asyncio itself keeps tasks only weakly
        ctx.effect(self._close, label="configured agents")

    def start(self, entries: Sequence[ConfiguredAgent]) -> None:
        """Start them, in order.

        Args:
            entries: Their settled entries.

        Raises:
            Exception: One that is created at once could not be. The ones before it live until the loop ends.
            RuntimeError: No event loop is running.

        Spec:
            CONF-ID-01, CONF-START-01, CONF-START-02, CONF-START-03, CONF-START-06
        """
        for entry in entries:
            storage = self._ctx.get(SESSION_PERSISTENCE)
            if entry.resume_session_id is not None:
                self._resume_when_possible(entry, entry.resume_session_id)
            elif entry.session_id is None:
                self._create(entry, f"{entry.id}-session-{uuid4()}")  # CONF-ID-01
            elif storage is None:
                self._create(entry, entry.session_id)
            else:
                self._in_background(self._restore(entry, entry.session_id, storage))

    def _create(self, entry: ConfiguredAgent, session_id: str) -> None:
        options = CreateAgentOptions(session_id=session_id, meta=entry.meta, agent_options=entry.options)
        self._loop.create_now(self._ctx, options)

    def _resume_when_possible(self, entry: ConfiguredAgent, session_id: str) -> None:
        """Resume as soon as there is persistence. The agent belongs to the loop, and survives the persistence.

        Spec:
            CONF-START-06
        """

        def begin(_ctx: Context, _config: object) -> None:
            self._in_background(self._resume(entry, session_id))

        self._ctx.mount(Plugin(begin, name=f"resume of {session_id}", requires=(SESSION_PERSISTENCE,)))

    async def _resume(self, entry: ConfiguredAgent, session_id: str) -> None:
        try:
            await self._loop.resume(self._ctx, _stored(entry, session_id))
        except BaseException as error:
            if not is_contained(error):
                raise
            self._report(entry, "resume", session_id, error)

    async def _restore(self, entry: ConfiguredAgent, session_id: str, storage: SessionPersistence) -> None:
        """Resume an exact identity where it is stored, and create it where it is not.

        Spec:
            CONF-START-03, CONF-START-04, CONF-START-05
        """
        try:
            if not await self._vacant(session_id):
                return
            try:
                await self._loop.resume(self._ctx, _stored(entry, session_id))
            except BaseException as error:
                if not is_contained(error) or self._ctx.closing or await self._is_stored(session_id, storage):
                    raise
                self._create(entry, session_id)
        except BaseException as error:
            if not is_contained(error):
                raise
            self._report(entry, "restore", session_id, error)

    async def _is_stored(self, session_id: str, storage: SessionPersistence) -> bool:
        return any(header.get("id") == session_id for header in await storage.list(self._closing))

    async def _vacant(self, session_id: str) -> bool:
        """Wait until an identity has left both registries; tell whether the loop still runs (CONF-START-05)."""
        left = asyncio.Event()
        forget = self._closing.on_abort(left.set)
        registries = (self._sessions, self._agents)
        try:
            while not self._ctx.closing and (holding := [one for one in registries if one.get(session_id)]):
                left.clear()
                holding[0].when_left(session_id, left.set)
                await left.wait()
        finally:
            forget()
        return not self._ctx.closing

    def _report(
        self, entry: ConfiguredAgent, what: Literal["restore", "resume"], session_id: str, error: BaseException
    ) -> None:
        """Tell of an agent that did not start, unless the loop closes: then there is nothing to tell.

        Spec:
            CONF-FAIL-01, CONF-FAIL-02, CONF-FAIL-03
        """
        if self._ctx.closing:
            return
        _log.warning('agent "%s": config-driven %s of "%s" failed: %s', entry.id, what, session_id, describe(error))
        self._ctx.emit(CONFIG_START_FAILED, ConfigStartFailed(session_id, error))

    def _in_background(self, starting: Coroutine[Any, Any, None]) -> None:
        """Start an agent without anybody waiting; the loop's end does not wait either (CONF-FAIL-03)."""
        task = asyncio.get_running_loop().create_task(starting)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _close(self) -> None:
        self._closing.abort(None)


def _stored(entry: ConfiguredAgent, session_id: str) -> ResumeAgentOptions:
    return ResumeAgentOptions(resume_session_id=session_id, agent_options=entry.options)
