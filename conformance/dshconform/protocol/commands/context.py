"""The commands of the profile `context`: the framework alone, without agents."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from dshconform.protocol.commands.arguments import Arguments, In, Placed
from dshconform.protocol.commands.operation import Operation
from dshconform.protocol.functions import FunctionSpec
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.names import Name


class ServicePlace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A service as a receiver."""

    service: Name


Receiver: TypeAlias = Name | ServicePlace
"""A target, or a service."""


class CtxDerive(Placed, frozen=True, kw_only=True):
    """The name of the derived context, and the values that it gets."""

    context: Name
    values: JsonMap | UnsetType = UNSET


class CtxIsolate(Placed, frozen=True, kw_only=True):
    """The name of the context, and the key that gets a realm of its own below it; those of one `label` are one."""

    context: Name
    key: Name
    label: Name | UnsetType = UNSET


class CtxProvide(Placed, frozen=True, kw_only=True):
    """What to provide, or what an accessor answers; `as` names the disposer."""

    as_: Name = msgspec.field(name="as")
    key: Name
    """The name of the service."""
    value: Json
    """Any JSON, or a function of the suite, which an accessor asks each time."""


class CtxGet(Placed, frozen=True, kw_only=True):
    """The key."""

    key: Name


class TargetNew(Arguments, frozen=True, kw_only=True):
    """A receiver: with `key` (null too, which is none) a carrier, of `base` if that is given."""

    target: Name
    """What the suite calls the receiver."""
    filter: FunctionSpec | UnsetType = UNSET
    """Says of a context whether its listeners hear what is dispatched to the receiver."""
    base: Receiver | UnsetType = UNSET
    key: In | UnsetType | None = UNSET


class Dispatch(Placed, frozen=True, kw_only=True):
    """An event of the suite's own to dispatch; `default` is the innermost function of a waterfall.

    `task` is for the awaited modes, and for a waterfall that answers an awaitable.
    """

    mode: Literal["emit", "serial", "parallel", "waterfall"]
    """How the listeners are called, as the specification's modes."""
    event: Name
    args: list[Json] | UnsetType = UNSET
    """What the listeners are called with, nothing unless given."""
    to: Receiver | UnsetType = UNSET
    """The receiver, where the dispatch is for one."""
    default: FunctionSpec | UnsetType = UNSET
    task: Name | UnsetType = UNSET


class Observe(Placed, frozen=True, kw_only=True):
    """What is told of every dispatch; `as` names its disposer."""

    as_: Name = msgspec.field(name="as")
    fn: FunctionSpec
    """Called for each dispatch, with its mode, its name, its receiver and its arguments."""


class ServiceOpen(Placed, frozen=True, kw_only=True):
    """A plugin, whose name is an owner's too. Its service claims `key`, and passes additions on to `forwards`."""

    service: Name
    key: Name
    forwards: Name | UnsetType = UNSET


class ServiceAdd(Placed, frozen=True, kw_only=True):
    """The key of the service, the name of the entry, and that of its disposer."""

    key: Name
    as_: Name = msgspec.field(name="as")
    """The suite's name for the disposer of the entry."""
    name: Name


class ServiceView(Arguments, frozen=True, kw_only=True):
    """The service, and the scope that looks."""

    service: Name
    scope: In | UnsetType = UNSET


CONTEXT: Final[Mapping[str, Operation]] = {
    "ctx.derive": Operation(CtxDerive, "nothing"),
    "ctx.isolate": Operation(CtxIsolate, "nothing"),
    "ctx.provide": Operation(CtxProvide, "nothing"),
    "ctx.accessor": Operation(CtxProvide, "nothing"),
    "ctx.get": Operation(CtxGet, "the value, or nothing"),
    "ctx.read": Operation(CtxGet, "the value, or nothing"),
    "ctx.assertActive": Operation(Placed, "nothing"),
    "target.new": Operation(TargetNew, "nothing", kinds={"filter": "filter"}),
    "dispatch": Operation(Dispatch, "what it answers", may_await=True, kinds={"default": "default"}),
    "observe": Operation(Observe, "nothing", kinds={"fn": "observer"}),
    "service.open": Operation(ServiceOpen, "nothing", feature="services"),
    "service.add": Operation(ServiceAdd, "nothing", feature="services"),
    "service.view": Operation(ServiceView, "the names", feature="services"),
}
"""Every operation on contexts, in the order of the protocol page."""
