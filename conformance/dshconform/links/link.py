"""What a link to an adapter is, and what goes wrong on the adapter's side of it.

A link carries one command at a time and brings back the one reply to it. Whatever breaks that promise is an
`AdapterFault`: it says something about the adapter and nothing about the implementation behind it, so no check may
turn it into a failed clause.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Literal, Protocol, Self, TypeAlias

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Hello, Reply
from dshconform.protocol.promises import PROMISES

NO_ARGS: Final[JsonMap] = MappingProxyType[str, Json]({})
"""The arguments of a command that has none."""

FaultKind: TypeAlias = Literal[
    "garbage",  # a line that is no JSON
    "malformed",  # JSON that is no reply, or one that contradicts itself
    "duplicate-reply",  # a line for which no command was waiting
    "no-reply",  # nothing within the time for one reply
    "died",  # the process ended, closed its output, could not be started, or (in process) raised
    "no-exit",  # the end of input did not end the process
    "flood",  # more output than a reply may have
    "late",  # rows made after the reply that should have held them
    "unsettled",  # the adapter says that the implementation did not come to rest
    "fault",  # the adapter says that it cannot execute the command
]
"""In what way an adapter broke the protocol."""

_PROMISES: Final[Mapping[FaultKind, str]] = {
    **dict.fromkeys(("garbage", "duplicate-reply", "flood"), "line"),
    **dict.fromkeys(("no-reply", "died", "no-exit"), "alive"),
    **dict.fromkeys(("late", "unsettled"), "settled"),
    "fault": "executed",
    "malformed": "form",
}
"""Which promise each kind of fault breaks, where nothing narrower is known."""


class AdapterFault(Exception):
    """The adapter broke the protocol.

    Args:
        kind: How it shows.
        message: What was seen, naming the command and the place.
        remedy: What the author of the adapter can do about it.
        wire_log: The file with every line exchanged, where there is one.
        promise: Which promise was broken, one of `PROMISES`; by default the one that this kind breaks.
    """

    def __init__(
        self, kind: FaultKind, message: str, remedy: str, wire_log: Path | None = None, promise: str | None = None
    ) -> None:
        super().__init__(kind, message, remedy, wire_log, promise)
        self.kind: Final = kind
        self.message: Final = message
        self.remedy: Final = remedy
        self.wire_log: Final = wire_log
        self.promise: Final = promise or _PROMISES[kind]

    @property
    def promised(self) -> str:
        """The promise that was broken, with its text."""
        return f"{self.promise} ({PROMISES[self.promise].text})"

    def __str__(self) -> str:
        text = f"adapter fault ({self.kind}): {self.message}\n  promise: {self.promised}\n  remedy: {self.remedy}"
        return text if self.wire_log is None else f"{text}\n  wire log: {self.wire_log}"


@dataclass(frozen=True, slots=True)
class Broken:
    """A promise that was broken: the members of an `AdapterFault` that the link knows how to raise."""

    kind: FaultKind
    """In what way."""
    message: str
    """Which command it was, and what is wrong with the reply."""
    remedy: str
    """What the author of the adapter can do about it."""
    promise: str | None = None
    """Which promise it is, where the kind does not say it."""

    def fault(self, wire_log: Path | None = None) -> AdapterFault:
        """Makes the fault that is raised for it.

        Args:
            wire_log: The file with every line exchanged, where there is one.

        Returns:
            The fault.
        """
        return AdapterFault(self.kind, self.message, self.remedy, wire_log, self.promise)


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What an adapter may use before it is stopped.

    Args:
        seconds_per_reply: From sending a command to the end of the line that answers it.
        seconds_to_end: From the end of input to the end of the process.
        bytes_per_reply: The length of one line.
        stray_lines: Lines without a pending command that are still reported one by one (`duplicate-reply`); more
            are a `flood`.
    """

    seconds_per_reply: float = 30.0
    seconds_to_end: float = 5.0
    bytes_per_reply: int = 64 * 1024 * 1024
    stray_lines: int = 100

    def __post_init__(self) -> None:
        for name in ("seconds_per_reply", "seconds_to_end", "bytes_per_reply", "stray_lines"):
            value = getattr(self, name)
            if not value > 0:
                message = f"limit {name} is {value!r}: give a number greater than 0"
                raise ValueError(message)


class Link(Protocol):
    """A connection to one adapter, greeted and ready; a context manager that closes it.

    A link is synchronous and serves one caller. After an `AdapterFault` it is over: every later call raises that
    fault again.
    """

    @property
    def hello(self) -> Hello:
        """What the adapter declared of itself."""
        ...

    def call(self, op: str, args: JsonMap = NO_ARGS) -> Reply:
        """Sends one command and waits for its reply.

        Args:
            op: The operation.
            args: Its arguments, gates named by the adapter's ids.

        Returns:
            A reply with a `result` or an `error`, without `late` rows.

        Raises:
            AdapterFault: The adapter broke the protocol, or answered with `fault`.
        """
        ...

    def accuse(self, broken: Broken) -> AdapterFault:
        """Ends the link for a promise that no reply breaks alone.

        Args:
            broken: The promise, and what was seen.

        Returns:
            The fault, to be raised; every later call raises it too.
        """
        ...

    def close(self) -> None:
        """Ends the adapter; the second time it does nothing.

        Raises:
            AdapterFault: The adapter had more to say, or did not end as it should. Not raised after an earlier
                fault, and not when a `with` block is left by an exception.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


def brief(value: object, width: int = 200) -> str:
    """A value's text, cut in the middle where it is long, for messages.

    Args:
        value: A text as it is, anything else by its `repr`.
        width: The most characters that it may have.
    """
    text = value if isinstance(value, str) else repr(value)
    if len(text) <= width:
        return text
    half = (width - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"
