"""Which command of the scheduling contract comes next: answers with many calls, and ends in any order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.contracts import inbox_commands as inbox
from dshconform.contracts import scheduling_commands as write
from dshconform.contracts.inbox_choice import cancellation
from dshconform.contracts.scheduling_agent import SchedulingAgent
from dshconform.contracts.scheduling_rows import ARGUMENTS
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import JsonMap

_HABITS: Final[Sequence[Mapping[str, int]]] = (
    {"end": 24, "deliver": 2, "cancel": 1, "registry": 1, "burst": 1},
    {"end": 20, "deliver": 7, "cancel": 1, "registry": 1, "burst": 2},
    {"end": 16, "deliver": 2, "cancel": 3, "registry": 1, "burst": 3},
    {"end": 20, "deliver": 1, "cancel": 1, "registry": 3, "burst": 2},
)
_TASTES: Final[Sequence[Sequence[tuple[int, str]]]] = (
    ((12, "read"), (4, "tell"), (1, "finish"), (1, "ask"), (2, "write"), (1, write.UNKNOWN)),
    ((12, "read"), (8, "tell"), (1, "finish"), (1, "write")),
    ((12, "read"), (6, "ask"), (2, "tell"), (1, "write")),
    ((4, "read"), (5, "write"), (2, write.UNKNOWN), (2, "tell"), (1, "ask")),
    ((8, "read"), (6, "finish"), (4, "tell"), (1, "write")),
)
"""Which tools the model of an example likes."""

_COUNTS: Final = (1, 2, 3, 4, 4, 5, 6)
"""How many calls an answer has."""


@dataclass(slots=True)
class Standing:
    """What an example keeps from its beginning to its end; called, it chooses a command.

    Args:
        source: Habit and taste are the first choices read from it.
        messages: How many messages the suite has made so far; ids do not come back.
        calls: How many calls the model has asked for so far.
    """

    source: Source
    messages: int = 0
    calls: int = 0
    habit: Mapping[str, int] = field(init=False)
    """The weights of the families of commands, which an example keeps."""
    taste: Sequence[tuple[int, str]] = field(init=False)
    """Which tools the model likes, with their weights."""

    def __post_init__(self) -> None:
        self.habit = self.source.choose(_HABITS)
        self.taste = self.source.choose(_TASTES)

    def __call__(self, source: Source, agent: SchedulingAgent) -> JsonMap:
        """Choose a command; it may be one that is not legal."""
        if agent.cap is None:
            return write.world(source.weighted([(1, 1), (6, 2), (5, 3), (4, None)]))
        if agent.phase == "idle":
            family = source.weighted([(16, "deliver"), (1, "cancel"), (3, "registry")])
        else:
            family = source.weighted([(weight, name) for name, weight in self.habit.items()])
        if family == "burst":
            families = [(3, "deliver"), (3, "cancel"), (1, "registry")]
            others = [self._one(source, agent, source.weighted(families)) for _ in range(1 + source.below(2))]
            return _joined(self._one(source, agent, "end"), *others)
        return self._one(source, agent, family)

    def identity(self) -> str:
        """An id that no message has."""
        self.messages += 1
        return f"m{self.messages}"

    def _one(self, source: Source, agent: SchedulingAgent, family: str) -> JsonMap:
        match family:
            case "deliver":
                return self._deliver(source, idle=agent.phase == "idle")
            case "cancel":
                return cancellation(source)
            case "registry":
                return _registry(source, agent)
            case _:
                return self._end(source, agent) if agent.phase == "calling" else self._answer(source, agent)

    def _deliver(self, source: Source, *, idle: bool) -> JsonMap:
        op = source.weighted([(18 if idle else 6, "followup"), (5, "steer"), (3, "inject"), (1, "quiet")])
        if op == "quiet":
            return inbox.send(self.identity(), "next-turn", wakeup=False)
        return inbox.preset(op, self.identity())

    def _answer(self, source: Source, agent: SchedulingAgent) -> JsonMap:
        """Choose what the model streams: most often a whole answer with calls."""
        if agent.finished:
            return inbox.end()
        how = source.weighted([(12, "asks"), (3, "end"), (2, "text"), (1, "call"), (1, "ceiling"), (1, "fail")])
        index = len(agent.asking) + (agent.text is not None)
        match how:
            case "asks" if not agent.asking:
                kind = source.weighted([(12, "tool-calls"), (1, "stop"), (1, "max-tokens")])
                count = source.choose(_COUNTS)
                return write.asks(*(self._call(source) for _ in range(count)), kind=kind, begin=index)
            case "text":
                return inbox.text(source.choose(("x", " ")))
            case "call":
                return write.called(index, self._call(source))
            case "ceiling":
                return inbox.finish("max-tokens")
            case "fail":
                return inbox.fail()
            case _:
                return inbox.end()

    def _call(self, source: Source) -> write.Asked:
        self.calls += 1
        raw = "{}" if source.below(4) else source.choose(tuple(ARGUMENTS))
        return write.Asked(f"c{self.calls}", source.weighted(self.taste), raw)

    def _end(self, source: Source, agent: SchedulingAgent) -> JsonMap:
        """Choose how one of the functions ends that wait for the suite."""
        kind, call = source.choose(agent.gates)
        if source.below(5) == 0:
            return write.throws(call, source.choose(tuple(write.ERRORS)), kind)
        match kind:
            case write.BEFORE:
                return write.deny(call) if source.below(4) == 0 else write.allow(call)
            case write.BEHIND:
                how = source.weighted([(6, "accept"), (2, "content"), (2, "block"), (2, "context")])
                if how == "accept":
                    return write.accept(call)
                if how == "content":
                    return write.accept(call, "changed")
                return write.block(call, self.identity() if how == "context" else None)
            case _:
                return write.returns(call, source.choose((1, None, "x")))


def _registry(source: Source, agent: SchedulingAgent) -> JsonMap:
    """Choose a change of the tools; what is changed does not stay so for long, or little would overlap."""
    changed = [name for name, classifier in write.OPENING_TOOLS.items() if agent.tools.get(name) != classifier]
    if changed and source.below(6):
        name, classifier = changed[0], write.OPENING_TOOLS[changed[0]]
    else:
        name = source.weighted([(8, "read"), (1, "write"), (2, "ask")])
        classifier = source.choose(write.REGISTRATIONS[name])
    if name not in agent.tools:
        return write.register(name, classifier)
    return write.swap(name, classifier) if changed or source.below(3) else write.unregister(name)


def _joined(first: JsonMap, *others: JsonMap) -> JsonMap:
    """One burst of commands, of which some are bursts."""
    items: list[JsonMap] = []
    for one in (first, *others):
        op, args = inbox.read_command(one)
        items += inbox.items_of(args) if op == "burst" else [{"op": op, "args": args}]
    return {"do": "burst", "args": {"do": items}}
