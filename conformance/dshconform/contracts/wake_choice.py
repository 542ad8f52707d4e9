"""Which command of the wake contract comes next: activities are begun, disturbed, and brought to their end soon.

Every example has a habit of its own, drawn once: some set listeners all the time, some cancel again and again, some
prefer maintenance.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.contracts import inbox_commands as inbox
from dshconform.contracts import wake_scripts as write
from dshconform.contracts.source import Source
from dshconform.contracts.wake_agent import WakeAgent
from dshconform.contracts.wake_calls import ARMED
from dshconform.protocol.json_value import JsonMap

_HABITS: Final[Sequence[Mapping[str, int]]] = (
    {"deliver": 8, "cancel": 4, "end": 6, "maintain": 2, "listen": 4, "remove": 1, "wait": 1, "burst": 2},
    {"deliver": 6, "cancel": 2, "end": 6, "maintain": 2, "listen": 8, "remove": 1, "wait": 1, "burst": 1},
    {"deliver": 8, "cancel": 8, "end": 5, "maintain": 3, "listen": 2, "remove": 2, "wait": 1, "burst": 3},
    {"deliver": 5, "cancel": 3, "end": 5, "maintain": 8, "listen": 4, "remove": 1, "wait": 2, "burst": 1},
)
IDS: Final = ("a", "b", "c", "d", "e", "f")
"""Few, so that an id comes back."""


@dataclass(slots=True)
class Standing:
    """What an example keeps from its beginning to its end; called, it chooses a command.

    Args:
        source: The habit is the first choice read from it.
        made: How many listeners there were so far; each has a name of its own.
    """

    source: Source
    made: int = 0
    habit: Sequence[tuple[int, str]] = field(init=False)

    def __post_init__(self) -> None:
        self.habit = [(weight, family) for family, weight in self.source.choose(_HABITS).items()]

    def __call__(self, source: Source, agent: WakeAgent) -> JsonMap:
        """Choose a command; it may be one that is not legal."""
        senseless = {
            *(("end",) if not agent.gate_open else ()),
            *(("wait",) if agent.waiter else ()),
            *(("listen",) if len(agent.armed) == ARMED else ()),
        }
        family = source.weighted([choice for choice in self.habit if choice[1] not in senseless])
        if family == "listen":
            self.made += 1
            return _listen(source, agent, self.made)
        if family == "burst":
            items = [source.weighted(_BURST) for _ in range(1 + source.below(2))]
            return inbox.burst(_deliver(source, agent), *(_FAMILIES[item](source, agent) for item in items))
        return _FAMILIES[family](source, agent)


def _deliver(source: Source, agent: WakeAgent) -> JsonMap:
    taken = {str(message["id"]) for held in agent.lists.values() for message in held}
    free = [identity for identity in IDS if identity not in taken]
    identity = source.choose(free if free and source.below(8) else IDS)
    op = source.weighted([(6, "followup"), (6, "steer"), (4, "inject"), (2, "quiet"), (1, "waking")])
    if op == "quiet":
        return inbox.send(identity, "next-turn", wakeup=False)
    return inbox.send(identity, "next-step", wakeup=True) if op == "waking" else inbox.preset(op, identity)


def _cancel(source: Source, agent: WakeAgent) -> JsonMap:
    disposed = inbox.CAUSES[3] if agent.cause is None or agent.disposed else inbox.CAUSES[1]
    cause = source.weighted([(6, inbox.CAUSES[0]), (1, inbox.CAUSES[1]), (2, disposed)])
    return inbox.cancel(cause, keep=source.choose((None, True)))


def _end(source: Source, agent: WakeAgent) -> JsonMap:
    if agent.phase == "maintaining":
        return write.FINISH_JOB if source.below(4) else write.FAIL_JOB
    return source.weighted([(8, inbox.end()), (2, inbox.fail()), (1, inbox.text("x"))])


def _remove(source: Source, agent: WakeAgent) -> JsonMap:
    pending = [str(message["id"]) for held in agent.lists.values() for message in held]
    return inbox.remove(source.choose(pending if pending and source.below(8) else IDS))


def _maintain(source: Source, agent: WakeAgent) -> JsonMap:
    match source.weighted([(4, ""), (1, "start"), (2, "abort")]):
        case "start":
            return write.maintain(start=_script(source, agent))
        case "abort":
            return write.maintain(on_abort=_script(source, agent))
        case _:
            return write.maintain()


def _listen(source: Source, agent: WakeAgent, number: int) -> JsonMap:
    place = source.choose(_PLACES)
    turn = agent.turn + 1 if write.PLACES[place].hook else None
    return write.listen(f"{place} {number}", place, *_script(source, agent), turn=turn)


def _script(source: Source, agent: WakeAgent) -> list[JsonMap]:
    return [_SCRIPTED[source.weighted(_SCRIPT)](source, agent) for _ in range(source.choose((1, 1, 2, 2, 3)))]


_PLACES: Final = tuple(write.PLACES)
_BURST: Final = ((4, "deliver"), (2, "cancel"), (1, "remove"), (1, "end"), (1, "maintain"))
_SCRIPT: Final = ((5, "deliver"), (4, "cancel"), (1, "remove"), (1, "task"))
_FAMILIES: Final[Mapping[str, Callable[[Source, WakeAgent], JsonMap]]] = {
    "deliver": _deliver,
    "cancel": _cancel,
    "end": _end,
    "remove": _remove,
    "maintain": _maintain,
    "wait": lambda *_: write.when_idle(),
}
_SCRIPTED: Final = {**_FAMILIES, "task": lambda *_: write.maintain()}
