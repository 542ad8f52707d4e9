"""What a scope sees of the tools: the layers of the registry, and restrictions of what is inherited.

A scope inherits the tools of the global layer and of the scopes around it. Each scope of its chain may restrict what is
inherited; the scope's own tools are never hidden from itself. A scope nested in it inherits these as well, and there
they are subject to the restrictions of the outer scope like everything else (RESTRICT-CHAIN-02).
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

from dshcore.json import abridged
from dshcore.scope import Layers, ListTable, NamedTable
from dshcore.system_prompt.tool_order import code_units
from dshcore.tools.definitions import RESERVED_NAME, ToolDefinition
from dshcore.tools.errors import InvalidRestriction
from dshcore.tools.executions import ToolExecution

Guard: TypeAlias = Callable[[ToolExecution], str | None]
"""Answers why a call may not go on, or nothing."""


@dataclass(frozen=True, slots=True)
class Restriction:
    """Which names may be inherited; a snapshot of the lists that it was made from.

    Attributes:
        allow: Nothing but these; none for everything.
        deny: Not these.
    """

    allow: frozenset[str] | None
    deny: frozenset[str]

    def admits(self, name: str) -> bool:
        """Tell whether a name may be inherited, whatever stands behind it now (RESTRICT-SET-01, RESTRICT-SET-04)."""
        return name not in self.deny and (self.allow is None or name in self.allow)


@dataclass(slots=True)
class ToolLayer:
    """What one scope, or everybody, has registered.

    Attributes:
        tools: The definitions, by name.
        restrictions: What may be inherited.
        guards: What stops calls.
    """

    tools: NamedTable[ToolDefinition] = field(default_factory=NamedTable[ToolDefinition])
    restrictions: ListTable[Restriction] = field(default_factory=ListTable[Restriction])
    guards: ListTable[Guard] = field(default_factory=ListTable[Guard])

    def admits(self, name: str) -> bool:
        """Tell whether every restriction of the layer admits a name (RESTRICT-SET-02)."""
        return all(restriction.admits(name) for restriction in self.restrictions)


ToolLayers: TypeAlias = Layers[ToolLayer]
"""The tools of an application, by scope."""


def resolve(layers: ToolLayers, name: str, scope: object | None) -> ToolDefinition | None:
    """Answer the definition that a scope resolves a name to now, if any.

    Args:
        layers: The tools of the application.
        name: The tool.
        scope: For whom.

    Spec:
        TOOL-SCOPE-01, TOOL-SCOPE-02, TOOL-SCOPE-03, RESTRICT-SET-03, RESTRICT-SET-05, RESTRICT-CHAIN-01,
        UNKNOWN-TOOL-02
    """
    own = layers.peek(scope)
    found = None if own is None else own.tools.get(name)
    if found is not None:
        return found
    around = layers.visible(scope)
    if not all(layer.admits(name) for layer in around):
        return None
    candidates = (layer.tools.get(name) for layer in reversed(around))
    return next((definition for definition in candidates if definition is not None), None)


def listed(layers: ToolLayers, scope: object | None) -> Iterable[ToolDefinition]:
    """Answer the definitions that a scope sees, in order.

    Inherited ones come first, from the farthest layer inwards. An own one takes the place of an inherited one of its
    name, or stands behind them where there is none to be seen.

    Args:
        layers: The tools of the application.
        scope: For whom.

    Spec:
        TOOL-LIST-02, RESTRICT-SET-02, RESTRICT-SET-03, RESTRICT-SET-05, RESTRICT-CHAIN-01, RESTRICT-CHAIN-02
    """
    around = layers.visible(scope)
    seen = {
        name: definition
        for name, definition in _inherited(layers, scope).items()
        if all(layer.admits(name) for layer in around)
    }
    own = layers.peek(scope)
    if own is not None:
        seen.update(own.tools.items())  # a name that is there keeps its place
    return seen.values()


def known_names(layers: ToolLayers, scope: object | None) -> AbstractSet[str]:
    """Answer every name that a scope inherits or has, hidden ones included (TOOL-LIST-04).

    Args:
        layers: The tools of the application.
        scope: For whom.
    """
    own = layers.peek(scope)
    return _inherited(layers, scope).keys() | (set[str]() if own is None else set(own.tools))


def read_restriction(
    layers: ToolLayers, scope: object | None, allow: Collection[str] | None, deny: Collection[str] | None
) -> Restriction:
    """Make a restriction for a scope.

    Args:
        layers: The tools of the application.
        allow: The names that alone may be inherited.
        deny: The names that may not be inherited.
        scope: Who is to inherit less.

    Raises:
        InvalidRestriction: There is no scope, or neither list, or what is no list; a name is reserved, or none that
            the scope inherits.

    Spec:
        RESTRICT-ERR-01, RESTRICT-ERR-02, RESTRICT-ERR-03
    """
    if scope is None:
        raise InvalidRestriction(
            "tools.restrict() requires a scoped context (agent.ctx): a context-global restriction would mask every "
            "agent — deny the tool for the intended agent instead"
        )
    if allow is None and deny is None:
        raise InvalidRestriction(
            "tools.restrict({}) is a no-op: pass `allow` and/or `deny` (an empty filter is almost always a "
            "materialized-empty-config bug)"
        )
    allowed, denied = _names("allow", allow), _names("deny", deny)  # read once: RESTRICT-SET-04
    names = (*allowed, *denied)
    if RESERVED_NAME in names:
        raise InvalidRestriction(
            f'tools.restrict() cannot name reserved Code Mode presentation transport "{RESERVED_NAME}"; restrict '
            "end-capability tools instead"
        )
    inherited = _inherited(layers, scope)
    if unknown := [f'"{name}"' for name in names if name not in inherited]:
        known = ", ".join(sorted(inherited, key=code_units)) or "(none)"
        raise InvalidRestriction(
            f"tools.restrict() names unknown global tool{'s' if len(unknown) > 1 else ''} {', '.join(unknown)}; "
            f"known global tools: {known}"
        )
    return Restriction(None if allow is None else frozenset(allowed), frozenset(denied))


def guards_around(layers: ToolLayers, scope: object | None) -> Iterator[Guard]:
    """Walk the guards of a call, live: the global ones, then those of its chain from the farthest scope inwards.

    Args:
        layers: The tools of the application.
        scope: For whom.

    Returns:
        The guards.

    Spec:
        PIPE-GUARD-01, PIPE-GUARD-04, PIPE-GUARD-05
    """
    for layer in layers.visible(scope):
        yield from layer.guards


def _inherited(layers: ToolLayers, scope: object | None) -> dict[str, ToolDefinition]:
    """Answer what a scope would see without restrictions and without tools of its own."""
    own: Final = layers.peek(scope)
    inherited: dict[str, ToolDefinition] = {}
    for layer in layers.visible(scope):
        if layer is not own:
            inherited.update(layer.tools.items())
    return inherited


def _names(member: str, names: object) -> tuple[str, ...]:
    if names is None:
        return ()
    # a text is a collection of texts, and never what is meant
    if isinstance(names, str) or not isinstance(names, Collection):
        raise InvalidRestriction(f"tools.restrict() needs a list of names for `{member}`, not {abridged(names)}")
    return tuple(cast("Collection[str]", names))
