"""Scopes and carriers: a context of a part of the application, and dispatches that are about it."""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final, TypeGuard

from dshcore.context import Context, Disposer, Receiver
from dshcore.scope.keys import bind_scope_parent, require_key, scope_chain_of


@dataclass(frozen=True, eq=False, slots=True)
class Scope:
    """A part of the application that has registrations of its own.

    Attributes:
        key: What it is the scope of.
        ctx: What is registered through it is visible in the scope, and lives as long as it.
    """

    key: object
    ctx: Context

    @property
    def raw_dispose(self) -> Disposer:
        """The exact disposer: single-shot, and what a composite of the owner yields to place the teardown.

        Spec:
            SCOPE-DISP-04, SCOPE-DISP-05
        """
        return self.ctx.fiber.dispose

    def dispose(self) -> Awaitable[None]:
        """Undo everything registered in the scope. The key and its link stay.

        Returns:
            The shared completion: however often it is called, and whoever began the teardown.

        Cancellation:
            Cancelling a caller that awaits the completion does not stop the undoing.

        Spec:
            SCOPE-DISP-01, SCOPE-DISP-02, SCOPE-DISP-03, SCOPE-DISP-04, SCOPE-DISP-06
        """
        return self.ctx.dispose()


def create_scope(
    ctx: Context, key: object, *, parent: object | None = None, name: str | None = None, owned: bool = True
) -> Scope:
    """Make a scope, owned by the owner of a context.

    Args:
        ctx: Through which services are resolved in the scope, and whose owner's end is the end of the scope.
        key: What it is the scope of. The same key may have several scopes: they share what is visible in them.
        parent: What the key is to have for a parent, for good. Scopes that are opened through one another are not
            linked by that.
        name: What to call it; by default as its owner.
        owned: Whether it ends with the owner. Where it has to end later, whoever makes it sees to its end.

    Raises:
        ScopeKeyBound: There is a parent to bind, and the key has one already.
        ScopeCycle: The parent is the key, or below it.
        InactiveContext: The owner unloads, or was disposed of. A parent is bound all the same.
        NoScopeKey: The key is none.

    Spec:
        SCOPE-MINT-01, SCOPE-MINT-02, SCOPE-MINT-03, SCOPE-MINT-04, SCOPE-MINT-05, SCOPE-TAG-02, SCOPE-DEPS-01,
        BIND-MINT-01, BIND-MINT-02
    """
    require_key(key, "the key of a scope")
    if parent is not None:
        bind_scope_parent(key, parent)  # BIND-MINT-01: first, and nobody keeps the binding
    return Scope(key, ctx.open(scope=key, name=name, owned=owned))


def scope_of(ctx: Context) -> object | None:
    """Answer the nearest tag of a context, if it is in a scope (SCOPE-TAG-01).

    Args:
        ctx: The context.
    """
    return ctx.scope


class Carrier:
    """The receiver of an event that is about a scope: made anew for each subject, and telling nothing of it.

    Args:
        base: The receiver that has to admit a listener too, if there is one.
        key: The scope; with none, only listeners in no scope are admitted.

    Spec:
        SCOPE-EVT-01, SCOPE-EVT-02, SCOPE-EVT-03, SCOPE-EVT-05, SCOPE-EVT-06, SCOPE-EVT-10
    """

    __slots__ = ("_base", "_key")

    def __init__(self, base: Receiver | None, key: object | None) -> None:
        self._base: Final = base
        self._key: Final = key

    def admits(self, context: Context) -> bool:
        """Admit what the base admits, if it is in no scope, in the key's or in one around it.

        Args:
            context: Where a listener is registered.

        Returns:
            Whether it hears of the event.
        """
        if self._base is not None and not self._base.admits(context):  # SCOPE-EVT-05
            return False
        tag = context.scope
        if tag is None:
            return True
        return any(around is tag for around in scope_chain_of(self._key))  # SCOPE-EVT-06: as it is now


def scope_target(base: object, key: object | None) -> Carrier:
    """Make the receiver of an event.

    Args:
        base: The subject. Where it is a receiver itself, it has to admit a listener as well.
        key: The scope that the event is about. Without one the event reaches only what is in no scope.

    Spec:
        SCOPE-EVT-03, SCOPE-EVT-05
    """
    return Carrier(base if _is_receiver(base) else None, key)


def is_carrier(value: object) -> TypeGuard[Carrier]:
    """Tell whether `scope_target` made it.

    Args:
        value: Anything.
    """
    return isinstance(value, Carrier)


def carrier_key(value: object) -> object | None:
    """Answer the key of a carrier; none for a carrier without one, and for everything else.

    Args:
        value: Anything.
    """
    return value._key if is_carrier(value) else None  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - of this module


def _is_receiver(base: object) -> TypeGuard[Receiver]:
    return callable(getattr(base, "admits", None))
