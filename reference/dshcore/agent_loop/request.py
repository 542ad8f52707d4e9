"""Model requests: what is proposed, what the listeners make of it, what is logged, and what comes back.

One `Requests` serves one agent. Nothing about a request is kept beside the log but one fact: whether this agent has
logged a header yet, which it does with its first request whatever the log holds (REQ-HEAD-01).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from msgspec import UNSET

from dshcore.agent import AGENT_REQUEST, AgentError, AgentOptions, AgentRequest
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.cancel_signal import CancelSignal
from dshcore.errors import describe
from dshcore.host import host_is_cancelling
from dshcore.json import MAX_SAFE_INTEGER, Json, JsonObject, same
from dshcore.llm import (
    BlockAssembler,
    CallConfig,
    GenerateOptions,
    LlmError,
    LlmRuntime,
    PreparedCall,
    RetryPolicy,
    close_stream,
    mark_loop_built,
)
from dshcore.session import Session, canonical_header, header_equals

_log: Final = logging.getLogger(__name__)

_NO_ADAPTER: Final = "NO_ADAPTER"
_FAILURES: Final = frozenset({"error", "aborted"})


class NoRoute(AgentError):
    """Nobody has said which model answers (REQ-ROUTE-01).

    Args:
        agent_id: The agent whose request it is.
    """

    default_code = "NO_ROUTE"

    def __init__(self, agent_id: str) -> None:
        super().__init__(
            f'agent "{agent_id}" has no provider/model: set AgentOptions.provider and AgentOptions.model or supply '
            "both via the agent/request waterfall"
        )


class InvalidMaxTokens(AgentError, TypeError):
    """An output cap that none can be (REQ-MAXTOK-01, REQ-MAXTOK-03)."""

    default_code = "INVALID_MAX_TOKENS"

    def __init__(self, value: object) -> None:
        super().__init__("agent maxTokens must be a positive safe integer")
        self.add_note(f"It was {value!r}.")


def check_max_tokens(value: object) -> None:
    """Refuse an output cap that is no positive safe integer; `UNSET` is no cap.

    Raises:
        InvalidMaxTokens: The value cannot be a cap.

    Spec:
        REQ-MAXTOK-01, REQ-MAXTOK-03
    """
    if value is not UNSET and not (type(value) is int and 0 < value <= MAX_SAFE_INTEGER):
        raise InvalidMaxTokens(value)


@dataclass(frozen=True, slots=True)
class Answered:
    """A response that ended without failure.

    Attributes:
        message: The message that it assembled to.
        data: What its `assistant/message` holds, the message included.
        chunk_seqs: The chunks that it was made of.
        ceiling: Whether it was cut at the output-token ceiling.
    """

    message: JsonObject
    data: Mapping[str, object]
    chunk_seqs: Sequence[int]
    ceiling: bool


@dataclass(frozen=True, slots=True)
class Failed:
    """A response that ended in a failure; its chunks are all that is kept of it.

    Attributes:
        provider: The route that it was asked of.
        failure: The facts, as the terminal finish delivered them.
        retry_policy: The policy of the registration that served it; none if none did.
    """

    provider: str
    failure: Json
    retry_policy: RetryPolicy | None


@dataclass(frozen=True, slots=True)
class Prompt:
    """What prompt assembly contributes to the requests of one step.

    Attributes:
        system: The system text; empty for none.
        tools: ``{name, description, parameters}`` of each tool on offer.
    """

    system: str
    tools: Sequence[JsonObject]


class Requests:
    """The model requests of one agent.

    Args:
        session: Its log.
        options: The route and output cap of its first request.
        llm: Where requests go.
    """

    def __init__(self, session: Session, options: AgentOptions, llm: LlmRuntime) -> None:
        self._session = session
        self._options = options
        self._llm = llm
        self._has_logged_header = False

    async def attempt(
        self, agent: DrivenAgent, turn: int, step: int, signal: CancelSignal, prompt: Prompt
    ) -> Answered | Failed:
        """Make one request, and log what leads to it and what comes back.

        Args:
            agent: Who asks.
            turn: The open turn.
            step: The open step.
            signal: The turn's signal.
            prompt: What the step's prompt assembly came to.

        Returns:
            The response, not yet logged as a message; or the failure that it ended in.

        Raises:
            Aborted: The signal was aborted. What had been streamed by then is logged as an interrupted message.
            NoRoute: The listeners left the request without provider or model.
            InvalidMaxTokens: They gave it an output cap that none can be.
            Exception: What a listener raised, or the preparation of the call, or an append.
            TypeError: A listener answered what is no configuration.

        Cancellation:
            The stream is closed, and what had been streamed is logged as an interrupted message.

        Spec:
            REQ-MSG-01, REQ-ROUTE-01, REQ-ROUTE-02, REQ-MAXTOK-03, REQ-SHAPE-01, DERIVE-PROJ-06, CANCEL-PHASE-06,
            CALL-PREP-04, CALL-FALLBACK-01, CALL-BIND-02
        """
        history = self._session.derive_messages()  # before the listeners: DERIVE-PROJ-06

        async def proposal() -> CallConfig:
            return self._proposal()

        answer = agent.ctx.waterfall(AGENT_REQUEST, AgentRequest(agent, turn, step, signal), proposal)
        config = cast("object", await answer)  # whatever a listener answered
        signal.raise_if_aborted()
        if not isinstance(config, CallConfig):
            raise TypeError(f"agent/request was answered with {config!r}: answer a CallConfig")
        if not config.provider or not config.model:
            raise NoRoute(agent.id)
        check_max_tokens(config.max_tokens)  # ADAPTER-DEFAULT-06: before anybody asks an adapter
        call = await self._prepare(config, signal)
        signal.raise_if_aborted()
        if call is not None:
            config = call.config
        self._log_header(config, call, prompt)
        signal.raise_if_aborted()
        request = mark_loop_built(
            GenerateOptions(
                config,
                history,
                system=prompt.system or None,  # REQ-HEAD-03: what is empty is absent
                tools=prompt.tools or None,
                signal=signal,
                session_id=self._session.id,
            ).freeze()
        )
        stream = self._llm.stream(request) if call is None else call.stream(request)
        return await self._receive(agent, _Attempt(turn, step, config, call, signal), stream)

    def _proposal(self) -> CallConfig:
        """Answer the configuration that is offered to the listeners, a value that none of them can change in place.

        Spec:
            REQ-SEED-01, REQ-SEED-02, REQ-SEED-03, REQ-SEED-04, REQ-MAXTOK-02
        """
        header = self._session.request_header()
        if header is not None and self._has_logged_header:
            defaulted = header.get("adapterDefaults", {})
            return CallConfig.read({name: value for name, value in header["config"].items() if name not in defaulted})
        options = self._options
        own = CallConfig(provider=options.provider or "", model=options.model or "", max_tokens=options.max_tokens)
        if header is None:
            return own
        last, defaulted = header["config"], header.get("adapterDefaults", {})
        if (last["provider"], last["model"]) != (own.provider, own.model) or "reasoningEffort" in defaulted:
            return own
        return CallConfig(
            provider=own.provider,
            model=own.model,
            max_tokens=own.max_tokens,
            reasoning_effort=last.get("reasoningEffort", UNSET),
        )

    async def _prepare(self, config: CallConfig, signal: CancelSignal) -> PreparedCall | None:
        """Bind the call to its adapter and resolve its defaults; none for a route that nobody serves (REQ-ROUTE-02)."""
        try:
            return await self._llm.prepare(config, signal)
        except LlmError as error:
            if error.code == _NO_ADAPTER:
                return None
            raise

    def _log_header(self, config: CallConfig, call: PreparedCall | None, prompt: Prompt) -> None:
        """Log the request header and context as far as they are due.

        Spec:
            REQ-HEAD-01, REQ-HEAD-02, REQ-HEAD-03, REQ-CTX-01, HEADER-REQ-05, HEADER-CTX-02, REQ-DEF-01
        """
        session = self._session
        header = canonical_header(
            {
                "config": config.to_json(),
                "adapterDefaults": {} if call is None else call.adapter_defaults,
                "system": prompt.system,
                "tools": tuple(prompt.tools),
            }
        )
        last = session.request_header()
        reason = "initial" if last is None else "change" if self._has_logged_header else "resume"
        if reason != "change" or last is None or not header_equals(header, last):
            session.append("request/header", {"header": header, "reason": reason})
            self._has_logged_header = True
        capacity: Mapping[str, Json] = {} if call is None or call.context is None else call.context
        context: dict[str, Json] = {"provider": config.provider, "model": config.model, **capacity}
        if not same(session.request_context(), context):
            session.append("request/context", context)

    async def _receive(
        self, agent: DrivenAgent, attempt: "_Attempt", stream: AsyncIterator[JsonObject]
    ) -> Answered | Failed:
        """Log the chunks of a stream, and fold them.

        Spec:
            LOOP-CHUNK-01, CANCEL-STREAM-01, CANCEL-STREAM-04, CANCEL-STREAM-06, RERR-WHEN-01, LOG-EVT-08, LOG-EVT-10,
            CHUNK-LOG-01, CHUNK-OPEN-01, CHUNK-FINISH-01, ASM-FINISH-01
        """
        session, signal = self._session, attempt.signal
        chunks = BlockAssembler()
        seqs: list[int] = []
        try:
            signal.raise_if_aborted()
            async for chunk in stream:  # CHUNK-LOG-01: the next one is not asked for before this one is logged
                signal.raise_if_aborted()
                event = session.append("assistant/chunk", {**attempt.place, "chunk": chunk})
                seqs.append(event["seq"])
                chunks.push(event["data"]["chunk"])
            signal.raise_if_aborted()
        except BaseException as failure:
            if host_is_cancelling():
                agent.host_cancelled()
            try:
                if not isinstance(failure, GeneratorExit):  # which leaves no room to wait
                    await _close(stream)
            finally:
                if signal.aborted:
                    self._log_interrupted(attempt, chunks, seqs)
            raise
        if chunks.finish.get("kind") in _FAILURES:  # CHUNK-OPEN-01: nothing is assembled, whatever is open
            policy = None if attempt.call is None else attempt.call.retry_policy
            return Failed(attempt.config.provider, chunks.finish.get("failure"), policy)
        message = chunks.message(provider=attempt.config.provider, model=attempt.config.model)
        data = _message_data(attempt, message, chunks)
        return Answered(message, data, seqs, ceiling=chunks.finish.get("kind") == "max-tokens")

    def _log_interrupted(self, attempt: "_Attempt", chunks: BlockAssembler, seqs: Sequence[int]) -> None:
        """Log what a cut stream had delivered, if anything of it can be seen.

        Spec:
            CANCEL-STREAM-01, CANCEL-STREAM-02, CANCEL-STREAM-03, CANCEL-STREAM-05, LOG-EVT-11
        """
        message = chunks.interrupted_message(provider=attempt.config.provider, model=attempt.config.model)
        if message is not None:
            data = {**_message_data(attempt, message, chunks), "interrupted": True}
            self._session.append("assistant/message", data, surface_op="append", source_event_seqs=seqs)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One request under way."""

    turn: int
    step: int
    config: CallConfig
    call: PreparedCall | None
    signal: CancelSignal

    @property
    def place(self) -> dict[str, Json]:
        return {"turn": self.turn, "step": self.step}


def _message_data(attempt: _Attempt, message: JsonObject, chunks: BlockAssembler) -> dict[str, Json]:
    """Answer what an `assistant/message` holds; usage only where some was reported (LOG-EVT-09)."""
    data: dict[str, Json] = {**attempt.place, "message": message}
    if chunks.usage is not None:
        data["usage"] = chunks.usage
    return data


async def _close(stream: AsyncIterator[JsonObject]) -> None:
    """Close a stream that is not read to its end; why it is closed matters more than how the closing fails."""
    try:
        await close_stream(stream)
    except Exception as error:  # noqa: BLE001 - the failure that led here goes on
        _log.warning("closing a model stream failed: %s", describe(error), exc_info=error)
    except asyncio.CancelledError:
        if host_is_cancelling():
            raise
        _log.warning("closing a model stream was cancelled from within")
