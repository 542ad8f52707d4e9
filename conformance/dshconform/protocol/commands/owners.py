"""The commands of owners and scopes, which every profile beyond the core has."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from dshconform.protocol.commands.arguments import Arguments, In, Placed
from dshconform.protocol.commands.operation import Operation
from dshconform.protocol.functions import FunctionSpec
from dshconform.protocol.json_value import Json
from dshconform.protocol.names import Name

# --- owners ------------------------------------------------------------------------------------------------------


class OwnerOpen(Placed, frozen=True, kw_only=True):
    """A plugin to mount, and the name of the owner that it becomes.

    `plugin` names the plugin itself: where the name is known it is that very plugin again, with its body and its
    requirements. `name` is what the implementation calls it: the owner's name unless given, and nothing where it is
    empty.
    """

    owner: Name
    requires: list[Name] | UnsetType = UNSET
    """The services that have to be there before the body runs."""
    plugin: Name | UnsetType = UNSET
    name: str | UnsetType = UNSET
    body: FunctionSpec | UnsetType = UNSET
    config: Json | UnsetType = UNSET
    """What the body is given."""


class OwnerClose(Arguments, frozen=True, kw_only=True):
    """The owner; `task` follows what its disposer answers, if that is an awaitable."""

    owner: Name
    task: Name | UnsetType = UNSET


class OfOwner(Arguments, frozen=True, kw_only=True):
    """An owner, or `root`."""

    owner: Name


class OwnerTask(OfOwner, frozen=True, kw_only=True):
    """An asynchronous operation of an owner."""

    task: Name | UnsetType = UNSET
    """The name of the operation, in the row that says how it ended."""


# --- scopes ------------------------------------------------------------------------------------------------------


class ScopeOpen(Placed, frozen=True, kw_only=True):
    """A scope and its key: one of its own, named like it, unless given. `parent` is a key too."""

    scope: Name
    key: In | UnsetType = UNSET
    parent: In | UnsetType = UNSET


class ScopeClose(Arguments, frozen=True, kw_only=True):
    """The scope."""

    scope: Name
    task: Name | UnsetType = UNSET
    """The name of the closing, in the row that says how it ended."""


class ScopeBind(Arguments, frozen=True, kw_only=True):
    """A key and its parent; `as` names the binding."""

    as_: Name = msgspec.field(name="as")
    key: In
    parent: In


class ScopeRebind(Arguments, frozen=True, kw_only=True):
    """A binding, and the next parent of its key."""

    of: Name
    """The name of the binding."""
    parent: In


class OfKey(Arguments, frozen=True, kw_only=True):
    """A key."""

    key: In


# --- the table ---------------------------------------------------------------------------------------------------

OWNERS: Final[Mapping[str, Operation]] = {
    "owner.open": Operation(OwnerOpen, "nothing", kinds={"body": "body"}),
    "owner.close": Operation(OwnerClose, "as of `undo`", may_await=True),
    "owner.state": Operation(OfOwner, "`{id, state, name, error?}`"),
    "owner.wait": Operation(OwnerTask, "nothing", asynchronous=True),
    "owner.restart": Operation(OwnerTask, "nothing", asynchronous=True),
    "scope.open": Operation(ScopeOpen, "nothing"),
    "scope.close": Operation(ScopeClose, "nothing", asynchronous=True),
    "scope.bind": Operation(ScopeBind, "nothing"),
    "scope.rebind": Operation(ScopeRebind, "nothing"),
    "scope.of": Operation(Placed, "the key, or null"),
    "scope.parent": Operation(OfKey, "the key, or null"),
    "scope.chain": Operation(OfKey, "the keys, nearest first"),
}
"""Every operation on owners and scopes, in the order of the protocol page."""
