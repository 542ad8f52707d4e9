"""The open maps of a log: its events, what a turn was triggered by, and why it ended.

The log holds them as JSON; these are readings. A plugin adds its own with `register`, and whoever reads goes past what
it does not know. The other three of the six maps belong to the conversation: `dshcore.llm.vocabulary`.

    match SESSION_EVENTS.read(event):
        case TurnEnded(data=ended):
            match TURN_END_REASONS.read(ended.reason):
                case Failed(error=error): …
                case _: …
        case _: …

Spec:
    PATTERN-EXT-01, PATTERN-EXT-02, PATTERN-EXT-04
"""

from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from dshcore.json import Json, JsonObject
from dshcore.variants import OpenUnion, Variant


class LoggedEvent(Variant, frozen=True, tag_field="type"):
    """One event: where it stands, and when it was accepted. A variant adds its payload as ``data``.

    Attributes:
        seq: Its place in the log.
        time: When it was appended, in milliseconds.
    """

    seq: int
    time: int


class Turn(msgspec.Struct, frozen=True):
    """The payload of a turn's beginning; ``trigger`` is read by `TURN_TRIGGERS`."""

    turn: int
    trigger: JsonObject | UnsetType = UNSET


class Ended(msgspec.Struct, frozen=True):
    """The payload of a turn's end; ``reason`` is read by `TURN_END_REASONS`."""

    turn: int
    reason: JsonObject


class Step(msgspec.Struct, frozen=True):
    """Which step, of which turn."""

    turn: int
    """The number of the turn."""
    step: int
    """The number of the step in it."""


class Streamed(Step, frozen=True):
    """One chunk of a step's stream."""

    chunk: JsonObject


class Answer(Step, frozen=True):
    """A message of the model, and what it cost.

    Attributes:
        usage: What it used, where that is known.
        interrupted: Whether it was cut by an abort.
    """

    message: JsonObject
    usage: JsonObject | UnsetType = UNSET
    interrupted: bool | UnsetType = UNSET


class Call(Step, frozen=True, rename="camel"):
    """A tool call; ``arguments`` is the model's text.

    Attributes:
        call_id: Correlates it with its result.
        name: The tool.
    """

    call_id: str
    name: str
    arguments: str


class Result(Step, frozen=True):
    """What a tool call came to.

    Attributes:
        message: What the model is told.
        error: Which error it was, where it is one with an identity.
        meta: What readers are told besides.
    """

    message: JsonObject
    error: JsonObject | UnsetType = UNSET
    meta: Json | UnsetType = UNSET


class Todos(msgspec.Struct, frozen=True):
    """The whole list of things to do.

    Attributes:
        todos: The whole list.
    """

    todos: tuple[JsonObject, ...]


class Header(msgspec.Struct, frozen=True):
    """A request header, and why it is logged.

    Attributes:
        reason: Why it was logged anew.
    """

    header: JsonObject
    reason: str


class Context(msgspec.Struct, frozen=True, rename="camel"):
    """The model in use and its window.

    Attributes:
        provider: The route.
        context_window: Tokens that the model takes.
    """

    provider: str
    model: str
    context_window: int | UnsetType = UNSET


class Splice(msgspec.Struct, frozen=True, rename="camel"):
    """A change of an inbox list.

    Attributes:
        target: The list.
        start: Where it is changed.
        inserted: What comes in.
        removed_count: How many go.
        outcome: What became of those.
    """

    target: str
    start: int
    inserted: tuple[JsonObject, ...]
    removed_count: int | UnsetType = UNSET
    outcome: str | UnsetType = UNSET


class TurnStarted(LoggedEvent, frozen=True, tag="turn/start"):
    """A turn began."""

    data: Turn


class TurnEnded(LoggedEvent, frozen=True, tag="turn/end"):
    """A turn ended."""

    data: Ended


class StepStarted(LoggedEvent, frozen=True, tag="step/start"):
    """A step began."""

    data: Step


class StepEnded(LoggedEvent, frozen=True, tag="step/end"):
    """A step ended."""

    data: Step


class UserMessage(LoggedEvent, frozen=True, tag="user/message"):
    """A message entered the conversation."""

    data: JsonObject


class AssistantChunk(LoggedEvent, frozen=True, tag="assistant/chunk"):
    """A model streamed a chunk."""

    data: Streamed


class AssistantMessage(LoggedEvent, frozen=True, tag="assistant/message"):
    """A model answered."""

    data: Answer


class ToolCalled(LoggedEvent, frozen=True, tag="tool/call"):
    """A tool was called."""

    data: Call


class ToolAnswered(LoggedEvent, frozen=True, tag="tool/result"):
    """A call of a tool has its result."""

    data: Result


class TodosWritten(LoggedEvent, frozen=True, tag="todo/write"):
    """The list of things to do was written."""

    data: Todos


class RequestHeader(LoggedEvent, frozen=True, tag="request/header"):
    """What requests are made with from here on."""

    data: Header


class RequestContext(LoggedEvent, frozen=True, tag="request/context"):
    """Which model answers from here on."""

    data: Context


class SeedEnded(LoggedEvent, frozen=True, tag="session/end-seed"):
    """The inherited part of the log ends here."""

    data: JsonObject


class InboxSpliced(LoggedEvent, frozen=True, tag="agent/inbox/spliced"):
    """A list of the inbox changed."""

    data: Splice


SESSION_EVENTS: Final = OpenUnion[LoggedEvent](
    "type",
    *(TurnStarted, TurnEnded, StepStarted, StepEnded),
    *(UserMessage, AssistantChunk, AssistantMessage, ToolCalled, ToolAnswered, TodosWritten),
    *(RequestHeader, RequestContext, SeedEnded, InboxSpliced),
)
"""Readings of events, by ``type``, for plugins: the core itself folds a log by the names of its events."""


class Trigger(Variant, frozen=True, tag_field="kind"):
    """What a turn was triggered by. The loop writes none; a stored one is kept (ruling R-09)."""


class ByMessage(Trigger, frozen=True, tag="message"):
    """A delivered message; ``source`` is the message's."""

    source: JsonObject


class ByRetry(Trigger, frozen=True, tag="retry"):
    """An attempt that is repeated."""


class ByInjection(Trigger, frozen=True, tag="injection"):
    """Injected context; ``source`` is that of its message."""

    source: JsonObject


TURN_TRIGGERS: Final = OpenUnion[Trigger]("kind", ByMessage, ByRetry, ByInjection)
"""Readings of turn triggers, by ``kind``, for plugins: the core keeps them unread."""


class EndReason(Variant, frozen=True, tag_field="kind"):
    """Why a turn ended."""


class Completed(EndReason, frozen=True, tag="completed"):
    """There was nothing more to do."""


class Aborted(EndReason, frozen=True, tag="aborted"):
    """Somebody cancelled. The loop does not say who; a stored ``reason`` is kept (ruling R-01)."""

    reason: Json | UnsetType = UNSET


class Blocked(EndReason, frozen=True, tag="blocked"):
    """A step was rejected before it began."""


class Failed(EndReason, frozen=True, tag="error"):
    """A failure ended it; ``error`` has its facts."""

    error: JsonObject


class CutAtCeiling(EndReason, frozen=True, tag="max-tokens"):
    """The model's answer was cut at its ceiling."""


class Interrupted(EndReason, frozen=True, tag="interrupted"):
    """The program ended in the middle of it; written by the repair of a log, never by the loop."""


TURN_END_REASONS: Final = OpenUnion[EndReason]("kind", Completed, Aborted, Blocked, Failed, CutAtCeiling, Interrupted)
"""Readings of the reasons for which turns end, by ``kind``, for plugins: the core writes them and reads none."""
