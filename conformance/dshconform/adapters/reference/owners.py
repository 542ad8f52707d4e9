"""What the suite has named besides agents: contexts with the owners behind them, scope keys, receivers, services."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from dshconform.adapters.reference.context_kinds import FILTER, suite_event
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.functions import SuiteFunction
from dshconform.adapters.reference.kinds import Event
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import Json
from dshcore.agent import AGENT, AGENTS
from dshcore.context import FIBER_STATUS, Context, Disposer, Fiber, Plugin, Receiver, ServiceKey, StatusChange
from dshcore.llm import LLM
from dshcore.scope import Layers, NamedTable, Scope, ScopeParentBinding, create_scope
from dshcore.session import SESSIONS
from dshcore.system_prompt import SYSTEM_PROMPT
from dshcore.tools import TOOLS

_PARTS: Final[tuple[ServiceKey[Any], ...]] = (SESSIONS, LLM, SYSTEM_PROMPT, TOOLS, AGENTS, AGENT)
"""The services of a composition; the suite makes all others."""

T = TypeVar("T")


@dataclass
class SuiteKey:
    """A scope key. All of them are equal, so that whoever compares by value is found out."""


class Target:
    """A receiver of the suite.

    Args:
        function: Its filter; without one it admits everybody.
    """

    def __init__(self, function: SuiteFunction | None) -> None:
        self._function: Final = function

    def admits(self, context: Context) -> bool:
        """Ask the filter.

        Args:
            context: That of a listener.

        Returns:
            Whether it hears what is dispatched to the target; yes without a filter.
        """
        if self._function is None:
            return True
        answer: Any = self._function.call(FILTER, {"context": context, "receiver": self})
        return bool(answer)


@dataclass
class Table:
    """The layer of a service of the suite."""

    entries: NamedTable[str]
    """The names that were added in it."""

    @classmethod
    def empty(cls) -> "Table":
        """A layer without entries."""
        return cls(NamedTable())


class LayeredService:
    """A service that files names, or passes them on to another service.

    Args:
        ctx: Its own context, through which it finds what it needs itself.
        key: The key that it claims.
        forwards: The service that it passes additions on to.
    """

    def __init__(
        self, ctx: Context, key: "ServiceKey[LayeredService]", forwards: "ServiceKey[LayeredService] | None"
    ) -> None:
        ctx.provide(key, self)
        self.receiver: Final = ctx.receiver(key)
        """Stands for the service where events are dispatched to it."""
        self.layers: Final = Layers(Table.empty, lambda: None)
        """The names, layer by layer."""
        self._ctx: Final = ctx
        self._forwards: Final = forwards

    def add(self, owner: Context, name: str) -> Disposer:
        """File a name for an owner.

        Returns:
            Takes the name out again.
        """
        if self._forwards is not None:
            return self._ctx[self._forwards].add(owner, name)
        return self.layers.register(owner, lambda layer: layer.entries.insert(name, name), label=name)


class Owners:
    """The owners, scopes, keys, receivers and services that the suite has named in one world.

    Args:
        world: Records their rows, and keeps their disposers.
        root: Its root context, known as `root`.
    """

    def __init__(self, world: World, root: Context) -> None:
        self._world: Final = world
        self._contexts: Final[dict[str, Context]] = {}
        self._fibers: Final[dict[int, tuple[Fiber, str]]] = {}
        """By identity; the object is held, so that no other one gets its identity."""
        self._names: Final[dict[int, tuple[object, str]]] = {}
        self._mounting: str | None = None
        self._keys: Final[dict[str, SuiteKey]] = {}
        self._services: Final[dict[str, ServiceKey[Any]]] = {key.name: key for key in _PARTS}
        self._events: Final[dict[str, Event]] = {}
        self._targets: Final[dict[str, Receiver]] = {}
        self._labels: Final[dict[str, object]] = {}
        self.plugins: Final[dict[str, Plugin[object]]] = {}
        """The plugins that can be mounted again, by the suite's names."""
        self.bindings: Final[dict[str, ScopeParentBinding]] = {}
        """The bindings of keys to parents, by the suite's names."""
        self._scopes: Final[dict[str, Scope]] = {}
        self._layered: Final[dict[str, LayeredService]] = {}
        self._know("root", root)

    # --- contexts ------------------------------------------------------------------------------------------------

    def observe(self, observer: Context) -> None:
        """Record from now on how the fibers change that the suite has named.

        Args:
            observer: Hears of the changes.
        """
        observer.on(FIBER_STATUS, self._changed)

    def mount(self, name: str, work: Callable[[], Context]) -> None:
        """Mount something under a name: the first rows about its fiber are made before the call answers.

        Args:
            name: What the suite calls it.
            work: Mounts it, and answers its context.
        """
        outer, self._mounting = self._mounting, name
        try:
            context = work()
        finally:
            self._mounting = outer
        self._know(name, context)

    def name_context(self, name: str, context: Context) -> None:
        """Let a name stand for a context that owns nothing itself."""
        self._contexts[name] = context
        self._name(name, context)

    def context(self, name: str) -> Context:
        """The context of a name."""
        return _found(self._contexts, name, "context")

    def owner(self, fiber: Fiber) -> str:
        """The name under which a fiber was mounted; while that is going on, what it is going to be.

        Args:
            fiber: Of something mounted.

        Raises:
            Fault: It was not mounted by the suite.
        """
        entry = self._fibers.get(id(fiber))
        name = self._mounting if entry is None else entry[1]
        if name is None:
            raise Fault(f"the suite has no name for {fiber}")
        return name

    def open_scope(self, name: str, context: Context, key: object, parent: object | None) -> None:
        """Make a scope. Its name stands for its context, and for its raw disposer.

        Args:
            name: What the suite calls it.
            context: The one that it is made in.
            key: An object, by whose identity the scope is found.
            parent: The key above it; none for the root.
        """
        scope = create_scope(context, key, parent=parent, name=name)
        self._know(name, scope.ctx)
        self._world.names.disposers[name] = scope.raw_dispose
        self._scopes[name] = scope

    def scope(self, name: str) -> Scope | None:
        """The scope of a name, if it stands for one."""
        return self._scopes.get(name)

    def _know(self, name: str, context: Context) -> None:
        self._fibers[id(context.fiber)] = (context.fiber, name)
        self.name_context(name, context)

    def _changed(self, change: StatusChange) -> None:
        fiber = change.fiber
        if id(fiber) not in self._fibers:
            if self._mounting is None:
                return  # a part of the composition, or what an agent mounts
            self._fibers[id(fiber)] = (fiber, self._mounting)
        row: dict[str, Json] = {"on": "status", "owner": self.owner(fiber), "id": fiber.id}
        self._world.record({**row, "from": change.previous.value, "to": fiber.state.value})

    # --- keys ----------------------------------------------------------------------------------------------------

    def scope_key(self, name: str) -> SuiteKey:
        """The scope key of a name, made when it is first mentioned."""
        if name not in self._keys:
            self._keys[name] = SuiteKey()
            self._names[id(self._keys[name])] = (self._keys[name], name)
        return self._keys[name]

    def service_key(self, name: str) -> ServiceKey[Any]:
        """The key of a service or value of a name."""
        return self._services.setdefault(name, ServiceKey(name))

    def event(self, name: str) -> Event:
        """The event of the suite's own that has a name."""
        if name not in self._events:
            self._events[name] = suite_event(name)
        return self._events[name]

    def label(self, name: str) -> object:
        """What is the same for the same label of a realm, and for no other.

        Args:
            name: The label.
        """
        return self._labels.setdefault(name, object())

    # --- receivers -----------------------------------------------------------------------------------------------

    def name_target(self, name: str, target: Receiver) -> None:
        """Let a name stand for a receiver.

        Args:
            name: What the suite calls it.
            target: The receiver.
        """
        self._targets[name] = target
        self._name(name, target)

    def receiver(self, which: object) -> Receiver:
        """The receiver that a name, or `{"service": name}`, stands for.

        Args:
            which: A name, or `{"service": name}`.

        Raises:
            Fault: They stand for none.
        """
        match which:
            case str():
                return _found(self._targets, which, "target")
            case {"service": str() as name}:
                return self.service(name).receiver
        raise Fault(f"there is no receiver {which!r}")

    # --- services ------------------------------------------------------------------------------------------------

    def add_service(self, name: str, service: LayeredService) -> None:
        """Let a name stand for a service."""
        self._layered[name] = service
        self._name(name, service.receiver)

    def service(self, name: str) -> LayeredService:
        """The service of a name."""
        return _found(self._layered, name, "service")

    # --- showing -------------------------------------------------------------------------------------------------

    def name_of(self, subject: object) -> str | None:
        """The name of that very context, key or receiver, if it has one.

        Args:
            subject: Something of the implementation.
        """
        entry = self._names.get(id(subject))
        return None if entry is None else entry[1]

    def _name(self, name: str, subject: object) -> None:
        self._names[id(subject)] = (subject, name)


def _found(known: Mapping[str, T], name: str, what: str) -> T:
    if name not in known:
        raise Fault(f"there is no {what} {name!r}")
    return known[name]
