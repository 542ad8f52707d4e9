"""Whether a command is one that an adapter can execute, before it is sent.

A malformed command is the suite's mistake. Found here it is named with its place and its remedy; found by an adapter it
would end a run as a fault of the adapter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from dshconform.protocol import functions
from dshconform.protocol.commands import OPERATIONS, Operation
from dshconform.protocol.functions import AnyScriptedAction, CommandAction
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.kinds import EVENTS, FUNCTIONS, Kind, event_kind
from dshconform.protocol.values import NOTATIONS


class BadCommandError(ValueError):
    """A command, or something in it, that no adapter could execute; the message names place and remedy."""


_ACTIONS: Final[Mapping[str, type[msgspec.Struct]]] = {
    str(action.__struct_config__.tag): action for action in get_args(AnyScriptedAction)
}
_ASYNCHRONOUS_ONLY: Final = frozenset({"task", "seed", "signal", "setup"})
"""What the synchronous creation of an agent does not take."""
_ENDINGS: Final = (functions.Return, functions.Throw, functions.Reject, functions.Pass, functions.Gate)

_List: TypeAlias = Literal["script", "items", "gate.do"]
"""What a list of actions is: a function's script, commands that cannot wait (as their types say already), or what runs
inside a waiting call."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where something stands: for messages, and for what is possible there.

    Args:
        op: The command that was to be sent.
        path: The way from its arguments to here.
        in_call: Whether it is read inside a call of a function: `$arg` and `$next` mean something.
        kind: The kind of that call, where it is known; its name is `kind_name`.
    """

    op: str
    path: str = "$"
    in_call: bool = False
    kind: Kind | None = None
    kind_name: str = ""

    def at(self, step: str | int) -> "_Place":
        path = f"{self.path}[{step}]" if isinstance(step, int) else f"{self.path}.{step}"
        return _Place(self.op, path, self.in_call, self.kind, self.kind_name)

    def bad(self, problem: str) -> BadCommandError:
        return BadCommandError(f"{self.op}: {problem} - at `{self.path}`")


def check_command(op: str, args: JsonMap, *, symbolic: bool = False) -> None:
    """Checks one command of the suite, with the functions and scripts in it.

    Args:
        op: The operation.
        args: Its arguments.
        symbolic: Whether gates may be named by what they are (`{"gate": {"kind": …}}`) instead of by id, as scenarios
            do before the suite has resolved them.

    Raises:
        BadCommandError: An adapter could not execute it.
    """
    operation = _command(op, args, _Place(op), symbolic=symbolic)
    if _needs_task(op, operation, args) and "task" not in args:
        raise _Place(op).bad(f"{op!r} is asynchronous: give it a `task`")


def _command(op: str, args: JsonMap, place: _Place, *, symbolic: bool = False, scripted: bool = False) -> Operation:
    operation = OPERATIONS.get(op)
    if operation is None:
        raise place.bad(f"there is no operation {op!r}; there are {', '.join(OPERATIONS)}")
    if scripted and operation.top_level:
        raise place.bad(f"{op!r} is for the suite alone: take it out of the script")
    if "gate" in args and isinstance(args["gate"], Mapping) and operation.answers_gate and symbolic:
        args = {**args, "gate": "symbolic"}
    _typed(operation.args, args, place)
    _sensible(op, args, place)
    inner = replace(place, in_call=True, kind=None, kind_name="") if operation.answers_gate else place
    for name, value in args.items():
        if name == "do":
            _do(op, value, inner.at(name), symbolic=symbolic)
        else:
            _value(value, inner.at(name), _kinds(op, operation, args), name, symbolic=symbolic)
    return operation


def _needs_task(op: str, operation: Operation, args: JsonMap) -> bool:
    if op == "agent.create" and args.get("sync") is True:
        return False
    return operation.asynchronous or (op == "dispatch" and args["mode"] in {"serial", "parallel"})


def _sensible(op: str, args: JsonMap, place: _Place) -> None:
    """Checks which arguments of a command go together."""
    if op == "effect" and ("undo" in args) is ("body" in args):
        raise place.bad("an effect has an `undo` or a `body`")
    if op == "effect" and "body" not in args and ("async" in args or "task" in args):
        raise place.bad("`async` and `task` belong to the `body` of an effect")
    if op == "agent.create" and args.get("sync") is True and not args.keys().isdisjoint(_ASYNCHRONOUS_ONLY):
        raise place.bad(f"a creation with `sync` has none of {', '.join(sorted(_ASYNCHRONOUS_ONLY))}")
    if op == "dispatch" and args["event"] in EVENTS:
        raise place.bad(f"{args['event']!r} is dispatched by the implementation alone: give the event another name")
    if op == "dispatch" and "default" in args and args["mode"] != "waterfall":
        raise place.bad("only a waterfall has a `default`")
    if op == "target.new" and "base" in args and ("key" not in args or "filter" in args):
        raise place.bad("a `base` makes a carrier: it needs a `key`, and has the filter")


def _kinds(op: str, operation: Operation, args: JsonMap) -> Mapping[str, str]:
    return {"fn": str(args["event"])} if op == "listen" else operation.kinds


def _do(op: str, script: Json, place: _Place, *, symbolic: bool) -> None:
    """Checks the member `do` of a command: three commands have one, and each means another thing by it."""
    if op == "run":
        call = replace(place, in_call=True, kind=FUNCTIONS["run"], kind_name="run")
        _script(script, call, "script", symbolic=symbolic)
    else:
        _script(script, place, "items" if op == "burst" else "gate.do", symbolic=symbolic)


def _script(script: Json, place: _Place, what: _List, *, symbolic: bool) -> None:
    if script == "gate" and what == "script":
        script = [{"do": "gate"}]
    for index, action in enumerate(_list(script, place)):
        here = place.at(index)
        if not isinstance(action, Mapping) or ("op" in action) is ("do" in action):
            raise here.bad('an action is a command with "op", or has "do"')
        if "op" in action:
            _command_action(action, here, what, symbolic=symbolic)
            continue
        ends = _scripted_action(action, here, what, symbolic=symbolic)
        if ends and index + 1 < len(_list(script, place)):
            raise here.bad(f"nothing can follow {action['do']!r}, which ends the script")


def _command_action(action: JsonMap, place: _Place, what: _List, *, symbolic: bool) -> None:
    waits = action.get("await") is True
    _typed(CommandAction, action, place)
    op, args = str(action["op"]), action.get("args", {})
    assert isinstance(args, Mapping)
    operation = _command(op, args, place.at("args"), symbolic=symbolic, scripted=True)
    if what != "script" and ("await" in action or "raise" in action):
        raise place.bad("`await` and `raise` belong into scripts: here nothing waits, and errors are recorded")
    if waits and not (operation.asynchronous or operation.may_await):
        raise place.bad(f"{op!r} is synchronous: leave out `await`")
    if waits:
        _may_wait("`await`", place)
    if _needs_task(op, operation, args) and not waits and "task" not in args:
        raise place.bad(f"{op!r} is asynchronous: give it a `task`" + (" or `await` it" if what == "script" else ""))


def _scripted_action(action: JsonMap, place: _Place, what: _List, *, symbolic: bool) -> bool:
    """Checks an action that is no command; whether it ends the script."""
    name = action["do"]
    type_ = _ACTIONS.get(name) if isinstance(name, str) else None
    if type_ is None:
        raise place.bad(f"there is no action {name!r}; there are {', '.join(_ACTIONS)}, and commands (with `op`)")
    _typed(type_, action, place)
    _possible(type_, name, place, what)
    for member, value in action.items():
        here = place.at(member)
        if member == "commands":
            _script(value, here, "items", symbolic=symbolic)
        elif member == "path":
            _field(value, here)
        elif member != "do":
            _value(value, here, {}, "", symbolic=symbolic)
    return type_ in _ENDINGS


def _possible(action: type[msgspec.Struct], name: Json, place: _Place, what: _List) -> None:
    """Whether the action means something in such a list, and in such a call."""
    if what == "gate.do" and action not in (functions.Next, functions.Set, functions.Defer):
        raise place.bad(f"{name!r} waits or ends the call: answer the gate instead")
    kind = place.kind
    if kind is None:
        return
    if action in (functions.Gate, functions.Pause):
        _may_wait(f"{name!r}", place)
    elif action is functions.Next and not kind.has_next:
        raise place.bad(f"a {place.kind_name} function has no `next`")
    elif action in (functions.Chunk, functions.Chunks) and place.kind_name != "model/stream":
        raise place.bad(f"{name!r} is for streams, not for a {place.kind_name} function")
    elif action is functions.Yield and place.kind_name not in {"body", "effect"}:
        raise place.bad(f"{name!r} is for bodies of effects and plugins, not for a {place.kind_name} function")
    elif action in (functions.Context, functions.Conclude) and place.kind_name != "tool/execute":
        raise place.bad(f"{name!r} is for bodies of tools, not for a {place.kind_name} function")


def _may_wait(what: str, place: _Place) -> None:
    if place.kind is not None and not place.kind.waits:
        raise place.bad(f"{what} would make a {place.kind_name} function wait, and nobody waits for that kind")


def _value(value: Json, place: _Place, kinds: Mapping[str, str], position: str, *, symbolic: bool) -> None:
    """Checks the notations in a value; `kinds` says, by position, which functions are of which kind."""
    if isinstance(value, Mapping):
        key = next((key for key in value if key in NOTATIONS), None)
        if key is not None:
            _typed(NOTATIONS["$raw" if "$raw" in value else key], value, place)
            _notation(key, value, place, kinds.get(position), symbolic=symbolic)
            return
        for name, member in value.items():
            _value(member, place.at(name), kinds, f"{position}.{name}", symbolic=symbolic)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, item in enumerate(value):
            _value(item, place.at(index), {}, "", symbolic=symbolic)


def _notation(key: str, value: JsonMap, place: _Place, kind: str | None, *, symbolic: bool) -> None:
    if key == "$fn":
        _function(value, place, kind, symbolic=symbolic)
    elif key == "$stream":
        stream = replace(place.at(key), in_call=True, kind=FUNCTIONS["model/stream"], kind_name="model/stream")
        _script(value[key], stream, "script", symbolic=symbolic)
    elif key == "$error":
        members = value[key]
        assert isinstance(members, Mapping)
        for name, member in members.items():
            _value(member, place.at(key).at(name), {}, "", symbolic=symbolic)
    elif key in {"$arg", "$next"}:
        if not place.in_call:
            raise place.bad(f"{key} means something inside a function and in answers to gates only")
        if key == "$arg":
            _field(value[key], place)


def _function(spec: JsonMap, place: _Place, kind_name: str | None, *, symbolic: bool) -> None:
    kind = None if kind_name is None else FUNCTIONS.get(kind_name) or event_kind(kind_name)
    call = replace(place, in_call=True, kind=kind, kind_name=kind_name or "")
    if "do" in spec and "calls" in spec:
        raise place.bad("a function has `do` for every call or `calls` for each, not both")
    if "do" in spec:
        _script(spec["do"], call.at("do"), "script", symbolic=symbolic)
    if "calls" in spec:
        for index, script in enumerate(_list(spec["calls"], place.at("calls"))):
            if script is not None:
                _script(script, call.at("calls").at(index), "script", symbolic=symbolic)
    if "onAbort" in spec:
        _script(spec["onAbort"], call.at("onAbort"), "items", symbolic=symbolic)
    if "when" in spec:
        when = spec["when"]
        assert isinstance(when, Mapping)
        for path, value in when.items():
            _field(path, call.at("when"))
            _value(value, call.at("when").at(path), {}, "", symbolic=symbolic)


def _field(path: Json, place: _Place) -> None:
    """A path begins with a field of the kind, or is the whole."""
    kind = place.kind
    if kind is None or kind.fields is None:
        return
    head = str(path).partition(".")[0]
    if head not in {"", "agent", *kind.fields}:
        fields = ", ".join(kind.fields) or "none"
        raise place.bad(f"a {place.kind_name} function has no field {head!r}; it has {fields}")


def _typed(type_: type[msgspec.Struct], value: Json, place: _Place) -> None:
    try:
        msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        problem, separator, inner = str(error).rpartition(" - at `$")
        if separator:
            place = replace(place, path=place.path + inner.rstrip("`"))
        raise place.bad(problem if separator else str(error)) from None


def _list(value: Json, place: _Place) -> Sequence[Json]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise place.bad(f"a list of actions is wanted, not {value!r}")
    return value
