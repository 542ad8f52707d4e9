"""Which command of the wake contract comes next: activities are begun, disturbed, and brought to their end soon.

Every example has a habit of its own, drawn once: some set listeners all the time, some cancel again and again, some
prefer maintenance.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dshconform.contracts import callback_choice
from dshconform.contracts import inbox_commands as inbox
from dshconform.contracts import wake_scripts as write
from dshconform.contracts.callback_choice import Choices, Standing
from dshconform.contracts.source import Source
from dshconform.contracts.wake_agent import WakeAgent
from dshconform.protocol.json_value import JsonMap

_HABITS: Final[Sequence[Mapping[str, int]]] = (
    {"deliver": 8, "cancel": 4, "end": 6, "maintain": 2, "listen": 4, "remove": 1, "wait": 1, "burst": 2},
    {"deliver": 6, "cancel": 2, "end": 6, "maintain": 2, "listen": 8, "remove": 1, "wait": 1, "burst": 1},
    {"deliver": 8, "cancel": 8, "end": 5, "maintain": 3, "listen": 2, "remove": 2, "wait": 1, "burst": 3},
    {"deliver": 5, "cancel": 3, "end": 5, "maintain": 8, "listen": 4, "remove": 1, "wait": 2, "burst": 1},
)


def _deliver(source: Source, agent: WakeAgent) -> JsonMap:
    operations = [(6, "followup"), (6, "steer"), (4, "inject"), (2, "quiet"), (1, "waking")]
    return callback_choice.deliver(source, agent, operations)


def _cancel(source: Source, agent: WakeAgent) -> JsonMap:
    return callback_choice.cancel(source, agent, [(6, inbox.CAUSES[0]), (1, inbox.CAUSES[1])])


def _end(source: Source, agent: WakeAgent) -> JsonMap:
    if agent.phase == "maintaining":
        return write.FINISH_JOB if source.below(4) else write.FAIL_JOB
    return source.weighted([(8, inbox.end()), (2, inbox.fail()), (1, inbox.text("x"))])


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
    "remove": callback_choice.remove,
    "maintain": _maintain,
    "wait": lambda *_: write.when_idle(),
}
_SCRIPTED: Final = {**_FAMILIES, "task": lambda *_: write.maintain()}

CHOICES: Final = Choices(
    habits=_HABITS,
    families=_FAMILIES,
    burst=_BURST,
    senseless=lambda agent: () if agent.gate_open else ("end",),
    listen=_listen,
)
"""What the wake contract chooses from."""


def standing(source: Source) -> Standing[WakeAgent]:
    """Begin an example.

    Args:
        source: Its habit is the first choice read from it.

    Returns:
        What chooses its commands.
    """
    return Standing(source, CHOICES)
