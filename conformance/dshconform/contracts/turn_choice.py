"""Which command of the turn contract comes next: what the driver waits for is answered soon, in every way there is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.contracts import inbox_commands as inbox
from dshconform.contracts import turn_commands as write
from dshconform.contracts.inbox_agent import Phase
from dshconform.contracts.source import Source
from dshconform.contracts.turn_agent import TurnAgent
from dshconform.protocol.json_value import JsonMap
from dshconform.scenarios.macros import message

_HABITS: Final[Sequence[Mapping[str, int]]] = (
    {"deliver": 4, "cancel": 1, "answer": 16, "burst": 2, "listen": 1},
    {"deliver": 8, "cancel": 2, "answer": 12, "burst": 1, "listen": 1},
    {"deliver": 4, "cancel": 5, "answer": 12, "burst": 3, "listen": 1},
    {"deliver": 2, "cancel": 1, "answer": 20, "burst": 1, "listen": 2},
)


@dataclass(slots=True)
class Standing:
    """What an example keeps from its beginning to its end; called, it chooses a command.

    Args:
        source: The habit is the first choice read from it.
        made: How many messages the suite has made so far; ids seldom come back.
    """

    source: Source
    made: int = 0
    habit: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.habit = self.source.choose(_HABITS)

    def __call__(self, source: Source, agent: TurnAgent) -> JsonMap:
        """Choose a command; it may be one that is not legal."""
        return _choose(source, self, agent)

    def identity(self) -> str:
        """An id that no message has."""
        self.made += 1
        return f"m{self.made}"


def _choose(source: Source, standing: Standing, agent: TurnAgent) -> JsonMap:
    """Choose a command; it may be one that is not legal."""
    if agent.phase == "idle":
        family = source.weighted([(12, "deliver"), (1, "cancel"), (1, "listen")])
    else:
        family = source.weighted([(weight, name) for name, weight in standing.habit.items()])
    if family == "burst":
        first = _one(source, standing, agent, source.weighted([(4, "answer"), (1, "deliver")]))
        others = [
            _one(source, standing, agent, source.weighted([(3, "deliver"), (2, "cancel")]))
            for _ in range(1 + source.below(2))
        ]
        return inbox.burst(first, *others)
    return _one(source, standing, agent, family)


def _one(source: Source, standing: Standing, agent: TurnAgent, family: str) -> JsonMap:
    match family:
        case "deliver":
            return _deliver(source, standing)
        case "cancel":
            keep = source.weighted([(5, None), (5, True), (1, False)])
            return inbox.cancel(source.choose(inbox.CAUSES), keep=keep)
        case "listen":
            return source.choose(write.FAULTY)
        case _:
            return _ANSWERS[agent.phase](source, standing, agent) if agent.phase in _ANSWERS else inbox.end()


def _deliver(source: Source, standing: Standing) -> JsonMap:
    identity = standing.identity()
    op = source.weighted([(6, "followup"), (6, "steer"), (4, "inject"), (2, "quiet")])
    if op == "quiet":
        return inbox.send(identity, "next-turn", wakeup=False)
    return inbox.preset(op, identity)


def _decide(source: Source, standing: Standing, agent: TurnAgent) -> JsonMap:
    if agent.asked:
        return write.answer("deciding", write.BY_NEXT)
    batch = list(agent.batch)
    how = source.weighted(
        [
            *((12, "enter"), (2, "ask"), (2, "reject"), (2, "rewrite"), (2, "drop"), (2, "extra"), (1, "reverse")),
            *((2, "empty"), (1, "nothing"), (1, "null"), (1, "no list"), (2, "throw")),
        ]
    )
    match how:
        case "ask":
            return write.ask("deciding")
        case "reject":
            return write.REJECT
        case "rewrite":
            at = source.below(len(batch))
            batch[at] = message(str(batch[at]["id"]), "changed")
        case "drop":
            del batch[source.below(len(batch))]
        case "extra":
            batch.insert(source.below(len(batch) + 1), message(standing.identity()))
        case "reverse":
            batch.reverse()
        case "empty":
            batch.clear()
        case "nothing":
            return write.nothing("deciding")
        case "null":
            return write.answer("deciding", None)
        case "no list":
            return write.answer("deciding", {"kind": "enter"})
        case "throw":
            return write.throw("deciding", source.choose(tuple(write.ERRORS)))
        case _:
            pass
    return write.enter(*batch)


def _request(source: Source, standing: Standing, agent: TurnAgent) -> JsonMap:
    del standing
    if agent.asked:
        return write.answer("requesting", write.BY_NEXT)
    how = source.weighted([(12, "same"), (3, "ask"), (2, "warm"), (2, "other model"), (1, "no route"), (1, "throw")])
    match how:
        case "ask":
            return write.ask("requesting")
        case "warm":
            return write.request(temperature=source.choose((0.5, 1)))
        case "other model":
            return write.request(model="m2")
        case "no route":
            return source.choose((write.request(model=None), write.request(provider=None), write.request(model="")))
        case "throw":
            return write.throw("requesting", source.choose(tuple(write.ERRORS)))
        case _:
            return write.answer("requesting", agent.seed)


def _stream(source: Source, standing: Standing, agent: TurnAgent) -> JsonMap:
    del standing, agent
    act = source.weighted(
        [(10, "end"), (5, "text"), (1, "blank"), (1, "stop"), (2, "ceiling"), (3, "fail"), (1, "error"), (1, "aborted")]
    )
    return _STREAM[act]()


_STREAM: Final[Mapping[str, Callable[[], JsonMap]]] = {
    "end": inbox.end,
    "text": lambda: inbox.text("x"),
    "blank": lambda: inbox.text(" "),
    "stop": lambda: inbox.finish("stop"),
    "ceiling": lambda: inbox.finish("max-tokens"),
    "fail": inbox.fail,
    "error": lambda: write.finish_failed("error", "SERVER"),
    "aborted": lambda: write.finish_failed("aborted", "ABORTED"),
}


def _recover(source: Source, standing: Standing, agent: TurnAgent) -> JsonMap:
    del standing
    if agent.asked and source.below(2):
        return write.answer("recovering", write.BY_NEXT)
    how = source.weighted([(8, "retry"), (3, "nothing"), (1, "null"), (1, "other"), (1, "ask"), (2, "throw")])
    match how:
        case "retry":
            return write.RETRY
        case "null":
            return write.answer("recovering", None)
        case "other":
            return write.answer("recovering", {"kind": "other"})
        case "ask":
            return write.ask("recovering")
        case "throw":
            return write.throw("recovering", source.choose(tuple(write.ERRORS)))
        case _:
            return write.GIVE_UP


def _stop(source: Source, standing: Standing, agent: TurnAgent) -> JsonMap:
    del standing, agent
    return write.GO if source.below(8) else write.throw("stopping", source.choose(tuple(write.ERRORS)))


_ANSWERS: Final[Mapping[Phase, Callable[[Source, Standing, TurnAgent], JsonMap]]] = {
    "deciding": _decide,
    "requesting": _request,
    "streaming": _stream,
    "recovering": _recover,
    "stopping": _stop,
}
