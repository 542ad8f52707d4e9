"""The alphabet of the inbox contract: how its commands are written, and how they are read."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.contracts.inbox_rows import AGENT
from dshconform.contracts.model import CommandError
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.macros import message, shown_text

_OBJECT: Final = (dict, Mapping)  # the first alone costs a fifth of asking an abstract class
_GATE: Final[JsonMap] = {"gate": {"kind": "model/stream"}}
STREAM_ANSWERS: Final = frozenset({"stream.chunk", "stream.end", "stream.fail"})
"""What answers the stream gate of the model."""
TARGETS: Final = ("next-turn", "next-step")
"""The lists of an inbox."""
PRESETS: Final[Mapping[str, tuple[str, bool]]] = {
    "agent.followup": ("next-turn", True),
    "agent.steer": ("next-step", True),
    "agent.inject": ("next-step", False),
}
"""What each preset of `send` stands for: target and wakeup."""

CAUSES: Final[tuple[JsonMap, ...]] = (
    {"kind": "user"},
    {"kind": "parent"},
    {"kind": "hook", "reason": "because"},
    {"kind": "disposed"},
)
"""The causes that the examples cancel with, one of each kind."""
FAILURE: Final[JsonMap] = {"message": "the model is busy", "code": "SERVER"}
"""What the model fails with."""
IDS: Final = ("a", "b", "c", "d", "e", "f", "A", "é/ 1")
"""Few, so that an id comes back; `A` and the last one are there because ids are opaque."""

STARTS: Final[tuple[Json, ...]] = (
    0,
    1,
    2,
    99,
    -1,
    -2,
    -99,
    1.9,
    -1.5,
    {"$value": "NaN"},
    {"$value": "Infinity"},
    {"$value": "-Infinity"},
)
"""Start indices of splices. Those that truncate to negative zero are the reference's affair alone (INBOX-NORM-04)."""

COUNTS: Final[tuple[Json, ...]] = (
    1,
    0,
    2,
    99,
    -1,
    1.9,
    0.5,
    {"$value": "NaN"},
    {"$value": "Infinity"},
    {"$value": "-Infinity"},
)
"""Numbers for places and counts, those included that no list has."""


def command(op: str, **args: Json) -> JsonMap:
    """A command to the agent, or with no arguments but the gate's to the model's stream.

    Args:
        op: The operation.
        **args: Its arguments beside the agent.
    """
    return {"do": op, "args": {"agent": AGENT, **args}}


def preset(op: str, identity: str) -> JsonMap:
    """`followup`, `steer` or `inject` of a message.

    Args:
        op: The name of the delivery.
        identity: The message's id, which is its text too.
    """
    return command(f"agent.{op}", message=message(identity))


def followup(identity: str) -> JsonMap:
    """A message into `next-turn`, waking.

    Args:
        identity: The message's id, which is its text too.
    """
    return preset("followup", identity)


def steer(identity: str) -> JsonMap:
    """A message into `next-step`, waking.

    Args:
        identity: The message's id, which is its text too.
    """
    return preset("steer", identity)


def inject(identity: str) -> JsonMap:
    """A message into `next-step`, not waking.

    Args:
        identity: The message's id, which is its text too.
    """
    return preset("inject", identity)


def send(identity: str, target: str, *, wakeup: bool) -> JsonMap:
    """A message into a list, waking or not.

    Args:
        identity: The message's id, which is its text too.
        target: The list; another text is refused.
        wakeup: Whether it wakes the agent.
    """
    return command("agent.send", message=message(identity), target=target, wakeup=wakeup)


def insert(op: str, target: str, identity: str) -> JsonMap:
    """`append` or `prepend`.

    Args:
        op: Which of the two.
        target: The list; another text is refused.
        identity: The message's id, which is its text too.
    """
    return command(f"inbox.{op}", target=target, message=message(identity))


def splice(target: str, start: Json, count: Json, *identities: str) -> JsonMap:
    """`splice`; a `start` of nothing is left out.

    Args:
        target: The list; another text is refused.
        start: The place, in the protocol's notation.
        count: How many messages leave, in the protocol's notation.
        *identities: The ids of the messages that come in.
    """
    inserted: list[Json] = [message(identity) for identity in identities]
    given: JsonMap = {} if start is None else {"start": start}
    return command("inbox.splice", target=target, **given, deleteCount=count, inserted=inserted)


def replace(identity: str, by: str, text: str | None = None) -> JsonMap:
    """`replace` of a pending message by another one.

    Args:
        identity: The id of the pending one.
        by: The id of the other one.
        text: Its text; the id unless given.
    """
    return command("inbox.replace", id=identity, message=message(by, text))


def remove(identity: str) -> JsonMap:
    """`remove`.

    Args:
        identity: The id of the pending message.
    """
    return command("inbox.remove", id=identity)


def clear() -> JsonMap:
    """`clear`."""
    return command("inbox.clear")


def cancel(cause: JsonMap = CAUSES[0], *, keep: bool | None = None) -> JsonMap:
    """`cancel`; a `keep` of nothing is left out.

    Args:
        cause: Why.
        keep: Whether what is pending stays.
    """
    given: JsonMap = {} if keep is None else {"keepInbox": keep}
    return command("agent.cancel", cause=cause, **given)


def keep_inbox(cause: JsonMap = CAUSES[0]) -> JsonMap:
    """`cancel` with `keepInbox`.

    Args:
        cause: Why.
    """
    return cancel(cause, keep=True)


def text(delta: str) -> JsonMap:
    """The model's next item: some text.

    Args:
        delta: The text.
    """
    return chunk({"type": "text-delta", "index": 0, "text": delta})


def finish(kind: str) -> JsonMap:
    """The model's next item: a finish.

    Args:
        kind: Why the model is done: `stop`, `tool-calls`, ….
    """
    return chunk({"type": "finish", "reason": {"kind": kind}})


def chunk(item: JsonMap) -> JsonMap:
    """The model's next item."""
    return {"do": "stream.chunk", "args": {**_GATE, "chunk": item}}


def end() -> JsonMap:
    """The model's stream ends."""
    return {"do": "stream.end", "args": _GATE}


def fail() -> JsonMap:
    """The model's stream fails."""
    return {"do": "stream.fail", "args": {**_GATE, "error": {"$error": {"kind": "model", **FAILURE}}}}


def burst(*commands: JsonMap) -> JsonMap:
    """Commands in one uninterrupted stretch.

    Args:
        *commands: As scenarios write them.
    """
    return {"do": "burst", "args": {"do": [{"op": one["do"], "args": one["args"]} for one in commands]}}


def inspect() -> JsonMap:
    """A look at the agent, for bursts; every other command is followed by one anyway."""
    return command("agent.inspect")


def thrown(args: JsonMap) -> JsonMap | None:
    """The error that a command throws, without its notation; nothing where it throws none.

    Args:
        args: The arguments of `gate.reject` or `stream.fail`.
    """
    error = args.get("error")
    form = error.get("$error") if isinstance(error, Mapping) else None
    return form if isinstance(form, Mapping) else None


def simpler(written: JsonMap) -> list[JsonMap]:
    """Commands that say less than this one.

    Args:
        written: As a scenario writes it.
    """
    op, args = read_command(written)
    if op == "burst":
        items = items_of(args)
        if len(items) == 1:
            return [{"do": items[0]["op"], "args": items[0]["args"]}]
        return [{"do": op, "args": {"do": [*items[:at], *items[at + 1 :]]}} for at in range(len(items))]
    if op in {"stream.chunk", "stream.fail"}:
        return [end()]
    plainer: list[JsonMap] = [{key: value for key, value in args.items() if key != "keepInbox" or value is True}]
    if kind_of(args.get("cause")) not in {None, "user"}:
        plainer.append({**args, "cause": CAUSES[0]})
    held = args.get("message")
    if isinstance(held, Mapping):
        plainer.append({**args, "message": message(str(held.get("id")))})
    inserted = args.get("inserted")
    if isinstance(inserted, list | tuple):
        plainer.append({**args, "start": 0})
        plainer += [{**args, "deleteCount": count} for count in (0, 1) if args.get("deleteCount") not in (0, 1)]
        plainer += [{**args, "inserted": [*inserted[:at], *inserted[at + 1 :]]} for at in range(len(inserted))]
    return [{"do": op, "args": one} for one in plainer if one != args]


def tidied(written: Sequence[JsonMap]) -> list[JsonMap]:
    """The same commands, their messages named `m1`, `m2`, … in order of appearance.

    Args:
        written: The commands of one example.
    """
    names: dict[str, str] = {}

    def named(identity: str) -> str:
        return names.setdefault(identity, f"m{len(names) + 1}")

    def renamed(key: str, value: Json) -> Json:
        if isinstance(value, Mapping):
            identity = value.get("id")
            if "role" in value and isinstance(identity, str):
                text = shown_text(value)
                return message(named(identity), None if text in {None, identity} else text)
            return {member: renamed(member, item) for member, item in value.items()}
        if isinstance(value, list | tuple):
            return [renamed("", item) for item in value]
        return named(value) if key == "id" and isinstance(value, str) else value

    return [{"do": op, "args": renamed("", args)} for op, args in map(read_command, written)]


def kind_of(value: Json) -> str | None:
    """The tag of a cause, a reason or a finish.

    Args:
        value: An object with `kind`, or anything else.
    """
    kind = value.get("kind") if isinstance(value, Mapping) else None
    return kind if isinstance(kind, str) else None


def read_command(written: Mapping[str, Json]) -> tuple[str, JsonMap]:
    """Read a command, as scenarios or as bursts write it: its operation, and its arguments.

    Args:
        written: `{do, args}`, or `{op, args}`.

    Returns:
        The operation, and its arguments, empty where there are none.

    Raises:
        CommandError: It is none.
    """
    op, args = written.get("do", written.get("op")), written.get("args", {})
    if not isinstance(op, str) or not isinstance(args, _OBJECT):
        raise CommandError(f"{dict(written)!r} is no command: it needs `do`, the operation, and `args`, an object")
    return op, args


def items_of(args: JsonMap) -> list[JsonMap]:
    """Read the commands of a burst.

    Args:
        args: The arguments of the burst.

    Returns:
        The commands as they are written.

    Raises:
        CommandError: They are no list of objects.
    """
    items = args.get("do")
    found = [item for item in items if isinstance(item, _OBJECT)] if isinstance(items, list | tuple) else []
    if not isinstance(items, list | tuple) or len(found) != len(items):
        raise CommandError(f"a burst needs `do`, a list of commands, not {items!r}")
    return found


def message_of(args: JsonMap) -> JsonMap:
    """Read the message of a command.

    Args:
        args: The arguments of the command.

    Returns:
        The message.

    Raises:
        CommandError: There is none.
    """
    return messages_in([args.get("message")])[0]


def messages_in(value: Json) -> list[JsonMap]:
    """Read a list of messages.

    Args:
        value: What should be a list of messages, or one message alone.

    Returns:
        The messages.

    Raises:
        CommandError: It is none.
    """
    items = value if isinstance(value, list | tuple) else [value]
    found = [item for item in items if isinstance(item, _OBJECT) and isinstance(item.get("id"), str)]
    if len(found) != len(items):
        raise CommandError(f"messages with an `id` are needed, not {value!r}")
    return found


def number(value: Json) -> float:
    """Read a number in the protocol's notation; nothing is not a number.

    Args:
        value: As a scenario writes it.

    Returns:
        The number, which may be infinite.

    Raises:
        CommandError: It is no number.
    """
    if value is None:
        return math.nan
    if isinstance(value, Mapping) and value.get("$value") in _NUMBERS:
        return _NUMBERS[str(value["$value"])]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise CommandError(f"a number is needed, not {value!r}")


_NUMBERS: Final[Mapping[str, float]] = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
