"""Which command of the inbox contract comes next: weighted choices that keep the interesting windows open.

Every example has a habit of its own, drawn once: some deliver much and rarely end a stream, so that long lists meet
a claim; some cancel again and again; some go from turn to turn. A single distribution would reach none of these
often.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from dshconform.contracts import inbox_commands as write
from dshconform.contracts.inbox_agent import AbstractAgent
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import JsonMap

Lists: TypeAlias = Mapping[str, Sequence[JsonMap]]
"""What is pending, by list."""

_HABITS: Final[Sequence[Mapping[str, int]]] = (
    {"deliver": 8, "edit": 8, "cancel": 4, "stream": 6, "burst": 3},
    {"deliver": 12, "edit": 12, "cancel": 1, "stream": 3, "burst": 1},
    {"deliver": 8, "edit": 2, "cancel": 8, "stream": 5, "burst": 2},
    {"deliver": 8, "edit": 3, "cancel": 1, "stream": 12, "burst": 1},
    {"deliver": 6, "edit": 3, "cancel": 3, "stream": 4, "burst": 12},
)


class Standing:
    """What an example keeps from its beginning to its end; called, it chooses a command.

    Args:
        source: The habit is the first choice read from it.
    """

    def __init__(self, source: Source) -> None:
        habit = source.choose(_HABITS)
        self._families = {
            (streaming, idle): [
                (1 if idle and family == "cancel" else weight, family)
                for family, weight in habit.items()
                if streaming or family != "stream"
            ]
            for streaming in (False, True)
            for idle in (False, True)
        }

    def __call__(self, source: Source, agent: AbstractAgent) -> JsonMap:
        """Choose a command; it may be one that is not legal."""
        return _choose(source, self.families(streaming=agent.gate_open, idle=agent.phase == "idle"), agent.lists)

    def families(self, *, streaming: bool, idle: bool) -> Sequence[tuple[int, str]]:
        """The families of commands that make sense now, with their weights.

        Args:
            streaming: Whether the model waits for its next item.
            idle: Whether the agent is idle.
        """
        return self._families[streaming, idle]


def _choose(source: Source, families: Sequence[tuple[int, str]], lists: Lists) -> JsonMap:
    """Choose a command; it may be one that is not legal.

    Args:
        source: Where choices come from.
        families: What there is to choose from.
        lists: What is pending.
    """
    family = source.weighted(families)
    if family != "burst":
        return _FAMILIES[family](source, lists)
    singles = [name for _, name in families if name != "burst"]
    items = [
        write.inspect() if not source.below(5) else _FAMILIES[source.choose(singles)](source, lists)
        for _ in range(2 + source.below(3))
    ]
    return write.burst(*items)


def _deliver(source: Source, lists: Lists) -> JsonMap:
    identity = _identity(source, lists)
    op = source.weighted([(6, "followup"), (6, "steer"), (5, "inject"), (4, "send")])
    if op == "send":
        target = source.weighted([(8, "next-turn"), (8, "next-step"), (1, "other")])
        return write.send(identity, target, wakeup=bool(source.below(2)))
    return write.preset(op, identity)


def _edit(source: Source, lists: Lists) -> JsonMap:
    op = source.weighted([(5, "append"), (4, "prepend"), (8, "splice"), (5, "replace"), (4, "remove"), (1, "clear")])
    if op == "clear":
        return write.clear()
    if op == "remove":
        return write.remove(_known(source, lists))
    if op == "replace":
        old = _known(source, lists)
        new = old if source.below(3) == 0 else _identity(source, lists)
        return write.replace(old, new, source.choose((None, "changed")))
    target = source.weighted([(12, "next-turn"), (12, "next-step"), (1, "other")])
    if op != "splice":
        return write.insert(op, target, _identity(source, lists))
    inserted = [_identity(source, lists) for _ in range(source.weighted([(3, 0), (4, 1), (2, 2)]))]
    start = source.choose((None, *write.STARTS))
    return write.splice(target, start, source.choose(write.COUNTS), *inserted)


def _cancel(source: Source, lists: Lists) -> JsonMap:
    del lists
    return cancellation(source)


def cancellation(source: Source) -> JsonMap:
    """Choose a cancel.

    Args:
        source: Where choices come from.
    """
    cause = source.weighted([(6, write.CAUSES[0]), (4, write.CAUSES[1]), (3, write.CAUSES[2]), (3, write.CAUSES[3])])
    return write.cancel(cause, keep=source.weighted([(5, None), (5, True), (1, False)]))


def _stream(source: Source, lists: Lists) -> JsonMap:
    del lists
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
_FAMILIES: Final[Mapping[str, Callable[[Source, Lists], JsonMap]]] = {
    "deliver": _deliver,
    "edit": _edit,
    "cancel": _cancel,
    "stream": _stream,
}


def _identity(source: Source, lists: Lists) -> str:
    """An id for a new message: seldom one that is pending."""
    if source.below(8):
        taken = _pending(lists)
        free = [identity for identity in write.IDS if identity not in taken]
        if free:
            return source.choose(free)
    return source.choose(write.IDS)


def _known(source: Source, lists: Lists) -> str:
    """An id to look for: seldom one that is not pending."""
    held = _pending(lists)
    return source.choose(held if held and source.below(8) else write.IDS)


def _pending(lists: Lists) -> list[str]:
    return [str(message["id"]) for held in lists.values() for message in held]
