"""The grid of the wake contract, and the prologues that visit each of its cells.

The moment of a cell is a phase, or a place of callbacks; inside another call with the phase (`inserted listener in
idle`). The window is the signal of the activity, and whether a wake is remembered.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from dshconform.contracts.inbox_commands import (
    CAUSES,
    burst,
    cancel,
    end,
    fail,
    followup,
    inject,
    keep_inbox,
    remove,
    send,
    steer,
)
from dshconform.contracts.scripted_grid import Approach, Commands, Here, Spot, cells_of, last_cell, toured
from dshconform.contracts.wake_agent import WakeAgent
from dshconform.contracts.wake_calls import WakeCalls
from dshconform.contracts.wake_scripts import FINISH_JOB, PLACES, listen, maintain
from dshconform.protocol.json_value import JsonMap

_NO_SIGNAL: Final = "no signal"

_SIGNALS: Final[Mapping[str, Commands]] = {
    "live": (),
    "cancelled": (cancel(),),
    "cancelled keep": (keep_inbox(),),
    "disposed": (keep_inbox(CAUSES[3]),),
}
"""What leads from a live signal to each."""

_LATCHED: Final = followup("w")
"""Sets the latch, where anything does."""

_PHASES: Final[Mapping[str, Commands]] = {"maintaining": (maintain(),), "streaming": (followup("a"),)}
"""What leads from rest to an activity."""


def _windows(phase: str) -> Iterator[tuple[str, Commands]]:
    """The windows of an activity, each with what leads there from its beginning.

    While a turn is live nothing sets the latch (AGENT-SEND-05), and behind a cancel as disposed nothing does
    (WAKE-DISP-01); but a latch that is set outlives one that keeps the inbox (WAKE-CLEAR-01).
    """
    for signal, leads in _SIGNALS.items():
        yield signal, leads
        if signal.startswith("cancelled"):
            yield f"{signal} latched", (*leads, _LATCHED)
        elif phase == "maintaining":
            yield f"{signal} latched", (_LATCHED, *leads)


_ACTS: Final[Mapping[str, JsonMap]] = {
    "inject": inject("s"),
    "send quiet": send("s", "next-turn", wakeup=False),
    "remove": remove("w"),
    "maintain": maintain(),
    "steer": steer("s"),
    "followup": followup("s"),
    "keep": keep_inbox(),
    "cancel": cancel(),
}
"""What is done from outside."""

_SCRIPTED: Final[Mapping[str, Commands]] = {
    "inject": (inject("s"),),
    "steer": (steer("s"),),
    "remove": (remove("b"),),
    "maintain": (maintain(),),
    "keep": (keep_inbox(),),
    "cancel": (cancel(),),
    "keep then steer": (keep_inbox(), steer("s")),
    "cancel then steer": (cancel(), steer("s")),
}
"""What is done in a callback."""

_OBSERVED: Final[Mapping[str, Commands]] = {
    name: script for name, script in _SCRIPTED.items() if name in {"steer", "maintain", "keep", "cancel"}
}
"""What is done in an observer: of the deliveries one, for all are refused there (INBOX-DUR-04)."""


# ---------------------------------------------------------------------- from outside


def _outside() -> Iterator[Spot]:
    yield Spot("idle", _NO_SIGNAL, tuple(_ACTS), lambda act, _: (_ACTS[act],))
    for phase, begins in _PHASES.items():
        for window, leads in _windows(phase):
            yield Spot(phase, window, tuple(_ACTS), _behind((*begins, *leads)))
    for window, leads in _windows("streaming"):
        yield Spot("claimed", window, tuple(_ACTS), _in_one_stretch(leads))


def _behind(before: Commands) -> Callable[[str, Here], Commands]:
    return lambda act, _: (*before, _ACTS[act])


def _in_one_stretch(leads: Commands) -> Callable[[str, Here], Commands]:
    """Between the claim and what comes after it, there is only the stretch of code that has woken the driver."""
    return lambda act, _: (burst(followup("a"), *leads, _ACTS[act]),)


# ---------------------------------------------------------------------- in callbacks


def _inside() -> Iterator[Spot]:
    """In callbacks inside a send, and inside the clearing of a cancel.

    An idle agent's message is removed: that a cancel discards it is a `should` (CANCEL-IDLE-02).
    """
    for phase, begins in {"idle": (), **_PHASES}.items():
        signals = {_NO_SIGNAL: ()} if phase == "idle" else _SIGNALS
        for window, leads in signals.items():
            before = (*begins, *leads)
            discards = remove("b") if phase == "idle" else cancel()
            for place, scripts, prepared, trigger in (
                ("splice observer", _OBSERVED, before, steer("b")),
                ("inserted listener", _SCRIPTED, before, steer("b")),
                ("discarded listener", _SCRIPTED, (*before, inject("b")), discards),
            ):
                yield _spot(f"{place} in {phase}", window, scripts, _listening(place, prepared, trigger))


def _alongside() -> Iterator[Spot]:
    """In callbacks along a run."""
    start = followup("b")
    for place in ("claimed listener", "running listener", "pre-step listener"):
        yield _spot(place, "live", _SCRIPTED, _listening(place, (), start))
    yield _spot("turn start observer", "live", _OBSERVED, _listening("turn start observer", (), start))
    yield _spot("stopping listener", "live", _SCRIPTED, _listening("stopping listener", (start,), end(), first=True))
    yield _spot("error listener", "live", _SCRIPTED, _listening("error listener", (start,), fail()))
    yield _spot("idle listener", _NO_SIGNAL, _SCRIPTED, _listening("idle listener", (start,), end()))
    yield _spot("idle listener", "latched", _SCRIPTED, _listening("idle listener", (start, cancel(), _LATCHED), end()))
    for window, leads in _SIGNALS.items():
        yield _spot("turn end observer", window, _OBSERVED, _listening("turn end observer", (start, *leads), end()))
        if window != "live":
            yield _spot("abort listener", window, _SCRIPTED, _listening("abort listener", (start,), *leads, first=True))
            yield _spot("task abort listener", window, _SCRIPTED, _maintaining(leads))
    yield _spot("task start", "live", _SCRIPTED, lambda script, _: (maintain(start=script),))


def _spot(moment: str, window: str, scripts: Mapping[str, Commands], approach: Approach) -> Spot:
    return Spot(moment, window, tuple(scripts), lambda act, here: approach(scripts[act], here))


def _listening(place: str, before: Commands, trigger: JsonMap, *, first: bool = False) -> Approach:
    """A listener runs the script; it is set behind the commands before, or in front of them."""

    def approach(script: Commands, here: Here) -> Commands:
        named = here.turn if PLACES[place].hook else None
        listener = listen(f"{place} {here.visit}", place, *script, turn=named)
        return (listener, *before, trigger) if first else (*before, listener, trigger)

    return approach


def _maintaining(leads: Commands) -> Approach:
    return lambda script, _: (maintain(on_abort=script), *leads)


_SPOTS: Final = (*_outside(), *_inside(), *_alongside())
CELLS: Final = cells_of(_SPOTS)
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

    def made() -> tuple[WakeAgent, WakeCalls]:
        agent = WakeAgent()
        return agent, WakeCalls(agent, switches)

    return toured(_SPOTS, made, _to_rest)


def _to_rest(agent: WakeAgent) -> JsonMap | None:
    """The next command on the way to an idle agent with nothing pending, if it is not there.

    An activity ends with something pending: without, the latch would not show.
    """
    if (agent.phase == "maintaining" or agent.cause is not None) and not agent.pending:
        return inject("z")
    if agent.phase == "maintaining":
        return FINISH_JOB
    if agent.phase == "streaming":
        return end()
    pending = [message["id"] for held in agent.lists.values() for message in held]
    return remove(str(pending[0])) if pending else None
