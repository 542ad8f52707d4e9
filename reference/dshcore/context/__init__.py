"""Contexts: where services are found, who owns a registration, how listeners are called."""

from dshcore.context.context import Context, ServiceKey
from dshcore.context.errors import (
    InactiveContext,
    ListenerCancelled,
    ListenersFailed,
    ServiceMissing,
    ServiceTaken,
)
from dshcore.context.lifetime import Disposer, Undo

__all__ = [
    "Context",
    "Disposer",
    "InactiveContext",
    "ListenerCancelled",
    "ListenersFailed",
    "ServiceKey",
    "ServiceMissing",
    "ServiceTaken",
    "Undo",
]
