"""A composed application on a loop that settles, whose trace is a list of short lines."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from dshcore import eager
from dshcore.agent import (
    AGENT_CREATED,
    AGENT_DISPOSED,
    AGENT_ERROR,
    AGENT_INBOX_CLAIMED,
    AGENT_INBOX_DISCARDED,
    AGENT_INBOX_INSERTED,
    AGENT_PRE_STEP,
    AGENT_REQUEST,
    AGENT_REQUEST_ERROR,
    AGENT_SESSION_START,
    AGENT_STATUS,
    AGENT_TURN_STOPPING,
    AGENTS,
    Agent,
    AgentErrorRaised,
    AgentHandle,
    AgentOptions,
    AgentPreStep,
    AgentRequest,
    AgentRequestError,
    CreateAgentOptions,
    PreStepDecision,
    RequestErrorAction,
)
from dshcore.agent.events import AgentTurnStopping
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.events import Next
from dshcore.json import JsonObject, freeze
from dshcore.llm import LLM, CallConfig, GenerateOptions, LlmError
from dshcore.session import (
    SESSION_CREATED,
    SESSION_DISPOSED,
    SESSION_EVENT,
    SESSIONS,
    AppendRefused,
    Session,
    SessionEvent,
    SessionPublished,
)
from dshcore.settling import SettlingLoop
from dshcore.spine import compose
from dshcore.system_prompt import PromptOptions

T = TypeVar("T")
Chunk = Mapping[str, Any]
Script = Callable[[GenerateOptions], AsyncIterator[JsonObject]]

USER = {"kind": "user"}


def message(text: str) -> dict[str, Any]:
    """Make a user message whose id is its text."""
    return {"id": text, "role": "user", "content": [{"type": "text", "text": text}], "source": {"kind": "user"}}


def do(*acts: Callable[[], object]) -> Callable[..., None]:
    """Make one callable of several: called with anything, it does them all, in one stretch."""

    def all_of_them(*_: object) -> None:
        for act in acts:
            act()

    return all_of_them


def when(applies: Callable[[Any], object], act: Callable[[], object]) -> Callable[[Any], None]:
    """Make a listener that acts on the payloads that apply."""

    def listener(payload: Any) -> None:
        if applies(payload):
            act()

    return listener


def text_of(message: Mapping[str, Any]) -> str:
    return "".join(block.get("text", f"<{block['type']}>") for block in message["content"])


def pending(agent: Agent) -> str:
    """The ids of what is pending, `next-turn` first."""
    return "".join(one["id"] for one in (*agent.inbox.next_turn, *agent.inbox.next_step))


def chunks_of(said: str) -> list[Chunk]:
    return [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": said},
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": said}},
    ]


def finish(kind: str = "stop", **members: Any) -> Chunk:
    return {"type": "finish", "reason": {"kind": kind, **members}}


def stream(*chunks: Chunk, error: BaseException | None = None) -> Script:
    """Deliver these chunks, then end, or fail with an error."""

    async def run(_request: GenerateOptions) -> AsyncIterator[JsonObject]:
        for chunk in chunks:
            yield freeze(chunk)
        if error is not None:
            raise error

    return run


def text(said: str) -> Script:
    return stream(*chunks_of(said), finish())


def cut(said: str) -> Script:
    """Answer with a text that was cut at the output ceiling."""
    return stream(*chunks_of(said), finish("max-tokens"))


def fail(code: str, *chunks: Chunk) -> Script:
    return stream(*chunks, error=LlmError("busy", code))


def hang(said: str = "par", *more: Chunk, ignore_abort: bool = False) -> Script:
    """Begin an answer, then wait: for the abort, and then fail; or for ever."""

    async def run(request: GenerateOptions) -> AsyncIterator[JsonObject]:
        for chunk in [*chunks_of(said)[:2], *more]:
            yield freeze(chunk)
        assert request.signal is not None
        await aborted(request.signal, ignore=ignore_abort)
        raise LlmError("aborted", "ABORTED")

    return run


async def aborted(signal: Any, *, ignore: bool = False) -> None:
    """Wait until a signal is aborted."""
    fired = asyncio.Event()
    signal.on_abort(fired.set if not ignore else lambda: None)
    await fired.wait()


class Model:
    """An adapter that follows scripts, one per request; the last one stands for all later requests."""

    def __init__(self) -> None:
        self.scripts: list[Script] = [text("hi")]
        self.requests: list[GenerateOptions] = []

    def stream(self, request: GenerateOptions) -> AsyncIterator[JsonObject]:
        self.requests.append(request)
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        return script(request)

    def follow(self, *scripts: Script) -> None:
        self.scripts = list(scripts)

    @property
    def signal(self) -> CancelSignal:
        """The signal of the last request."""
        signal = self.requests[-1].signal
        assert signal is not None
        return signal


class World:
    """One application, its agents, and what happened in it so far.

    Everything runs in callbacks of the loop: `run` runs one uninterrupted stretch of code, and lets the program settle.

    Args:
        composition: What `compose` is told; without a prompt's options there are no built-in sections.
    """

    def __init__(self, **composition: Any) -> None:
        self.loop = SettlingLoop()
        self.rows: list[str] = []
        self.model = Model()
        self.root: Context = self.run(
            lambda: compose(**{"prompt": PromptOptions(include_harness_identity=False), **composition})
        )
        self.run(lambda: self.root[LLM].register(self.root, ["mock"], self.model))
        self.handles: dict[str, AgentHandle] = {}
        self._record()

    def close(self) -> None:
        self.run(self.root.dispose)
        self.loop.finish()

    # doing

    def run(self, stretch: Callable[[], T]) -> T:
        """Run one uninterrupted stretch inside the loop, settle, answer what it answered."""
        done: list[T] = []
        failed: list[BaseException] = []

        def call() -> None:
            try:
                done.append(stretch())
            except BaseException as error:  # noqa: BLE001 - raised again outside the loop
                failed.append(error)

        self.loop.call_soon(call)
        self.loop.settle()
        if failed:
            raise failed[0]
        return done[0]

    def start(self, work: Callable[[], Any]) -> "asyncio.Task[Any]":
        """Start what a function answers, settle, and answer the task."""

        async def run() -> Any:
            return await work()

        return self.run(lambda: eager.start(run()))

    def create(self, name: str = "a", *, owner: Context | None = None, **options: Any) -> Agent:
        """Create an agent, over the mock model unless told otherwise, and settle."""
        options.setdefault("agent_options", AgentOptions(provider="mock", model="m1"))
        made = CreateAgentOptions(session_id=name, **options)
        handle: AgentHandle = self.start(
            lambda: self.root[AGENTS].create(self.root if owner is None else owner, made)
        ).result()
        self.handles[name] = handle
        return handle.agent

    def dispose(self, name: str = "a") -> "asyncio.Task[Any]":
        return self.start(self.handles[name].dispose)

    def followup(self, *texts: str) -> None:
        """Send messages to agent `a`, all in one stretch."""
        agent = self.handles["a"].agent

        def stretch() -> None:
            for said in texts:
                agent.followup(message(said))

        self.run(stretch)

    # reading

    def take(self) -> list[str]:
        """Answer the rows since the last time."""
        rows, self.rows[:] = list(self.rows), []
        return rows

    def take_only(self, *beginnings: str) -> list[str]:
        """Answer those of the rows since the last time that begin so."""
        return [row for row in self.take() if row.startswith(beginnings)]

    def log(self, name: str = "a") -> list[str]:
        return [show_event(event) for event in self.session(name).events]

    def log_of(self, agent: Agent) -> list[str]:
        """Answer the log of an agent that may be gone."""
        return [show_event(event) for event in agent.session.events]

    def session(self, name: str = "a") -> Session:
        session = self.root[SESSIONS].get(name)
        assert session is not None
        return session

    def registered(self, name: str = "a") -> tuple[bool, bool]:
        """Answer whether the agent is found, and whether its session is."""
        return self.root[AGENTS].get(name) is not None, self.root[SESSIONS].get(name) is not None

    # disturbing

    def refuse(self, kind: str, *, nth: int = 1) -> None:
        """Refuse the nth append of a type, by a validator of the store."""
        met = 0

        def validator(_session: Session, candidate: SessionEvent) -> None:
            nonlocal met
            met += candidate["type"] == kind
            if candidate["type"] == kind and met == nth:
                raise AppendRefused(f"refused {kind}")

        self.root[SESSIONS].validate(self.root, validator)

    def decide(self, decision: Callable[[AgentPreStep], Any]) -> None:
        """Decide pre-steps; a decision of none passes."""

        async def listener(hook: AgentPreStep, next_layer: Next[Any]) -> Any:
            decided = decision(hook)
            return await next_layer() if decided is None else decided

        self.root.on(AGENT_PRE_STEP, listener)

    def on_event(self, kind: str, do: Callable[[], object], *, nth: int = 1) -> None:
        """Do something once, inside the observers of the nth event of a type."""
        met = 0

        def observe(published: SessionPublished) -> None:
            nonlocal met
            if published.event["type"] == kind:
                met += 1
                if met == nth:
                    do()

        self.root.on(SESSION_EVENT, observe)

    # recording

    def _record(self) -> None:
        on, note = self.root.on, self.rows.append
        on(SESSION_EVENT, lambda p: note(show_event(p.event)))
        on(SESSION_CREATED, lambda p: note(f"session/created {p.session.id}"))
        on(SESSION_DISPOSED, lambda p: note(f"session/disposed {p.session.id}"))
        on(AGENT_CREATED, lambda p: note(f"agent/created {p.agent.id}"))
        on(AGENT_SESSION_START, lambda p: note(f"agent/session-start {p.agent.id} {p.source}"))
        on(AGENT_DISPOSED, lambda p: note(f"agent/disposed {p.agent.id}"))
        on(AGENT_STATUS, lambda p: note(p.status))
        on(AGENT_INBOX_INSERTED, lambda p: note(f"inserted {p.message['id']}"))
        on(AGENT_INBOX_CLAIMED, lambda p: note(f"claimed {p.turn} {p.message['id']}"))
        on(AGENT_INBOX_DISCARDED, lambda p: note(f"discarded {p.message['id']}"))
        on(AGENT_ERROR, lambda p: note(_show_error(p)))

        async def pre_step(hook: AgentPreStep, next_layer: Next[Any]) -> PreStepDecision:
            note(f"> pre-step {hook.turn}.{hook.step} {_texts(hook.messages)}".rstrip())
            decision: PreStepDecision = await next_layer()
            return decision

        async def request(hook: AgentRequest, next_layer: Next[Any]) -> CallConfig:
            note(f"> request {hook.turn}.{hook.step}")
            config: CallConfig = await next_layer()
            return config

        async def request_error(hook: AgentRequestError, next_layer: Next[Any]) -> RequestErrorAction:
            code = hook.failure.get("code") if isinstance(hook.failure, Mapping) else hook.failure
            note(f"> request-error {hook.turn}.{hook.step} {code}")
            action: RequestErrorAction = await next_layer()
            return action

        async def stopping(hook: AgentTurnStopping) -> None:
            note(f"> stopping {hook.turn}")

        on(AGENT_PRE_STEP, pre_step)
        on(AGENT_REQUEST, request)
        on(AGENT_REQUEST_ERROR, request_error)
        on(AGENT_TURN_STOPPING, stopping)


def _show_error(raised: AgentErrorRaised) -> str:
    return f"agent/error {raised.turn}.{raised.step} {raised.error}"


def _texts(messages: Iterable[Mapping[str, Any]]) -> str:
    return ",".join(text_of(message) for message in messages)


def show_event(event: SessionEvent) -> str:
    """Show one event in one short line."""
    data = event["data"]
    match event["type"]:
        case "agent/inbox/spliced":
            parts = ["splice", data["target"], str(data["start"])]
            parts += [f"-{data['removedCount']}"] if "removedCount" in data else []
            parts += [f"+{_texts(data['inserted'])}"] if data["inserted"] else []
            parts += [data["outcome"]] if "outcome" in data else []
            return " ".join(parts)
        case "turn/start":
            return f"turn/start {data['turn']}"
        case "turn/end":
            error = data["reason"].get("error")
            return f"turn/end {data['turn']} {data['reason']['kind']}" + (f" {error['code']}" if error else "")
        case "step/start" | "step/end" as kind:
            return f"{kind} {data['turn']}.{data['step']}"
        case "user/message":
            return f"user/message {text_of(data)}"
        case "assistant/chunk":
            return f"chunk {data['chunk']['type']}"
        case "assistant/message":
            said = text_of(data["message"])
            return f"assistant/message {said}" + (" interrupted" if data.get("interrupted") else "")
        case "request/header":
            return f"request/header {data['reason']}"
        case "tool/call":
            return f"tool/call {data['callId']}"
        case "tool/result":
            block = data["message"]["content"][0]
            code = data.get("error", {}).get("code", "error") if block["isError"] else "ok"
            return f"tool/result {block['toolCallId']} {code}"
        case kind:
            return str(kind)


def between(rows: Sequence[str], first: str, last: str) -> list[str]:
    """Answer the rows from one row through another."""
    return list(rows[rows.index(first) : rows.index(last) + 1])
