"""Failures of registrations and look-ups."""

from collections.abc import Sequence
from typing import Self

from dshcore.errors import DshError


class InactiveContext(DshError):
    """A registration through a context whose lifetime is ending or over.

    Spec:
        EFFECT-INACT-01
    """

    default_code = "INACTIVE_EFFECT"

    def __init__(self) -> None:
        super().__init__("cannot create effect on inactive context")


class ServiceTaken(DshError):
    """A second provider of a service.

    Spec:
        CTX-PROVIDE-02
    """

    default_code = "SERVICE_TAKEN"

    def __init__(self, key: str, holder: str) -> None:
        super().__init__(f'service "{key}" has been registered at <{holder}>')


class ServiceMissing(DshError, LookupError):
    """A required read of a service that nobody provides.

    Spec:
        CTX-READ-02
    """

    default_code = "SERVICE_MISSING"

    def __init__(self, key: str) -> None:
        super().__init__(f'cannot get property "{key}" without inject')
        self.add_note("Nobody provides it: provide it first (`ctx.provide`), or look with `ctx.get`.")


class ListenersFailed(DshError, ExceptionGroup[Exception]):
    """Some listeners of a parallel dispatch failed; their errors stand in the order of the listeners.

    Spec:
        EVT-PAR-02
    """

    default_code = "LISTENERS_FAILED"

    def __new__(cls, event: str, errors: Sequence[Exception]) -> Self:
        return super().__new__(cls, f"{len(errors)} listener(s) of {event} failed", errors)

    def __init__(self, event: str, errors: Sequence[Exception]) -> None:
        super().__init__(f"{len(errors)} listener(s) of {event} failed")

    def derive(self, excs: Sequence[Exception]) -> ExceptionGroup[Exception]:  # type: ignore[override]  # as in ExceptionGroup
        return ExceptionGroup(self.message, excs)


class ListenerCancelled(DshError):
    """A listener ended in a cancellation of its own making."""

    default_code = "LISTENER_CANCELLED"

    def __init__(self, event: str) -> None:
        super().__init__(f"a listener of {event} was cancelled from within")
