"""Failures of registrations and look-ups."""

import asyncio
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
        self.add_note(
            "The plugin or scope behind it unloads, or has ended: register while it lives, or through another context."
        )


class NoEventLoop(DshError, RuntimeError):
    """Something that takes time was asked for where no event loop is running. Nothing has changed."""

    default_code = "NO_EVENT_LOOP"

    def __init__(self) -> None:
        super().__init__("no running event loop")
        self.add_note("It takes time: call it from a coroutine, or from a callback of the loop that drives it.")


def require_loop() -> asyncio.AbstractEventLoop:
    """Answer the running event loop.

    Raises:
        NoEventLoop: There is none.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise NoEventLoop from None


class ServiceTaken(DshError):
    """A second provider of a service.

    Args:
        key: The name of the service.
        holder: The name of what provides it already.

    Spec:
        CTX-PROVIDE-02
    """

    default_code = "SERVICE_TAKEN"

    def __init__(self, key: str, holder: str) -> None:
        super().__init__(f'service "{key}" has been registered at <{holder}>')
        self.add_note(
            f"Withdraw it there first (its disposer, or the end of <{holder}>), or provide yours in a realm of its own "
            "(`ctx.isolate`)."
        )


class KeyDeclared(DshError):
    """A key is an accessor or a service, and cannot become the other, nor an accessor twice.

    Args:
        key: Its name.
        kind: What it is already.

    Spec:
        CTX-ACC-02
    """

    default_code = "KEY_DECLARED"

    def __init__(self, key: str, kind: Literal["accessor", "service"]) -> None:
        super().__init__(f'property "{key}" is already declared as {kind}')
        self.add_note("Use another `ServiceKey`: a key is a service or an accessor, and has one accessor at a time.")


class ServiceMissing(DshError, LookupError):
    """A required read of what the reader has not declared, or of what is nowhere.

    Args:
        key: The name of what was read.

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

    Args:
        key: The name of the service.

    Spec:
        CTX-READ-03
    """

    default_code = "SERVICE_INACTIVE"

    def __init__(self, key: str) -> None:
        super().__init__(f'cannot get required service "{key}" in inactive context')
        self.add_note("The plugin waits for it, or has lost it: read in the body or later, or look with `ctx.get`.")


class InvalidPlugin(DshError, TypeError):
    """What is to be mounted is no plugin."""

    default_code = "INVALID_PLUGIN"

    def __init__(self, plugin: object) -> None:
        received = type(plugin).__name__
        super().__init__(f'invalid plugin, expect function or object with an "apply" method, received {received}')
        self.add_note(f"It was {plugin!r}: mount a function of context and configuration, or `Plugin(body=function)`.")


class InvalidListener(DshError, TypeError):
    """What is to listen cannot be called.

    Args:
        event: What it was to listen to.
        listener: What was given.
    """

    default_code = "INVALID_LISTENER"

    def __init__(self, event: str, listener: object) -> None:
        super().__init__(f"a listener of {event} cannot be called")
        self.add_note(f"It was {listener!r}: give a function of the payload.")


class InvalidEffect(DshError, TypeError):
    """A body answered or handed over what is neither nothing nor an undo.

    Args:
        part: What was answered or handed over.

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

    Attributes:
        issues: What is wrong, each with its path.

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


class CarrierForeign(DshError):
    """An event whose payload says whom it is about was dispatched with a carrier of somebody else's making.

    Spec:
        SCOPE-CHECK-01, SCOPE-EVT-08
    """

    default_code = "INVARIANT"

    def __init__(self, event: str) -> None:
        super().__init__(f"{event} was dispatched with a carrier, and makes its own of the payload")
        self.add_note("Leave `to` out: the key's `receiver` says whom the event is about.")


class ListenersFailed(DshError, ExceptionGroup[Exception]):
    """Some listeners of a parallel dispatch failed; their errors stand in the order of the listeners.

    Args:
        event: What was dispatched.
        errors: The errors.

    Spec:
        EVT-PAR-02
    """

    default_code = "LISTENERS_FAILED"

    def __new__(cls, event: str, errors: Sequence[Exception]) -> Self:
        return super().__new__(cls, f"{len(errors)} listener(s) of {event} failed", errors)

    def __init__(self, event: str, errors: Sequence[Exception]) -> None:
        super().__init__(f"{len(errors)} listener(s) of {event} failed")

    def derive(self, excs: Sequence[Exception]) -> ExceptionGroup[Exception]:  # type: ignore[override]  # as in ExceptionGroup
        """Make a group of some of the failures; what `except*` needs.

        Args:
            excs: The failures.
        """
        return ExceptionGroup(self.message, excs)


class ListenerCancelled(DshError):
    """A listener ended in a cancellation of its own making.

    Args:
        event: What it listens to.
    """

    default_code = "LISTENER_CANCELLED"

    def __init__(self, event: str) -> None:
        super().__init__(f"a listener of {event} was cancelled from within")
