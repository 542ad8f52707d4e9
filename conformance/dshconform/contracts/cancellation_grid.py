"""The grid of the cancellation contract: every gate of a turn, every cause, keeping the inbox or not, what is pending.

The moment of a cell is a phase, or a place of callbacks. The window is the signal where it is aborted, and otherwise
what is pending: nothing, a quiet context, a prompt that was sent waking, or both.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from dshconform.contracts.cancellation_agent import CancellationAgent
from dshconform.contracts.cancellation_calls import CancellationCalls
from dshconform.contracts.cancellation_commands import HOLD, PLACES, WAITING, going_on, listen
from dshconform.contracts.inbox_commands import (
    CAUSES,
    burst,
    cancel,
    end,
    fail,
    finish,
    followup,
    inject,
    keep_inbox,
    remove,
    send,
    steer,
    text,
)
from dshconform.contracts.inbox_rows import ROUTE
from dshconform.contracts.scripted_grid import Commands, Here, Spot, cells_of, last_cell, toured
from dshconform.contracts.wake_scripts import FINISH_JOB, maintain
from dshconform.protocol.json_value import JsonMap

PENDING: Final[Mapping[str, Commands]] = {"nothing": (), "context": (inject("p"),), "prompt": (followup("p"),)}
"""What is pending, each with what makes it so while a turn is open."""

ABORTED: Final[Mapping[str, Commands]] = {
    "cancelled": (cancel(),),
    "cancelled keep": (keep_inbox(),),
    "latched": (cancel(), steer("w")),
    "disposed": (cancel(CAUSES[3]),),
}
"""The windows of an aborted signal, each with what leads there from a live one."""

CANCELS: Final[Mapping[str, Commands]] = {
    f"cancel {cause['kind']}{' keep' if keep else ''}": (cancel(cause, keep=keep),)
    for keep in (True, None)
    for cause in CAUSES
}
"""Every cause, keeping the inbox or not."""

AGAIN: Final[Mapping[str, Commands]] = {
    "cancel parent": (cancel(CAUSES[1]),),
    "cancel parent keep": (keep_inbox(CAUSES[1]),),
    "steer": (steer("s"),),
}
"""What is done behind an abort."""

_THEN: Final[Mapping[str, Commands]] = {
    "cancel user then cancel hook": (cancel(), cancel(CAUSES[2])),
    "cancel user keep then cancel parent": (keep_inbox(), cancel(CAUSES[1])),
    "cancel user then steer": (cancel(), steer("s")),
    "cancel user keep then steer": (keep_inbox(), steer("s")),
}
"""What a callback does that does more than cancel."""

Lead = Callable[[Here], Commands]
"""The commands that lead from rest to where something is done, or to where a callback is about to be called."""


def _plain(*commands: JsonMap) -> Lead:
    return lambda _: commands


# ---------------------------------------------------------------------- from outside


def _held(place: str, *behind: JsonMap) -> Lead:
    """A hook of the next turn waits."""

    def lead(here: Here) -> Commands:
        turn = here.turn if PLACES[place].hook else None
        return (listen(f"{place} {here.visit}", place, turn=turn, ending=HOLD), followup("a"), *behind)

    return lead


_GATES: Final[Mapping[str, Lead]] = {
    "assembling": _held("assembly listener"),
    "deciding": _held("pre-step listener"),
    "requesting": _held("request listener"),
    "streaming": _plain(followup("a")),
    "answering": _plain(followup("a"), text("x")),
    "finished": _plain(followup("a"), text("x"), finish("stop")),
    "recovering": _held("recovery listener", fail()),
    "stopping": _held("stopping listener", end()),
}
"""The phases in which a turn waits for the suite, each with what leads there from rest."""


def _outside() -> Iterator[Spot]:
    quiet = (send("p", "next-turn", wakeup=False),)
    for window, pending in {**PENDING, "prompt": quiet}.items():
        yield _spot("idle", window, CANCELS, _plain(*pending))
    for window, pending in PENDING.items():
        yield _spot("maintaining", window, CANCELS, _plain(maintain(), *pending))
        yield _in_one_stretch(window, pending)
        for phase, lead in _GATES.items():
            yield _spot(phase, window, CANCELS, lead, pending)
    for window, leads in ABORTED.items():
        for phase, lead in _GATES.items():
            yield _spot(phase, window, AGAIN, lead, leads)


def _in_one_stretch(window: str, pending: Commands) -> Spot:
    """Between the claim and what comes after it, there is only the stretch of code that has woken the driver."""
    return Spot("claimed", window, tuple(CANCELS), lambda act, _: (burst(followup("a"), *pending, *CANCELS[act]),))


def _spot(moment: str, window: str, acts: Mapping[str, Commands], lead: Lead, behind: Commands = ()) -> Spot:
    return Spot(moment, window, tuple(acts), lambda act, here: (*lead(here), *behind, *acts[act]))


# ---------------------------------------------------------------------- in callbacks

Trigger = Callable[[Commands], Commands]
"""By what is to be pending, the commands that lead from rest to the callback."""


def _along(pending: Commands, *last: JsonMap) -> Commands:
    """A turn begins and something is pending behind it; then `last`."""
    return (burst(followup("a"), *pending) if pending else followup("a"), *last)


def _to_answer(pending: Commands) -> Commands:
    return _along(pending, end())


def _to_failure(pending: Commands) -> Commands:
    return _along(pending, fail())


_TRIGGERS: Final[Mapping[str, Trigger]] = {
    "pre-step listener": _along,
    "step start observer": _along,
    "entered observer": _along,
    "request listener": _along,
    "header observer": _along,
    "context observer": _along,
    "chunk observer": lambda pending: _along(pending, text("x")),
    "finish observer": lambda pending: _along(pending, finish("stop")),
    "answer observer": _to_answer,
    "step end observer": _to_answer,
    "recovery listener": _to_failure,
    "step end observer of a failure": _to_failure,
    "error listener": _to_failure,
    "turn end observer of a failure": _to_failure,
}
"""The moments at which anything can be pending, each with what leads there."""

_NARROW: Final[Mapping[tuple[str, str], Commands]] = {
    ("running listener", "prompt"): (followup("a"),),
    ("running listener", "context"): (steer("a"),),
    ("running listener", "both"): (inject("p"), followup("a")),
    ("turn start observer", "prompt"): (followup("a"),),
    ("turn start observer", "context"): (steer("a"),),
    ("turn start observer", "both"): (inject("p"), followup("a")),
    ("claimed listener", "nothing"): (followup("a"),),
    ("claimed listener", "prompt"): (send("p", "next-turn", wakeup=False), followup("a")),
    ("assembly listener", "nothing"): (followup("a"),),
    ("assembly listener", "prompt"): (send("p", "next-turn", wakeup=False), followup("a")),
    ("stopping listener", "nothing"): (followup("a"), end()),
    ("stopping listener", "prompt"): (followup("a"), followup("p"), end()),
    ("turn end observer", "nothing"): (followup("a"), end()),
    ("turn end observer", "prompt"): (followup("a"), followup("p"), end()),
    ("idle listener", "nothing"): (followup("a"), end()),
    ("idle listener", "context"): _to_failure(PENDING["context"]),
    ("idle listener", "prompt"): _to_failure(PENDING["prompt"]),
}
"""The moments at which not everything can be pending, each with what is, and what leads there."""

_NESTED: Final[Mapping[tuple[str, str], Commands]] = {
    ("splice observer in opening", "prompt"): (followup("a"), followup("p"), end()),
    ("inserted listener in streaming", "prompt"): (followup("a"), followup("p")),
    ("discarded listener in streaming", "prompt"): (followup("a"), inject("p"), followup("q"), cancel()),
}
"""The moments inside other calls and inside a claim."""

_FAILED: Final = " of a failure"
_DUE: Final = frozenset({"header observer", "context observer"})
"""The places of what is logged only where a request has another route than the last one."""


def _inside() -> Iterator[Spot]:
    for moment, trigger in _TRIGGERS.items():
        for window, pending in PENDING.items():
            yield _listening(moment, window, acts_in(window), trigger(pending))
    for (moment, window), commands in _NARROW.items():
        yield _listening(moment, window, acts_in(window), commands)
    for (moment, window), commands in _NESTED.items():
        yield _listening(moment, window, CANCELS, commands, late=True)
    for window, leads in ABORTED.items():
        for moment in ("answer observer", "step end observer", "turn end observer"):
            yield _listening(moment, window, AGAIN, (followup("a"), text("x"), *leads, end()))
        if window != "latched":
            yield _listening("abort listener", window, AGAIN, (followup("a"), *leads))


def acts_in(window: str) -> Mapping[str, Commands]:
    """What a callback does in a window: more than a cancel only where a prompt is pending.

    Args:
        window: The window.
    """
    return {**CANCELS, **_THEN} if window == "prompt" else CANCELS


def _listening(
    moment: str, window: str, acts: Mapping[str, Commands], commands: Commands, *, late: bool = False
) -> Spot:
    """A listener does something when it is called.

    Args:
        moment: When.
        window: The window.
        acts: What it does.
        commands: What leads from rest to the call.
        late: Whether it is there before the last of them only.
    """
    place = moment.removesuffix(_FAILED).partition(" in ")[0]

    def visit(act: str, here: Here) -> Commands:
        hook = PLACES[place].hook
        listener = listen(f"{place} {here.visit}", place, *acts[act], turn=here.turn if hook else None)
        if late:
            return (*commands[:-1], listener, commands[-1])
        return (*([_other_route(here)] if place in _DUE else []), listener, *commands)

    return Spot(moment, window, tuple(acts), visit)


def _other_route(here: Here) -> JsonMap:
    """A request of the next turn has another model than that of the visit before."""
    route: JsonMap = {**ROUTE, "model": f"m{2 - here.visit % 2}"}
    place = "request listener"
    return listen(f"{place} {here.visit}", place, turn=here.turn, ending={"do": "return", "value": route})


SPOTS: Final = (*_outside(), *_inside())
"""Where something is done, and what."""
CELLS: Final = cells_of(SPOTS)
"""Every cell."""

_GRID: Final = frozenset(CELLS)


def cell_of(visits: Sequence[tuple[str, str, str]]) -> str | None:
    """The cell of a command that visited these moments, acts and windows.

    Args:
        visits: In the order in which they were visited.
    """
    return last_cell(visits, _GRID)


@cache
def tours(switches: frozenset[str]) -> tuple[tuple[JsonMap, ...], ...]:
    """For each spot the commands that visit its cells.

    Args:
        switches: The variants in which the implementation is followed.
    """

    def made() -> tuple[CancellationAgent, CancellationCalls]:
        agent = CancellationAgent()
        return agent, CancellationCalls(agent, switches)

    return toured(SPOTS, made, to_rest)


def to_rest(agent: CancellationAgent) -> JsonMap | None:
    """The next command on the way to an idle agent with nothing pending, if it is not there.

    Args:
        agent: As it is.
    """
    if agent.phase == "maintaining":
        return FINISH_JOB
    if agent.phase == "streaming":
        return fail() if agent.calling and agent.cause is None else end()
    if agent.phase in WAITING:
        return going_on(agent.phase, agent.batch, agent.seed)
    pending = [remove(str(message["id"])) for held in agent.lists.values() for message in held]
    return burst(*pending) if len(pending) > 1 else next(iter(pending), None)
