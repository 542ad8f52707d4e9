"""Which command of the cancellation contract comes next: turns are begun, gone on with, and disturbed all the time.

Every example has a habit of its own, drawn once: some set listeners all the time, some cancel again and again, some
let turns go on for long.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dshconform.contracts import callback_choice
from dshconform.contracts import cancellation_commands as write
from dshconform.contracts import inbox_commands as inbox
from dshconform.contracts.callback_choice import Choices, Standing
from dshconform.contracts.cancellation_agent import CancellationAgent
from dshconform.contracts.source import Source
from dshconform.contracts.wake_scripts import FAIL_JOB, FINISH_JOB, maintain, when_idle
from dshconform.protocol.json_value import JsonMap

_HABITS: Final[Sequence[Mapping[str, int]]] = (
    {"deliver": 8, "cancel": 4, "go": 10, "listen": 4, "remove": 1, "maintain": 1, "wait": 1, "burst": 2},
    {"deliver": 6, "cancel": 2, "go": 12, "listen": 9, "remove": 1, "maintain": 1, "wait": 1, "burst": 1},
    {"deliver": 8, "cancel": 9, "go": 8, "listen": 3, "remove": 1, "maintain": 1, "wait": 1, "burst": 3},
    {"deliver": 5, "cancel": 1, "go": 16, "listen": 5, "remove": 1, "maintain": 0, "wait": 0, "burst": 1},
)


def _deliver(source: Source, agent: CancellationAgent) -> JsonMap:
    return callback_choice.deliver(source, agent, [(6, "followup"), (6, "steer"), (4, "inject"), (2, "quiet")])


def _cancel(source: Source, agent: CancellationAgent) -> JsonMap:
    causes = [(3, inbox.CAUSES[0]), (2, inbox.CAUSES[1]), (2, inbox.CAUSES[2])]
    return callback_choice.cancel(source, agent, causes)


def _go(source: Source, agent: CancellationAgent) -> JsonMap:
    """What waits is answered."""
    if agent.phase == "maintaining":
        return FINISH_JOB if source.below(4) else FAIL_JOB
    if agent.phase in write.WAITING:
        if agent.cause is not None and source.below(2):
            return source.choose(write.OTHER_ANSWERS[agent.phase])
        return write.going_on(agent.phase, agent.batch, agent.seed)
    if agent.calling:
        return source.weighted([(3, inbox.fail()), (1, inbox.text("x"))])
    return source.weighted(_STREAM)


_STREAM: Final[Sequence[tuple[int, JsonMap]]] = (
    *((8, inbox.end()), (4, inbox.text("x")), (3, inbox.fail()), (1, inbox.text(" ")), (1, write.REASONING)),
    *((1, write.CALL), (1, write.USED), (1, inbox.finish("stop")), (1, inbox.finish("max-tokens"))),
    (1, write.FINISH_WITH_REPLAY),
)


def _listen(source: Source, agent: CancellationAgent, number: int) -> JsonMap:
    place = source.choose(_PLACES)
    hook = write.PLACES[place].hook
    script = [scripted(source, agent) for _ in range(source.choose((1, 1, 1, 2, 2)))]
    ending: JsonMap | None = None
    if place in write.HOOKS:
        ending = source.choose((None, write.HOLD, write.HOLD, *write.ENDINGS[place]))
        script = [] if ending == write.HOLD and source.below(2) else script
    return write.listen(f"{place} {number}", place, *script, turn=agent.turn + 1 if hook else None, ending=ending)


_PLACES: Final = (*write.PLACES, *write.HOOKS)
_BURST: Final = ((4, "deliver"), (3, "cancel"), (1, "remove"), (1, "go"))
_SCRIPT: Final = ((3, "deliver"), (6, "cancel"), (1, "remove"), (1, "maintain"))
_FAMILIES: Final[Mapping[str, Callable[[Source, CancellationAgent], JsonMap]]] = {
    "deliver": _deliver,
    "cancel": _cancel,
    "go": lambda source, agent: _go(source, agent) if agent.gate_open else inbox.inspect(),
    "remove": callback_choice.remove,
    "maintain": lambda *_: maintain(),
    "wait": lambda *_: when_idle(),
}


def scripted(source: Source, agent: CancellationAgent) -> JsonMap:
    """Choose what a callback does.

    Args:
        source: Where choices come from.
        agent: As it is.
    """
    return _FAMILIES[source.weighted(_SCRIPT)](source, agent)


CHOICES: Final = Choices(
    habits=_HABITS,
    families=_FAMILIES,
    burst=_BURST,
    senseless=lambda agent: ("maintain",) if agent.gate_open else ("go",),
    listen=_listen,
)
"""What the cancellation contract chooses from."""


def standing(source: Source) -> Standing[CancellationAgent]:
    """Begin an example.

    Args:
        source: Its habit is the first choice read from it.

    Returns:
        What chooses its commands.
    """
    return Standing(source, CHOICES)
