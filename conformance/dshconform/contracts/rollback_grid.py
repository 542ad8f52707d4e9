"""The grid of the rollback contract, and for each of its cells the commands that lead there.

It has every step of a transaction with whatever may happen at it, and every state in which a disposal meets an agent.

A cell is a text whose parts are separated by ` / `. The tables leave out what cannot be:

- a load belongs to a resume, and a handle is out only when an agent is live (LIFE-OWN-10);
- nothing waits at a synchronous step, so nothing comes there from outside; what its own function does is in the table.
  Whether the scope of an agent has begun to close in the stretch in which its disposal was requested is open, so an
  owning agent is disposed of only where a transaction waits;
- the cap of a resume is looked at behind its load (LIFE-CREATE-04 speaks of creations);
- a listener of the session's start vetoes nothing (LIFE-PUB-04), so there `fails` leads on;
- whether a plugin, or an agent, waits for a teardown that somebody else began is open (LIFE-OWN-07); the loop does.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dshconform.contracts import rollback_commands as write
from dshconform.contracts.rollback_commands import (
    DISPOSALS,
    LOOP,
    NO_MORE,
    OWNER,
    WAIT,
    aborted_by,
    answer,
    cleanup,
    closed,
    created,
    disposed,
    loaded,
    look,
    on,
    sent,
    throw,
    top,
    within,
)
from dshconform.protocol.json_value import JsonMap

FORMS: Final = ("create", "resume")
"""How a life begins."""
_ENDS: Final = ("aborted", "owner closes", "loop closes")
_AWAITED: Final = ("passes", *_ENDS, "owner disposed of")
_ANNOUNCED: Final = (*_ENDS, "rejects", "the same id", *(f"sends, {end}" for end in ("passes", "rejects", *_ENDS)))

TRANSACTION: Final[Mapping[str, Sequence[str]]] = {
    "before": ("id is live", "owner closed", "owner disposed of", "loop closes", "no loop", "aborted", "several"),
    "load": ("fails", *_AWAITED),
    "setup": ("passes", "fails", "rejects", "the same id", *_ENDS),
    "setup awaited": ("rejects", *_AWAITED),
    "commit": ("passes", "fails", *_ENDS),
    "entering": ("session exists", "agent registered"),
    "session/created": ("passes", "vetoes", "sends, vetoes", *_ANNOUNCED),
    "agent/created": ("passes", "vetoes", "sends, vetoes", *_ANNOUNCED),
    "agent/session-start": ("passes", "fails", "sends, fails", *_ANNOUNCED),
    "live": ("aborted",),
}
"""What may happen at each step of a transaction."""

MEETS: Final = ("idle", "pending", "turn", "cancelled", "maintenance")
"""How a disposal finds a live agent."""
DISPOSAL: Final[Mapping[str, Sequence[str]]] = {
    "handle": (*MEETS, "quiescing", "cleanup held", "gone", "id reused"),
    "owner": (*MEETS, "id reused"),
    "parent": MEETS,
    "loop": (*MEETS, "quiescing", "cleanup held"),
    "itself": ("running", "pre-step", "step/start"),
    "itself, with messages": ("step/start",),
}
"""Who disposes of an agent, or closes what owns it, in which states."""

PRESETS: Final = ("followup", "steer", "inject")
"""The deliveries of messages."""

_OTHERS: Final[Mapping[str, Sequence[str]]] = {
    "id / {}": (
        *(f"{place} / {form}" for place in ("quiescing", "cleanup held") for form in FORMS),
        *("agent/disposed / create", "session/disposed / create", "session/disposed / resume"),
    ),
    "input / {}": (
        *(f"{place} / {kind}" for place in ("quiescing", "idle told", "cleanup held", "gone") for kind in PRESETS),
    ),
    "failure / {}": (
        *(f"{event} / {how}" for event in DISPOSALS for how in ("throw", "reject")),
        "agent/status / throw",
        "cleanup / throw",
        "cleanup / reject",
    ),
    "scope / {}": ("setup outlived / registers", "gone / registers"),
    "late / {}": (
        *("load / returns", "load / fails"),
        *(
            f"{what} / {how}"
            for what in ("setup", "setup that ended itself")
            for how in ("returns", "commits", "fails")
        ),
    ),
}


def cells() -> tuple[str, ...]:
    """Every cell."""
    found = [
        f"{form} / {step} / {cause}"
        for form in FORMS
        for step, causes in TRANSACTION.items()
        for cause in causes
        if step != "load" or form == "resume"
    ]
    found.append("create / before / is invalid")
    found += [f"disposal / {state} / {who}" for who, states in DISPOSAL.items() for state in states]
    found += [family.format(rest) for family, rests in _OTHERS.items() for rest in rests]
    return tuple(found)


# --- the way to each ----------------------------------------------------------------------------------------------

H: Final = "a1"
"""The handle of the life that a prologue is about."""


def way_to(cell: str) -> list[JsonMap]:
    """Commands that visit a cell, and what shows that nothing is left behind."""
    first, second, third = cell.split(" / ", 2)
    if first in FORMS:
        return _transaction(first, second, third)
    if first == "disposal":
        return _disposal(second, third)
    return _WAYS[first](second, third)


def begin(
    form: str, *script: JsonMap, handle: str = H, log: str = "pending", at: int = 0, more: JsonMap = NO_MORE
) -> list[JsonMap]:
    """Create an agent, or resume one up to the end of its load.

    Args:
        form: Which of the two.
        *script: Its setup.
        handle: What the suite calls it.
        log: What is stored of it, where it is resumed.
        at: The place of the load among those of the id that are open.
        more: Further arguments of the creation.
    """
    commands = [top(created(handle, *script, form=form, more=more))]
    return commands if form == "create" else [*commands, loaded(handle[:1], log, at)]


def again(handle: str = "a9", form: str = "create", at: int = 0) -> list[JsonMap]:
    """The id is free, so it can be used again.

    Args:
        handle: What the suite calls the new life.
        form: How it begins.
        at: The place of its load among those of the id that are open.
    """
    commands = begin(form, *write.read(handle), handle=handle, log="one turn", at=at)
    return [*commands, top(disposed(handle, f"again.{handle}"))]


def _acts(cause: str) -> list[JsonMap]:
    """What a function does that leads to a cause."""
    if cause.startswith("sends, "):
        return [sent(H, "m1"), *_acts(cause.removeprefix("sends, "))]
    return {
        "passes": [],
        "fails": [throw()],
        "vetoes": [throw()],
        "rejects": [write.reject()],
        "aborted": [write.aborted()],
        "owner closes": [closed("c1")],
        "loop closes": [closed("c1", LOOP)],
        "the same id": [created("a2")],
    }[cause]


def _around(form: str, step: str, cause: str) -> tuple[list[JsonMap], JsonMap, list[JsonMap]]:
    """What a cause needs: commands before, further arguments of the creation, commands behind."""
    plain, freed = cause.removeprefix("sends, "), again(form=form, at=int(step == "load"))
    if plain == "aborted":
        return [], aborted_by("s"), freed
    if plain == "owner closes":
        return [write.open_owner()], within(OWNER), freed
    if plain == "owner disposed of":
        return [top(created("b1"))], within("b1"), freed
    if plain == "loop closes":
        return [], {}, [write.RELOAD, *freed]
    return [], {}, freed if plain == "vetoes" else []


def _from_outside(cause: str) -> JsonMap:
    """The command that leads to a cause where a transaction waits."""
    if cause == "owner disposed of":
        return top(disposed("b1", "d1"))
    return top(_acts(cause)[0])


def _transaction(form: str, step: str, cause: str) -> list[JsonMap]:
    before, more, behind = _around(form, step, cause)
    left = cleanup(H, *look("a"))
    held = cleanup(H, *look("a"), WAIT)
    match step:
        case "before":
            return _refused(form, cause)
        case "load":
            start = [*before, top(created(H, *look("a"), WAIT, form=form, more=more))]
            if cause == "passes":
                return [*start, loaded("a"), answer(f"{H}.setup")]
            if cause == "fails":
                return [*start, write.not_loaded("a"), *again(form=form)]
            return [*start, _from_outside(cause), *behind]
        case "setup":
            script = [*write.read(H), *look("a"), left, *_acts(cause)]
            if cause == "aborted":
                script.append(write.commit(H))
            if cause == "the same id":
                return [*begin(form, *script, WAIT), answer(f"{H}.setup")]
            fails = again(form=form) if cause in {"fails", "rejects"} else []
            return [*before, *begin(form, *script, more=more), *behind, *fails]
        case "setup awaited":
            start = [*before, *begin(form, held, WAIT, more=more)]
            if cause == "passes":
                return [*start, answer(f"{H}.setup")]
            if cause == "rejects":
                return [*start, write.refuse(f"{H}.setup"), answer(f"{H}.undo"), *again(form=form)]
            return [*start, _from_outside(cause), answer(f"{H}.undo"), *behind]
        case "commit":
            fails = again(form=form) if cause == "fails" else []
            return [*before, *begin(form, left, write.commit(H, *look("a"), *_acts(cause)), more=more), *behind, *fails]
        case "entering":
            return _entering(form, cause)
        case "live":
            works = [top(sent(H, "m1")), write.end_stream(H), write.maintain(H), top(sent(H, "m2"))]
            works += [answer(f"{H}.job", "done"), write.cancel(H), write.end_stream(H)]
            return [*begin(form, more=aborted_by("s")), top(write.aborted()), *works]
        case event:
            kept = held if event == "agent/created" and "passes" not in cause else left
            script = [
                kept,
                on(H, event, *look("a"), *_acts(cause), name="on1", scoped=True),
                on(H, event, *look("a"), name="on2"),
            ]
            commands = [*before, *begin(form, *script, more=more)]
            ends = any(end in cause for end in (*_ENDS, "vetoes"))
            return [*commands, *([answer(f"{H}.undo")] if ends and kept is held else []), *behind]


def _refused(form: str, cause: str) -> list[JsonMap]:
    """Creations that do not begin."""
    one = created(H, *look("a"), form=form)
    match cause:
        case "id is live":
            return [*begin("create", handle="a2"), top(one), top(sent("a2", "m1"))]
        case "is invalid":
            return [top(_invalid(one)), *again()]
        case "owner closed":
            return [write.open_owner(), top(closed("c1")), top(created(H, form=form, more=within(OWNER))), *again()]
        case "owner disposed of":
            return [
                top(created("b1")),
                top(disposed("b1", "d1")),
                top(created(H, form=form, more=within("b1"))),
                *again(),
            ]
        case "loop closes":
            stretch = (
                [write.together(closed("c1", LOOP), one)] if form == "create" else [top(closed("c1", LOOP)), top(one)]
            )
            return [
                *begin("create", cleanup("b1", WAIT), handle="b1"),
                *stretch,
                top(created("a2", form=form)),
                answer("b1.undo"),
                write.RELOAD,
                *again(),
            ]
        case "no loop":
            return [top(closed("c1", LOOP)), top(one), write.RELOAD, *again()]
        case "aborted":
            return [
                top(write.aborted(reason=write.PLAIN)),
                top(created(H, form=form, more=aborted_by("s"))),
                *again(),
            ]
        case _:
            twice = created(H, form=form, more=aborted_by("s"))
            return [*begin("create", handle="a2"), top(write.aborted()), top(twice)]


def _invalid(one: JsonMap) -> JsonMap:
    args = one["args"]
    assert isinstance(args, Mapping)
    options = args["options"]
    assert isinstance(options, Mapping)
    return {**one, "args": {**args, "options": {**options, "maxTokens": 0}}}


def _entering(form: str, cause: str) -> list[JsonMap]:
    """Somebody else has the id when a transaction enters."""
    if cause == "session exists":
        return [
            *begin(form, cleanup(H, *look("a")), WAIT),
            top(created("a2", WAIT)),
            answer("a2.setup"),
            answer(f"{H}.setup"),
            top(sent("a2", "m1")),
        ]
    lost = begin(form, cleanup("b1", *look("b")), handle="b1")
    return [write.REGISTER, *lost, write.WITHDRAW, *again("b9")]


def _live(state: str, handle: str = H, more: JsonMap = NO_MORE) -> list[JsonMap]:
    """A live agent in a state."""
    script = [cleanup(handle, *look(handle[:1]), *([WAIT] if state == "cleanup held" else []))]
    commands = begin("create", *script, handle=handle, more=more)
    first = top(sent(handle, "m1"))
    return (
        commands
        + {
            "idle": [],
            "pending": [top(sent(handle, "m1", "inject"))],
            "turn": [first, top(sent(handle, "m2"))],
            "cancelled": [first, write.cancel(handle)],
            "maintenance": [write.maintain(handle), first],
            "quiescing": [first, top(disposed(handle, "d0"))],
            "cleanup held": [top(disposed(handle, "d0"))],
            "gone": [top(disposed(handle, "d0"))],
            "id reused": [top(disposed(handle, "d0")), top(created("a2"))],
        }[state]
    )


def _rest(state: str, handle: str = H) -> list[JsonMap]:
    """What the teardown of an agent in a state waits for."""
    match state:
        case "turn" | "cancelled" | "quiescing":
            return [write.end_stream(handle)]
        case "maintenance":
            return [answer(f"{handle}.job", "done")]
        case "cleanup held":
            return [answer(f"{handle}.undo")]
        case _:
            return []


def _disposal(state: str, who: str) -> list[JsonMap]:
    match who:
        case "handle":
            twice = [top(disposed(H, "d2"))] if state in {"turn", "maintenance"} else []
            late = [top(sent(H, "late"))] if state == "cancelled" else []
            return [*_live(state), top(disposed(H, "d1")), *twice, *late, *_rest(state)]
        case "owner":
            stays = begin("create", handle="b1", more={"meta": {"parentSession": "a"}})
            return [write.open_owner(), *stays, *_live(state, more=within(OWNER)), top(closed("c1")), *_rest(state)]
        case "parent":
            lineage: JsonMap = {"parentSession": "b"}
            parent = begin("create", handle="b1")
            return [
                *parent,
                *_live(state, more={**within("b1"), "meta": lineage}),
                top(disposed("b1", "d1")),
                *_rest(state),
            ]
        case "loop":
            return [*_live(state), top(closed("c1", LOOP)), *_rest(state), write.RELOAD, *again()]
        case _:
            return _from_inside(state, who)


def _from_inside(place: str, who: str) -> list[JsonMap]:
    """Somebody who is told of a turn disposes of its agent."""
    event, when = {
        "running": ("agent/status", {"status": "running"}),
        "pre-step": ("agent/pre-step", {}),
        "step/start": ("session/event", {"event.type": "step/start"}),
    }[place]
    listener = on(H, event, disposed(H, "d1"), when=when)
    sends = [sent(H, "m1"), sent(H, "m2")] if who != "itself" else [sent(H, "m1")]
    return [*begin("create"), top(listener), write.together(*sends), *again()]


def _id(place: str, form: str) -> list[JsonMap]:
    """Somebody wants an id whose agent is leaving."""
    if place in DISPOSALS:
        listener = on(H, place, created("a2", form=form))
        loads = form == "resume" and place == "session/disposed"
        start = [*begin("create"), top(listener), top(disposed(H, "d1"))]
        return [*start, *([loaded("a")] if loads else []), top(disposed(H, "d2"))]
    return [*_live(place), top(created("a2", form=form)), *_rest(place), *again()]


def _input(place: str, preset_: str) -> list[JsonMap]:
    """A message to an agent that is leaving, or gone."""
    if place == "idle told":
        listener = on(H, "agent/status", sent(H, "late", preset_), when={"status": "idle"})
        start = [*begin("create"), top(listener), top(sent(H, "m1"))]
        return [*start, top(disposed(H, "d1")), write.end_stream(H)]
    return [*_live(place), top(sent(H, "late", preset_)), *_rest(place)]


def _failure(place: str, how: str) -> list[JsonMap]:
    """Something fails in a teardown."""
    fails = throw() if how == "throw" else write.reject()
    if place == "cleanup":
        return [*begin("create", cleanup(H, fails)), top(disposed(H, "d1")), *again()]
    if place == "agent/status":
        listener = on(H, place, fails, when={"status": "idle"})
        turn = [top(sent(H, "m1")), top(disposed(H, "d1")), write.end_stream(H)]
        return [*begin("create"), top(listener), *turn, *again()]
    hear = [
        on(H, place, fails, name="on1"),
        on(H, place, *look("a"), name="on2"),
        on(H, place, name="own", scoped=True),
    ]
    return [*begin("create", *hear), top(disposed(H, "d1")), *again()]


def _scope(when: str, _: str) -> list[JsonMap]:
    """Something is registered through the scope of an agent that is gone."""
    late = on(H, "agent/created", name="late", scoped=True)
    if when == "gone":
        return [*begin("create"), top(disposed(H, "d1")), top(late)]
    return [
        *begin("create", WAIT, more=aborted_by("s")),
        top(write.aborted()),
        write.inside(f"{H}.setup", late),
        answer(f"{H}.setup"),
    ]


def _late(what: str, how: str) -> list[JsonMap]:
    """A function goes on whose transaction has ended."""
    if what == "load":
        ended = [top(created(H, form="resume", more=aborted_by("s"))), top(write.aborted())]
        if how == "fails":
            return [*ended, write.not_loaded("a"), *again()]
        twice = [top(created("a3", form="resume", more=aborted_by("r"))), top(write.aborted("r"))]
        return [
            *ended,
            loaded("a"),
            *twice,
            top(created("a2", form="resume")),
            loaded("a", "one turn", 1),
            loaded("a"),
            top(sent("a2", "m1")),
        ]
    value: JsonMap | None = {"commit": {"$fn": f"{H}.commit"}} if how == "commits" else None
    ending = write.refuse(f"{H}.setup") if how == "fails" else answer(f"{H}.setup", value)
    itself = [] if what == "setup" else [write.aborted()]
    outside = [top(write.aborted())] if what == "setup" else []
    return [*begin("create", *itself, WAIT, more=aborted_by("s")), *outside, ending, *again()]


_WAYS: Final[Mapping[str, Callable[[str, str], list[JsonMap]]]] = {
    "id": _id,
    "input": _input,
    "failure": _failure,
    "scope": _scope,
    "late": _late,
}
