"""The kinds of calls that owners, effects and dispatches of the suite's own events lead to, and what these are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from dshconform.adapters.reference.calls import Call
from dshconform.adapters.reference.endings import Kind
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.functions import SuiteFunction
from dshconform.adapters.reference.kinds import UNDO, Event
from dshconform.protocol.kinds import EVENTS
from dshcore.events import Emit, Parallel, Serial, Waterfall


@dataclass(frozen=True, eq=False)
class SuiteEvent(Emit[Any], Serial[Any, Any], Parallel[Any], Waterfall[Any, Any]):
    """An event of the suite's own: its listeners do not say in which mode it will be dispatched."""


def suite_event(name: str) -> Event:
    """An event of a name that the contract does not know. Its payload is the list of the arguments.

    Raises:
        Fault: The contract does know it, and the implementation alone dispatches it.
    """
    if name in EVENTS:
        raise Fault(
            f"the event {name!r} is the implementation's own: this adapter cannot dispatch it, or does not offer it"
        )
    return Event(SuiteEvent(name, scoped=False), Kind(name, either=True), lambda args: {"args": args})


def _owned(value: object, call: Call) -> object:
    """What a body owns: a function of the suite is an undo, anything else is what it is."""
    of = call.fields.get("of", call.fields.get("owner"))
    return undo_of(value, of) if isinstance(value, SuiteFunction) else value


def undo_of(function: SuiteFunction, of: object) -> Callable[[], Any]:
    """The function as what undoes something of that name.

    Args:
        function: The function.
        of: The name of what is undone.
    """

    def undo() -> Any:  # noqa: ANN401 - an awaitable or nothing, as the function answers
        return function.call(UNDO, {"of": of})

    return undo


BODY: Final = Kind("body", answer=_owned, owns=True)
"""The body of a plugin."""
EFFECT: Final = Kind("effect", answer=_owned, owns=True, waits=False)
"""The body of an effect that does not wait."""
ASYNC_EFFECT: Final = Kind("effect", answer=_owned, owns=True)
"""The body of an effect that may."""
FILTER: Final = Kind("filter", waits=False, passing=lambda _: False)
"""The filter of a receiver."""
OBSERVER: Final = Kind("observer", waits=False)
"""What is told of every dispatch."""
DEFAULT: Final = Kind("default")
"""The innermost function of a waterfall."""
