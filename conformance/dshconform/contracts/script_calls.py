"""Scripts of the suite's functions, as a model writes, reads and follows them.

A script is a list of commands of the contract, and perhaps an ending. So one interpreter performs both: a command from
outside, and one inside the call of a function.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.inbox_rows import Clauses
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import UNCHECKED
from dshconform.trace.rows import ExpectedRow

FAILURE: Final[JsonMap] = {"$error": {"message": "broken", "as": "broken"}}
"""What functions of the suite fail with."""
THROW: Final[JsonMap] = {"do": "throw", "error": FAILURE}
"""Fail at once."""
REJECT: Final[JsonMap] = {"do": "reject", "error": FAILURE}
"""Answer an awaitable that fails."""
BROKEN: Final[JsonMap] = {"is": "broken"}
"""How that error shows: it is the very one."""


class Outcome(NamedTuple):
    """What a command answers, or the error with which it fails; and who says so."""

    result: Json = UNCHECKED
    """A pattern for what it answers."""
    error: JsonMap | None = None
    clauses: Clauses = ()
    """Those that say so."""


def failed(text: str, *clauses: str) -> Outcome:
    """A command is refused.

    Args:
        text: The message of the error.
        *clauses: Those that say so.

    Returns:
        An outcome with that error.
    """
    return Outcome(error={"message": text}, clauses=clauses)


def together(one: Clauses, other: Clauses) -> Clauses:
    """Both, each clause once.

    Args:
        one: They come first.
        other: Those that are not among them follow.

    Returns:
        The clauses.
    """
    return (*one, *(clause for clause in other if clause not in one))


Perform: TypeAlias = Callable[[str, JsonMap], Outcome]
"""Does a command: everything up to its return, and not the `return` row."""


def action(command: JsonMap) -> JsonMap:
    """A command as an action of a script.

    Args:
        command: As examples have it.
    """
    op, args = read_command(command)
    return {"op": op, "args": args}


def always(*actions: JsonMap) -> JsonMap:
    """A function that follows the same script in every call.

    Args:
        *actions: The script.
    """
    return {"do": [*actions]}


def once(command: JsonMap) -> JsonMap:
    """A function that does something when it is called first, and nothing later.

    Args:
        command: What it does the first time.
    """
    return {"calls": [[action(command)], None]}


def listen(name: str, event: str, function: JsonMap, *, prepend: bool = False) -> JsonMap:
    """Add a listener.

    Args:
        name: What the suite calls it.
        event: What it hears.
        function: What it does, as the members of a function.
        prepend: Whether it stands before the listeners that are there.

    Returns:
        The command.
    """
    args: JsonMap = {"as": name, "event": event, "fn": {"$fn": name, **function}}
    return {"do": "listen", "args": {**args, "prepend": True} if prepend else args}


def script_of(function: JsonMap, call: int) -> Sequence[JsonMap]:
    """What a function does in its n-th call, counted from 1.

    Args:
        function: The function, without its name.
        call: The number of the call.
    """
    calls, done = function.get("calls"), function.get("do")
    if isinstance(calls, list | tuple):
        done = calls[min(call, len(calls)) - 1]
    return [one for one in done if isinstance(one, Mapping)] if isinstance(done, list | tuple) else []


def actions_of(function: JsonMap) -> list[JsonMap]:
    """Every action of a function's scripts.

    Args:
        function: The function, without its name.
    """
    calls = function.get("calls")
    scripts: Sequence[Json] = calls if isinstance(calls, list | tuple) else [function.get("do")]
    found: list[JsonMap] = []
    for script in scripts:
        if isinstance(script, list | tuple):
            found += [one for one in script if isinstance(one, Mapping)]
    return found


def follow(
    script: Sequence[JsonMap],
    call: tuple[str, int],
    perform: Perform,
    rows: list[ExpectedRow],
    *,
    heard: JsonMap,
    clauses: Clauses,
) -> str | None:
    """Follow the script of a call.

    Args:
        script: The actions.
        call: The function, and which of its calls this is.
        perform: Does a command.
        rows: The `return` row of each command is added to them.
        heard: The fields of the call that its commands name as `{"$arg": field}`.
        clauses: Answer for such a row where the outcome names nobody.

    Returns:
        How the call ends before its end, if it does: `throw`, `reject`, `return`.
    """
    part, n = call
    for at, one in enumerate(script):
        if "op" not in one:
            return str(one["do"])
        op, given = str(one["op"]), one["args"]
        assert isinstance(given, Mapping)
        outcome = perform(op, {key: _read(value, heard) for key, value in given.items()})
        back: dict[str, Json] = {"on": "return", "op": op, "at": str(at), "part": part, "n": n}
        if outcome.error is not None:
            back["error"] = outcome.error
        elif outcome.result is not UNCHECKED:
            back["result"] = outcome.result
        rows.append(ExpectedRow(back, outcome.clauses or clauses))
    return None


def tidied(commands: Sequence[JsonMap], naming: Mapping[str, str]) -> list[JsonMap]:
    """The same commands, what they name called in order of appearance, errors excepted.

    Args:
        commands: The commands.
        naming: The members that name something, each with the letter for what it names.
    """
    names: dict[str, str] = {}

    def renamed(key: str, value: Json) -> Json:
        if isinstance(value, Mapping):
            return {name: item if name == "$error" else renamed(name, item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [renamed("", item) for item in value]
        if key not in naming or not isinstance(value, str):
            return value
        known = sum(name.startswith(naming[key]) for name in names.values())
        return names.setdefault(value, f"{naming[key]}{known + 1}")

    return [{"do": op, "args": renamed("", args)} for op, args in map(read_command, commands)]


def _read(value: Json, heard: JsonMap) -> Json:
    return heard[str(value["$arg"])] if isinstance(value, Mapping) and value.keys() == {"$arg"} else value
