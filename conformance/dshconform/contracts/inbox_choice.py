"""Which command of the inbox contract comes next: weighted choices that keep the interesting windows open.

Every example has a habit of its own, drawn once: some deliver much and rarely end a stream, so that long lists meet
a claim; some cancel again and again; some go from turn to turn. A single distribution would reach none of these
often.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dshconform.contracts import inbox_commands as write
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import JsonMap

Pending: TypeAlias = Mapping[str, Sequence[str]]
"""The ids in each list."""

_HABITS: Final[Sequence[Mapping[str, int]]] = (
    {"deliver": 8, "edit": 8, "cancel": 4, "stream": 6, "burst": 3},
    {"deliver": 12, "edit": 12, "cancel": 1, "stream": 3, "burst": 1},
    {"deliver": 8, "edit": 2, "cancel": 8, "stream": 5, "burst": 2},
    {"deliver": 8, "edit": 3, "cancel": 1, "stream": 12, "burst": 1},
    {"deliver": 6, "edit": 3, "cancel": 3, "stream": 4, "burst": 12},
)


@dataclass(slots=True)
class Standing:
    """What an example keeps from its beginning to its end.

    Args:
        source: The habit is the first choice read from it.
    """

    source: Source
    habit: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.habit = self.source.choose(_HABITS)


def choose(source: Source, standing: Standing, pending: Pending, *, streaming: bool, idle: bool) -> JsonMap:
    """Choose a command; it may be one that is not legal.

    Args:
        source: Where choices come from.
        standing: The example's habit.
        pending: What is in the lists.
        streaming: Whether the model waits for the suite.
        idle: Whether no turn is open.
    """
    weights = dict(standing.habit)
    if not streaming:
        del weights["stream"]
    if idle:
        weights["cancel"] = 1
    family = source.weighted([(weight, name) for name, weight in weights.items()])
    if family == "burst":
        singles = [name for name in weights if name != "burst"]
        items = [
            write.inspect() if not source.below(5) else _FAMILIES[source.choose(singles)](source, pending)
            for _ in range(2 + source.below(3))
        ]
        return write.burst(*items)
    return _FAMILIES[family](source, pending)


def _deliver(source: Source, pending: Pending) -> JsonMap:
    identity = _identity(source, pending)
    op = source.weighted([(6, "followup"), (6, "steer"), (5, "inject"), (4, "send")])
    if op == "send":
        target = source.weighted([(8, "next-turn"), (8, "next-step"), (1, "other")])
        return write.send(identity, target, wakeup=bool(source.below(2)))
    return write.preset(op, identity)


def _edit(source: Source, pending: Pending) -> JsonMap:
    op = source.weighted([(5, "append"), (4, "prepend"), (8, "splice"), (5, "replace"), (4, "remove"), (1, "clear")])
    if op == "clear":
        return write.clear()
    if op == "remove":
        return write.remove(_known(source, pending))
    if op == "replace":
        old = _known(source, pending)
        new = old if source.below(3) == 0 else _identity(source, pending)
        return write.replace(old, new, source.choose((None, "changed")))
    target = source.weighted([(12, "next-turn"), (12, "next-step"), (1, "other")])
    if op != "splice":
        return write.insert(op, target, _identity(source, pending))
    inserted = [_identity(source, pending) for _ in range(source.weighted([(3, 0), (4, 1), (2, 2)]))]
    start = source.choose((None, *write.STARTS))
    return write.splice(target, start, source.choose(write.COUNTS), *inserted)


def _cancel(source: Source, pending: Pending) -> JsonMap:
    del pending
    cause = source.weighted([(6, write.CAUSES[0]), (4, write.CAUSES[1]), (3, write.CAUSES[2]), (3, write.CAUSES[3])])
    return write.cancel(cause, keep=source.weighted([(5, None), (5, True), (1, False)]))


def _stream(source: Source, pending: Pending) -> JsonMap:
    del pending
    act = source.weighted([(8, "end"), (5, "text"), (1, "blank"), (2, "stop"), (1, "ceiling"), (2, "fail")])
    return _STREAM[act]()


_STREAM: Final[Mapping[str, Callable[[], JsonMap]]] = {
    "end": write.end,
    "text": lambda: write.text("x"),
    "blank": lambda: write.text(" "),
    "stop": lambda: write.finish("stop"),
    "ceiling": lambda: write.finish("max-tokens"),
    "fail": write.fail,
}
_FAMILIES: Final[Mapping[str, Callable[[Source, Pending], JsonMap]]] = {
    "deliver": _deliver,
    "edit": _edit,
    "cancel": _cancel,
    "stream": _stream,
}


def _identity(source: Source, pending: Pending) -> str:
    """An id for a new message: seldom one that is pending."""
    taken = {identity for held in pending.values() for identity in held}
    free = [identity for identity in write.IDS if identity not in taken]
    return source.choose(free if free and source.below(8) else write.IDS)


def _known(source: Source, pending: Pending) -> str:
    """An id to look for: seldom one that is not pending."""
    held = [identity for target in pending for identity in pending[target]]
    return source.choose(held if held and source.below(8) else write.IDS)
