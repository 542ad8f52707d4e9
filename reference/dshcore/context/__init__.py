"""Contexts: where services are found, who owns a registration, how listeners are called."""

from dshcore.context.context import Body, Context, Plugin, Receiver
from dshcore.context.effects import AsyncDisposer, AsyncParts, Disposer, Parts, Undo
from dshcore.context.errors import (
    CarrierForeign,
    CarrierMissing,
    ConfigIssue,
    InactiveContext,
    InvalidConfig,
    InvalidEffect,
    InvalidListener,
    InvalidPlugin,
    KeyDeclared,
    ListenerCancelled,
    ListenersFailed,
    NoEventLoop,
    ServiceInactive,
    ServiceMissing,
    ServiceTaken,
    require_loop,
)
from dshcore.context.fiber import FIBER_STATUS, Fiber, StatusChange
from dshcore.context.journey import State
from dshcore.context.listeners import DISPATCH, Dispatch, Mode
from dshcore.context.services import ServiceKey

__all__ = [
    "DISPATCH",
    "FIBER_STATUS",
    "AsyncDisposer",
    "AsyncParts",
    "Body",
    "CarrierForeign",
    "CarrierMissing",
    "ConfigIssue",
    "Context",
    "Dispatch",
    "Disposer",
    "Fiber",
    "InactiveContext",
    "InvalidConfig",
    "InvalidEffect",
    "InvalidListener",
    "InvalidPlugin",
    "KeyDeclared",
    "ListenerCancelled",
    "ListenersFailed",
    "Mode",
    "NoEventLoop",
    "Parts",
    "Plugin",
    "Receiver",
    "ServiceInactive",
    "ServiceKey",
    "ServiceMissing",
    "ServiceTaken",
    "State",
    "StatusChange",
    "Undo",
    "require_loop",
]
