"""The form of scripts: lists of actions, checked when a function is made, so that a mistake is told where it is.

What the values in a script stand for is not looked at before the action runs.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from dshconform.adapters.reference.fault import Fault
from dshconform.protocol.json_value import Json, JsonMap

Script: TypeAlias = Sequence[JsonMap]
"""Actions whose form was checked."""

_ACTIONS: Final[Mapping[str, tuple[frozenset[str], frozenset[str]]]] = {
    name: (frozenset(required.split()), frozenset(optional.split()))
    for name, required, optional in (
        ("next", "", "args keep"),
        ("return", "", "value"),
        ("throw", "error", ""),
        ("reject", "error", ""),
        ("pass", "", ""),
        ("gate", "", ""),
        ("pause", "ticks", ""),
        ("defer", "ticks commands", ""),
        ("set", "path value", ""),
        ("yield", "value", ""),
        ("context", "message", ""),
        ("conclude", "", ""),
        ("chunk", "chunk", ""),
        ("chunks", "list", ""),
    )
}
"""Every action with the members that it must and may have, `do` aside."""

_COMMAND_MEMBERS: Final = frozenset({"op", "args", "await", "raise", "keep"})
_GATE: Final[JsonMap] = {"do": "gate"}


def read_script(value: Json, where: str) -> Script:
    """Check the form of a script: what it consists of, not what the values in it stand for.

    Args:
        value: As the suite wrote it: a list, `"gate"`, or null for none.
        where: Names it in errors.

    Returns:
        Its actions.

    Raises:
        Fault: It is malformed.
    """
    if value is None:
        return ()
    if value == "gate":
        return (_GATE,)
    actions = _list(value, where)
    for index, action in enumerate(actions):
        _check_action(action, f"{where}, item {index}")
        if action.get("do") == "gate" and index != len(actions) - 1:
            raise Fault(f"{where}, item {index}: `gate` is the last action of a script")
    return actions


def read_commands(value: Json, where: str) -> Script:
    """Check the form of a list that holds commands only.

    Args:
        value: As the suite wrote it.
        where: Names it in errors.

    Returns:
        The commands.

    Raises:
        Fault: It is malformed.
    """
    commands = _list(value, where)
    for index, command in enumerate(commands):
        _check_action(command, f"{where}, item {index}")
        if "op" not in command or "await" in command or "raise" in command:
            raise Fault(f"{where}, item {index}: only commands that do not wait stand here, not {dict(command)!r}")
    return commands


def ticks_of(action: JsonMap) -> int:
    """How many ticks an action waits.

    Raises:
        Fault: It is no number of ticks.
    """
    ticks = action["ticks"]
    if isinstance(ticks, bool) or not isinstance(ticks, int) or ticks < 0:
        raise Fault(f"{action['do']}: ticks must be a number of ticks, not {ticks!r}")
    return ticks


def _check_action(action: JsonMap, where: str) -> None:
    if "op" in action:
        name, members = str(action["op"]), action.keys() - _COMMAND_MEMBERS
        mapping(action.get("args", {}), f"{where}: args")
    else:
        name = str(action.get("do"))
        if name not in _ACTIONS:
            raise Fault(f"{where}: {name!r} is no action; there are op, {', '.join(_ACTIONS)}")
        required, optional = _ACTIONS[name]
        missing = required - action.keys()
        if missing:
            raise Fault(f"{where}: {name} needs {min(missing)!r}")
        members = action.keys() - required - optional - {"do"}
    if members:
        raise Fault(f"{where}: {name} has no member {min(members)!r}")


def _list(value: Json, where: str) -> Script:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise Fault(f"{where} must be a list, not {value!r}")
    return [mapping(item, f"{where}, item {index}") for index, item in enumerate(value)]


def mapping(value: Json, where: str) -> JsonMap:
    """Read an object of the protocol.

    Args:
        value: What should be an object.
        where: Names it in errors.

    Returns:
        The object.

    Raises:
        Fault: It is something else.
    """
    if not isinstance(value, Mapping):
        raise Fault(f"{where} must be an object, not {value!r}")
    return value
