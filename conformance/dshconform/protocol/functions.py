"""The functions of the suite: what stands wherever the contract takes a callback.

A function follows a script or opens a gate. A script is a list of actions, most of which are commands: whatever a test
can do from outside it can do inside any callback.
"""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.names import Count, Name, Path

# An action is a command (it has `op`) or one of the tagged structs below (it has `do`). One union of both cannot be
# said in types, so scripts are lists of objects here, and each is read by `dshconform.protocol.check`.
Action: TypeAlias = Annotated[JsonMap, Meta(extra_json_schema={"$ref": "#/$defs/Action"})]
"""One action of a script: a struct of this module, chosen by its members."""
Script: TypeAlias = list[Action]
"""What a function of the suite does, action by action."""


class CommandAction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Runs a command and records its `return`.

    An error is recorded and the script goes on; with `raise` it is thrown on. With `await` the script waits for an
    asynchronous operation. `keep` holds what it answered under a name (feature `values`).
    """

    op: Name
    """The operation, as a command names it."""
    args: JsonMap | UnsetType = UNSET
    """Its arguments, in which fields of the call may stand."""
    await_: bool = field(default=False, name="await")
    raise_: bool = field(default=False, name="raise")
    keep: Name | UnsetType = UNSET


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command where nothing can wait: in a burst, in `onAbort`, in `defer`."""

    op: Name
    """The operation, as a command names it."""
    args: JsonMap | UnsetType = UNSET
    """Its arguments, in which fields of the call may stand."""
    keep: Name | UnsetType = UNSET
    """The name under which its answer is held (feature `values`)."""


class ScriptedAction(msgspec.Struct, frozen=True, tag_field="do", forbid_unknown_fields=True):
    """What every action that is no command is: a struct chosen by its member `do`."""


class Next(ScriptedAction, tag="next", frozen=True, kw_only=True):
    """Calls `next`, as often as listed; waits for it where the chain is asynchronous. Its failure fails the call."""

    args: list[Json] | UnsetType = UNSET
    """What `next` is called with; nothing unless given."""
    keep: Name | UnsetType = UNSET
    """The name under which what `next` answers is held (feature `values`)."""


class Return(ScriptedAction, tag="return", frozen=True, kw_only=True):
    """Ends the call with a value; without one, with nothing."""

    value: Json | UnsetType = UNSET


class Throw(ScriptedAction, tag="throw", frozen=True, kw_only=True):
    """Ends the call by raising at once."""

    error: Json


class Reject(ScriptedAction, tag="reject", frozen=True, kw_only=True):
    """Ends the call by answering an awaitable that fails."""

    error: Json


class Pass(ScriptedAction, tag="pass", frozen=True, kw_only=True):
    """Ends the call as the kind passes, a waterfall with what its last `next` gave; so does the end of a script."""


class Gate(ScriptedAction, tag="gate", frozen=True, kw_only=True):
    """Comes last: from here on the call waits for the suite."""


class Pause(ScriptedAction, tag="pause", frozen=True, kw_only=True):
    """Waits that many ticks (feature `ticks`)."""

    ticks: Count


class Defer(ScriptedAction, tag="defer", frozen=True, kw_only=True):
    """Runs commands that many ticks later, without suite input (feature `ticks`)."""

    ticks: Count
    commands: list[Item]
    """What is run then, in order."""


class Set(ScriptedAction, tag="set", frozen=True, kw_only=True):
    """Assigns to a field of the call, in place; a refusal is recorded like that of a command."""

    path: Path
    """The members and places that lead to the field."""
    value: Json
    """What is assigned, in which fields of the call may stand."""


class Yield(ScriptedAction, tag="yield", frozen=True, kw_only=True):
    """In the body of an effect or a plugin: hands over an undo (a function), a disposer, or what is neither."""

    value: Json


class Context(ScriptedAction, tag="context", frozen=True, kw_only=True):
    """In a tool's body: calls `deferContext`."""

    message: Json


class Conclude(ScriptedAction, tag="conclude", frozen=True, kw_only=True):
    """In a tool's body: calls `concludeTurn`."""


class Chunk(ScriptedAction, tag="chunk", frozen=True, kw_only=True):
    """In a stream: the next item. The script of a stream runs item by item as it is pulled, and its end ends it."""

    chunk: Json


class Chunks(ScriptedAction, tag="chunks", frozen=True, kw_only=True):
    """In a stream: the next items."""

    list_: list[Json] = field(name="list")


AnyScriptedAction: TypeAlias = (
    Next | Return | Throw | Reject | Pass | Gate | Pause | Defer | Set | Yield | Context | Conclude | Chunk | Chunks
)
"""One action of any kind that is no command."""


class FunctionSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A function of the suite. Its name alone is the same function again; without a script it passes.

    `do` is the script of every call, `"gate"` being short for a script of that one action; `calls` has one script per
    call instead, null passes, the last one stands for all later calls. A call whose fields differ from `when` passes,
    is not counted and gives no row. `abort` says what a call does when its signal has fired: `manual` (the default)
    goes on until the suite ends it, `auto` fails by itself with the reason. `onAbort` runs inside the firing, right
    after the `abort` row. `watch` listens to the signal also after the call has ended.
    """

    fn: Name = field(name="$fn")
    """The function's name, which stands in its rows as `part`."""
    do: Literal["gate"] | Script | UnsetType = UNSET
    calls: Annotated[list[Literal["gate"] | Script | None], Meta(min_length=1)] | UnsetType = UNSET
    when: JsonMap | UnsetType = UNSET
    abort: Literal["manual", "auto"] = "manual"
    on_abort: list[Item] | UnsetType = field(default=UNSET, name="onAbort")
    watch: bool = False
