"""Failures of registrations and look-ups."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

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


class KeyDeclared(DshError):
    """A key is an accessor or a service, and cannot become the other, nor an accessor twice.

    Spec:
        CTX-ACC-02
    """

    default_code = "KEY_DECLARED"

    def __init__(self, key: str, kind: Literal["accessor", "service"]) -> None:
        super().__init__(f'property "{key}" is already declared as {kind}')


class ServiceMissing(DshError, LookupError):
    """A required read of what the reader has not declared, or of what is nowhere.

    Spec:
        CTX-READ-02
    """

    default_code = "SERVICE_MISSING"

    def __init__(self, key: str) -> None:
        super().__init__(f'cannot get property "{key}" without inject')
        self.add_note(
            "The plugin does not require it, or nobody provides it: name it in `requires`, provide it first "
            "(`ctx.provide`), or look with `ctx.get`."
        )


class ServiceInactive(DshError, LookupError):
    """A required read of a declared service through a plugin that is not loaded with it.

    Spec:
        CTX-READ-03
    """

    default_code = "SERVICE_INACTIVE"

    def __init__(self, key: str) -> None:
        super().__init__(f'cannot get required service "{key}" in inactive context')


class InvalidPlugin(DshError, TypeError):
    """What is to be mounted is no plugin."""

    default_code = "INVALID_PLUGIN"

    def __init__(self, plugin: object) -> None:
        received = type(plugin).__name__
        super().__init__(f'invalid plugin, expect function or object with an "apply" method, received {received}')


class InvalidEffect(DshError, TypeError):
    """A body answered or handed over what is neither nothing nor an undo.

    Spec:
        FIBER-BODY-01, EFFECT-ERR-02
    """

    default_code = "INVALID_EFFECT"

    def __init__(self, part: object) -> None:
        super().__init__("Invalid effect")
        self.add_note(f"It was {part!r}: answer or yield nothing, or a function that undoes one effect.")


@dataclass(frozen=True, slots=True)
class ConfigIssue:
    """One thing that is wrong with a configuration.

    Attributes:
        message: What is wrong.
        path: Where: the members that lead to it.
    """

    message: str
    path: Sequence[str | int] = ()


class InvalidConfig(DshError, TypeError):
    """A plugin refuses its configuration.

    Spec:
        FIBER-CONFIG-01
    """

    default_code = "INVALID_CONFIG"

    def __init__(self, issues: Sequence[ConfigIssue]) -> None:
        lines = [
            f"  - {issue.message}" + (f" (at {'.'.join(map(str, issue.path))})" if issue.path else "")
            for issue in issues
        ]
        super().__init__("\n".join(["invalid config:", *lines]))
        self.issues = tuple(issues)


class CarrierMissing(DshError):
    """An event about a scope was dispatched without saying which.

    Spec:
        SCOPE-CHECK-01
    """

    default_code = "INVARIANT"

    def __init__(self, event: str) -> None:
        super().__init__(f"{event} was dispatched without a carrier")
        self.add_note("Every event about a scope needs one: `to=scope_target(subject, key)`, or a key with `receiver`.")


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
