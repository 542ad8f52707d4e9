"""What the commands of the rollback contract say: functions and their scripts, messages, stored sessions."""

from collections.abc import Mapping
from dataclasses import dataclass

from dshconform.contracts.inbox_commands import items_of, message_of, messages_in, read_command
from dshconform.contracts.model import CommandError
from dshconform.contracts.rollback_commands import WAIT, top
from dshconform.protocol.json_value import Json, JsonMap


def script_of(fn: Json) -> tuple[str, list[JsonMap]]:
    """The name of a function, and its script.

    Args:
        fn: As a command writes it.

    Returns:
        The name and the actions; for `"gate"` the one that waits.

    Raises:
        CommandError: It is none.
    """
    if not isinstance(fn, Mapping) or not isinstance(fn.get("$fn"), str):
        raise CommandError(f"a function is needed, not {fn!r}")
    do = fn.get("do", [])
    script = [WAIT] if do == "gate" else do
    if not isinstance(script, list | tuple):
        raise CommandError(f"a script is a list of actions, not {script!r}")
    return str(fn["$fn"]), [one for one in script if isinstance(one, Mapping)]


def text_in(args: JsonMap, name: str) -> str:
    """A text among the arguments of a command.

    Args:
        args: The arguments.
        name: The name of the argument.

    Returns:
        The text.

    Raises:
        CommandError: There is none.
    """
    value = args.get(name)
    if not isinstance(value, str):
        raise CommandError(f"a command needs a text {name!r}, not {value!r}")
    return value


def owner_in(args: JsonMap) -> str:
    """Through which context a command goes: `root`, a plugin, or the scope of a life.

    Args:
        args: The arguments of the command.

    Raises:
        CommandError: It is none of the three.
    """
    place = args.get("in", "root")
    return text_in(place, "agent") if isinstance(place, Mapping) else str(place)


def error_name(written: Json) -> str:
    """The name of an error; nothing where it is none.

    Args:
        written: As a command writes it.
    """
    form = written.get("$error") if isinstance(written, Mapping) else None
    return str(form.get("as")) if isinstance(form, Mapping) else ""


@dataclass(frozen=True, slots=True)
class Stored:
    """What a session is when it is restored.

    Args:
        turn: The number of its last turn.
        length: How many events its log has, the marker of its end included.
        pending: The ids of its pending messages.
    """

    turn: int
    length: int
    pending: list[str]


def stored_in(args: JsonMap) -> Stored:
    """Read what the storage answers.

    Args:
        args: The arguments of the answer.

    Returns:
        What the log says of the life that is resumed.

    Raises:
        CommandError: It is no header with events.
    """
    value = args.get("value")
    events = value.get("events") if isinstance(value, Mapping) else None
    if not isinstance(events, list | tuple):
        raise CommandError(f"the storage answers a header and events, not {value!r}")
    turn, pending, last = 0, [], None
    for event in events:
        data = event.get("data") if isinstance(event, Mapping) else None
        last = event.get("type") if isinstance(event, Mapping) else None
        if isinstance(data, Mapping) and last == "turn/start" and isinstance(data.get("turn"), int):
            turn = int(str(data["turn"]))
        elif isinstance(data, Mapping) and last == "agent/inbox/spliced":
            pending += [str(one["id"]) for one in messages_in(data.get("inserted"))]
    return Stored(turn, len(events) + (last != "session/end-seed"), pending)


def message_id(args: JsonMap) -> str:
    """The id of the message that is sent.

    Args:
        args: The arguments of a delivery.

    Raises:
        CommandError: There is no message.
    """
    return str(message_of(args)["id"])


def simpler(written: JsonMap) -> list[JsonMap]:
    """Commands that say less than this one.

    Args:
        written: As a scenario writes it.
    """
    op, args = read_command(written)
    if op == "burst":
        items = items_of(args)
        if len(items) == 1:
            return [top(items[0])]
        return [{"do": op, "args": {"do": [*items[:at], *items[at + 1 :]]}} for at in range(len(items))]
    plainer: list[JsonMap] = [
        {key: value for key, value in args.items() if key != name}
        for name in ("in", "signal", "meta")
        if name in args and "setup" in args
    ]
    plainer += [{**args, name: fn} for name in ("setup", "fn", "undo") for fn in _shorter(args.get(name))]
    return [{"do": op, "args": one} for one in plainer]


def _shorter(fn: Json) -> list[JsonMap]:
    """A function without one of its actions, or with one that says less."""
    if not isinstance(fn, Mapping) or not isinstance(fn.get("do"), list | tuple):
        return []
    _, script = script_of(fn)
    found: list[list[JsonMap]] = []
    for at, one in enumerate(script):
        found.append([*script[:at], *script[at + 1 :]])
        args, value = one.get("args"), one.get("value")
        for holder, name in ((args, "fn"), (args, "undo"), (value, "commit")):
            if isinstance(holder, Mapping):
                key = "args" if holder is args else "value"
                found += [
                    [*script[:at], {**one, key: {**holder, name: less}}, *script[at + 1 :]]
                    for less in _shorter(holder.get(name))
                ]
    return [{**fn, "do": shorter} for shorter in found]
