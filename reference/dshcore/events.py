"""Typed event keys: the class of a key is its dispatch mode, its arguments are its policy.

A key is declared once, at module level, and is the only way to listen to or to dispatch its event:

    AGENT_STATUS: Final = Emit[StatusChanged]("agent/status", contained=True, report='agent event "{name}"')
    TURN_STOPPING: Final = Serial[TurnStopping, None]("agent/turn-stopping", first_value_wins=False)
    PRE_STEP: Final = Waterfall[PreStep, Awaitable[PreStepDecision]]("agent/pre-step")
    LLM_STREAM: Final = Waterfall[GenerateOptions, AsyncIterator[JsonObject]]("llm/stream", scoped=False)

Mode, payload, result, scope filtering and containment stand in the declaration and nowhere else. A dispatch names its
key literally as the first argument, so that the catalog of events can be made without running anything.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class EventKey(Generic[P]):
    """What all keys have. Identity is the key: two declarations are two events, whatever their names.

    Attributes:
        name: The event's name in the specification.
        scoped: Whether it is about a scope, so that it has to be dispatched for a receiver.
        receiver: Makes the receiver out of the payload, where the payload tells all about it.
    """

    name: str
    scoped: bool = True
    receiver: Callable[[P], object] | None = None


@dataclass(frozen=True, eq=False)
class Emit(EventKey[P]):
    """Listeners are called one after another, synchronously; what they answer is ignored.

    Attributes:
        contained: Whether a listener that raises is logged and the others are still called. Otherwise its failure
            ends the dispatch and reaches the emitter.
        report: How the log names the event where a listener failed; ``{name}`` and ``{payload}`` are filled in.

    Spec:
        EVT-EMIT-01, EVT-EMIT-02, EVT-EMIT-03, EVENTS-EMIT-01
    """

    contained: bool = False
    report: str = "{name}"


@dataclass(frozen=True, eq=False)
class Serial(EventKey[P], Generic[P, R]):
    """Listeners are called one after another, each awaited before the next; a failure ends the dispatch.

    Attributes:
        first_value_wins: Whether the first answer other than none and false ends the dispatch and is its result.

    Spec:
        EVT-SER-01, EVT-SER-02, EVENTS-SERIAL-01
    """

    first_value_wins: bool = True


@dataclass(frozen=True, eq=False)
class Parallel(EventKey[P]):
    """All listeners are started, in order, then all are awaited; failures come as one aggregate.

    Spec:
        EVT-PAR-01, EVT-PAR-02
    """


@dataclass(frozen=True, eq=False)
class Waterfall(EventKey[P], Generic[P, R]):
    """Listeners are nested; the innermost is the dispatcher's default. ``R`` is what a listener returns, as it is.

    Spec:
        EVT-WF-01, EVENTS-WATER-01
    """


EmitListener: TypeAlias = Callable[[P], object]
"""Listens to an `Emit`; where it answers an awaitable, that is run to its end without being waited for."""

SerialListener: TypeAlias = Callable[[P], Awaitable[R | None]]
"""Listens to a `Serial`."""

ParallelListener: TypeAlias = Callable[[P], Awaitable[object]]
"""Listens to a `Parallel`."""

Next: TypeAlias = Callable[[], R]
"""Runs the rest of a waterfall."""

Layer: TypeAlias = Callable[[P, Next[R]], R]
"""Listens to a `Waterfall`; its second argument runs the layers behind it."""
