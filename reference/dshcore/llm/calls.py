"""What is asked of a model: the configuration of a call, and the request that carries it."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, Literal, TypeAlias
from weakref import WeakSet

import msgspec
from msgspec import UNSET, UnsetType

from dshcore.cancel_signal import CancelSignal
from dshcore.errors import DshError
from dshcore.ids import ReasoningEffortId, SessionId
from dshcore.json import Json, JsonObject, abridged, freeze, is_array
from dshcore.prefix import Prefix

Purpose: TypeAlias = Literal["compaction", "session-title"]
"""What an auxiliary call is for."""


class InvalidCallConfig(DshError, TypeError):
    """A configuration that no call can have."""

    default_code = "INVALID_CALL_CONFIG"


class CallConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The configuration of a call. Two are equal when all members are; an absent ``stop`` is not an empty one.

    Members that are `UNSET` are absent. Whether ``stop`` is a list is all that is checked here: what may be proposed is
    the business of whoever proposes, what a model takes is its adapter's.

    Attributes:
        provider: The route; an empty text where none was chosen yet.
        model: The model's id, which the adapter interprets; an empty text likewise.
        reasoning_effort: One of the adapter's efforts.
        temperature: Sampling temperature.
        max_tokens: Ceiling of the response.
        stop: Texts that end the response.

    Raises:
        InvalidCallConfig: ``stop`` is no list.

    Spec:
        CALL-CONFIG-02
    """

    provider: str = ""
    model: str = ""
    reasoning_effort: ReasoningEffortId | UnsetType = UNSET
    temperature: float | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET
    stop: tuple[str, ...] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.stop is not UNSET:  # whatever list it came as: a configuration is detached from its maker's
            if not is_array(self.stop):
                raise InvalidCallConfig(
                    f"stop must be a list of texts, not {abridged(self.stop)}: leave it out for none"
                )
            msgspec.structs.force_setattr(self, "stop", tuple(self.stop))

    @classmethod
    def read(cls, config: Mapping[str, Json]) -> "CallConfig":
        """Return the reading of a configuration in JSON; members that no configuration has are left out.

        Args:
            config: The configuration as a log or a wire holds it.
        """
        members: dict[str, Any] = {name: config[wire] for name, wire in _WIRE_NAMES.items() if wire in config}
        return cls(**members)

    def to_json(self) -> JsonObject:
        """Return the configuration as the log writes it; ``provider`` and ``model`` are always there."""
        members: dict[str, object] = {wire: getattr(self, name) for name, wire in _WIRE_NAMES.items()}
        return freeze({wire: value for wire, value in members.items() if value is not UNSET})


_WIRE_NAMES: Final[Mapping[str, str]] = {field.name: field.encode_name for field in msgspec.structs.fields(CallConfig)}


class FrozenRequest(DshError, AttributeError):
    """An attempt to change a request that was frozen."""

    default_code = "FROZEN_REQUEST"


class GenerateOptions:
    """One request to a model. Compared by identity.

    A hand-built request can be changed until it is frozen, for instance re-routed by a listener of ``llm/stream``.
    What the loop builds is frozen. The signal stays live in a frozen request: aborting it is no change of the request.

    Args:
        config: The configuration of the call.
        messages: The conversation, oldest first, without the system text.
        system: The system text.
        tools: ``{name, description, parameters}`` for each tool on offer.
        signal: Asks for the attempt to stop.
        session_id: The session that the request belongs to.
        purpose: What an auxiliary call is for.

    Attributes:
        config: As above. So are the others; absent ones are none.

    Spec:
        REQ-SHAPE-01, FREEZE-DEEP-02
    """

    __slots__ = (
        "__weakref__",
        "_frozen",
        "config",
        "messages",
        "purpose",
        "session_id",
        "signal",
        "system",
        "tools",
    )

    config: CallConfig
    messages: Sequence[JsonObject]
    system: str | None
    tools: Sequence[JsonObject] | None
    signal: CancelSignal | None
    session_id: SessionId | None
    purpose: Purpose | None
    _frozen: bool

    def __init__(
        self,
        config: CallConfig,
        messages: Sequence[JsonObject],
        *,
        system: str | None = None,
        tools: Sequence[JsonObject] | None = None,
        signal: CancelSignal | None = None,
        session_id: SessionId | None = None,
        purpose: Purpose | None = None,
    ) -> None:
        object.__setattr__(self, "_frozen", False)
        self.config = config
        self.messages = messages
        self.system = system
        self.tools = tools
        self.signal = signal
        self.session_id = session_id
        self.purpose = purpose

    def __setattr__(self, name: str, value: object) -> None:
        if self._frozen:
            raise FrozenRequest(
                f"cannot set {name} of a frozen request: build another one, or change it before freezing"
            )
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if self._frozen:
            raise FrozenRequest(f"cannot delete {name} of a frozen request: build another one")
        raise AttributeError(f"cannot delete {name} of a request: set it to None where it is to be absent")

    def __copy__(self) -> "GenerateOptions":
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> "GenerateOptions":
        """Copy the parts that can change; the signal is the same one, which stays live (FREEZE-DEEP-02)."""
        copied = GenerateOptions(
            self.config,
            self.messages if self.frozen else deepcopy(self.messages, memo),
            system=self.system,
            tools=self.tools if self.frozen else deepcopy(self.tools, memo),
            signal=self.signal,
            session_id=self.session_id,
            purpose=self.purpose,
        )
        return copied.freeze() if self.frozen else copied

    @property
    def frozen(self) -> bool:
        """Whether the request can no longer be changed."""
        return self._frozen

    def freeze(self) -> "GenerateOptions":
        """Make the request immutable, in place: its members, their order, and the JSON that they are made of.

        The request is the same one; messages and tools that were made of plain containers are frozen copies of them.

        Returns:
            The request itself.

        Raises:
            NotJson: A message or a tool is not lossless JSON. The request can still be changed.

        Spec:
            FREEZE-DEEP-01, FREEZE-DEEP-02
        """
        messages, tools = self.messages, self.tools
        if not isinstance(messages, Prefix):  # a prefix is a view of history, which is frozen and only grows
            messages = tuple(freeze(message) for message in messages)
        if tools is not None:
            tools = tuple(freeze(tool) for tool in tools)
        self.messages, self.tools = messages, tools
        object.__setattr__(self, "_frozen", True)
        return self

    def copy(
        self, *, config: CallConfig | None = None, messages: Sequence[JsonObject] | None = None
    ) -> "GenerateOptions":
        """Return another request with some parts replaced; it is frozen if this one is.

        Args:
            config: Another configuration.
            messages: Another history.

        Spec:
            STREAM-DEFAULT-01, FREEZE-MARK-01
        """
        copied = GenerateOptions(
            self.config if config is None else config,
            self.messages if messages is None else messages,
            system=self.system,
            tools=self.tools,
            signal=self.signal,
            session_id=self.session_id,
            purpose=self.purpose,
        )
        return copied.freeze() if self.frozen else copied

    def to_json(self) -> JsonObject:
        """Return everything but the signal in the specification's spelling; absent members are left out."""
        parts: dict[str, object] = {**self.config.to_json(), "messages": tuple(self.messages)}
        optional = {"system": self.system, "tools": self.tools, "sessionId": self.session_id, "purpose": self.purpose}
        parts.update((name, value) for name, value in optional.items() if value is not None)
        return freeze(parts)

    def __repr__(self) -> str:
        return f"<GenerateOptions {self.config.provider}/{self.config.model}, {len(self.messages)} messages>"


_loop_built: WeakSet[GenerateOptions] = WeakSet()  # no member of the request: copies and logs must not carry it


def mark_loop_built(request: GenerateOptions) -> GenerateOptions:
    """Mark a request as the one that the loop dispatches, and return it.

    Spec:
        FREEZE-MARK-01
    """
    _loop_built.add(request)
    return request


def is_loop_built(request: GenerateOptions) -> bool:
    """Return whether this very request, not a copy, was built by the loop.

    Spec:
        FREEZE-MARK-01
    """
    return request in _loop_built
