"""Lists of commands that begin the cancellation contract's examples, beside the tours of its grid."""

from typing import Final

from dshconform.contracts.cancellation_commands import (
    CALL,
    ENDINGS,
    FINISH_WITH_REPLAY,
    HOLD,
    HOOKS,
    OTHER_ANSWERS,
    PASS_ASSEMBLY,
    PLACES,
    REASONING,
    USED,
    listen,
)
from dshconform.contracts.inbox_agent import Phase
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
from dshconform.contracts.turn_commands import GO, throw
from dshconform.contracts.wake_scripts import FINISH_JOB, maintain, when_idle
from dshconform.protocol.json_value import JsonMap


def _listener(place: str, *commands: JsonMap, turn: int = 1, ending: JsonMap | None = None) -> JsonMap:
    return listen(place, place, *commands, turn=turn if PLACES[place].hook else None, ending=ending)


def _hold(place: str) -> JsonMap:
    return _listener(place, ending=HOLD)


_TO: Final[dict[Phase, tuple[JsonMap, ...]]] = {
    "assembling": (followup("a"),),
    "deciding": (followup("a"),),
    "requesting": (followup("a"),),
    "recovering": (followup("a"), text("x"), fail()),
    "stopping": (followup("a"), text("x"), end()),
}
"""By phase of a waiting hook, what leads there."""

PROLOGUES: Final[tuple[tuple[JsonMap, ...], ...]] = (
    # what is kept of an answer that is cut, and is history then
    (followup("a"), REASONING, text("x"), USED, CALL, cancel(), end(), followup("b"), text("y"), end()),
    (followup("a"), text("x"), REASONING, text("y"), keep_inbox(), fail(), followup("b"), end()),
    (followup("a"), text("x"), FINISH_WITH_REPLAY, cancel(), end(), followup("b"), FINISH_WITH_REPLAY, end()),
    (followup("a"), text("x"), cancel(), text("y"), followup("b"), CALL, cancel(), CALL),
    (followup("a"), text(" "), cancel(), end(), followup("b"), CALL, cancel(), end(), followup("c"), cancel(), end()),
    (followup("a"), USED, text("x"), finish("max-tokens"), keep_inbox(CAUSES[2]), end()),
    # an answer that reached its ceiling is aborted like any other
    (_listener("step end observer", cancel()), followup("a"), finish("max-tokens"), end(), followup("b"), end()),
    (_listener("answer observer", keep_inbox()), followup("a"), steer("b"), finish("max-tokens"), end()),
    (followup("a"), CALL, fail(), followup("b"), text("x"), USED, end()),
    # whatever a hook that has cancelled answers
    *(
        (_listener(place, cancel_, ending=ending), *_TO[HOOKS[place]], followup("z"), end())
        for place, endings in ENDINGS.items()
        for ending in endings
        for cancel_ in (keep_inbox(), cancel(CAUSES[1]))
    ),
    # whatever a hook answers that waits meanwhile, or that has cancelled and waits then
    *(
        (_hold(place), *_TO[phase], cancel_, other)
        for place, phase in HOOKS.items()
        for other in OTHER_ANSWERS[phase]
        for cancel_ in (keep_inbox(CAUSES[2]), cancel())
    ),
    *(
        (_listener(place, keep_inbox(), ending=HOLD), *_TO[phase], steer("s"), other)
        for place, phase in HOOKS.items()
        for other in OTHER_ANSWERS[phase][-1:]
    ),
    (_hold("assembly listener"), followup("a"), PASS_ASSEMBLY, end(), followup("b"), end()),
    (_listener("request listener", ending=ENDINGS["request listener"][1]), followup("a"), cancel(), end()),
    (_hold("stopping listener"), followup("a"), steer("b"), text("x"), end(), end(), cancel(), GO),
    (_hold("stopping listener"), followup("a"), end(), steer("b"), GO, cancel(), end()),
    # hooks that are not asked any more
    (_hold("pre-step listener"), _listener("claimed listener", cancel()), followup("a")),
    (_hold("pre-step listener"), _listener("assembly listener", keep_inbox()), followup("a")),
    (_hold("request listener"), _listener("entered observer", cancel()), followup("a")),
    (_hold("stopping listener"), _listener("step end observer", cancel()), followup("a"), end()),
    (
        *(_listener("recovery listener", cancel(), ending=ENDINGS["recovery listener"][0]), followup("a")),
        *(_hold("request listener"), fail()),
    ),
    # the first cause is what a hook reads
    *(
        (_listener(place, keep_inbox(CAUSES[1]), cancel(), ending=HOLD), *_TO[phase], cancel(CAUSES[2]))
        for place, phase in HOOKS.items()
    ),
    # later steps, and later turns of a run
    (followup("a"), steer("b"), _listener("claimed listener", keep_inbox()), end()),
    (followup("a"), steer("b"), _listener("step start observer", cancel()), inject("c"), end()),
    (followup("a"), steer("b"), followup("c"), _listener("splice observer", keep_inbox()), end(), followup("d"), end()),
    (followup("a"), finish("max-tokens"), steer("b"), end(), cancel(), steer("c"), end(), end()),
    (
        inject("a"),
        followup("b"),
        followup("c"),
        _listener("entered observer", keep_inbox()),
        end(),
        followup("d"),
        end(),
    ),
    (
        *(_listener("turn end observer", keep_inbox()), followup("a"), followup("b"), inject("c"), steer("d"), end()),
        *(end(), cancel(), end(), followup("e"), end()),
    ),
    # waiting for idle
    (when_idle(), followup("a"), when_idle(), cancel(), steer("b"), end(), end()),
    (_hold("pre-step listener"), followup("a"), when_idle(), cancel(), OTHER_ANSWERS["deciding"][0]),
    (_listener("running listener", cancel()), maintain(), when_idle(), steer("a"), FINISH_JOB),
    # the latch, and what is parked
    (followup("a"), followup("b"), keep_inbox(), steer("c"), end(), end(), end()),
    (followup("a"), cancel(), followup("b"), cancel(CAUSES[2]), inject("c"), end(), followup("d"), end()),
    (followup("a"), keep_inbox(), followup("b"), keep_inbox(CAUSES[1]), inject("c"), end(), end()),
    (followup("a"), cancel(), steer("b"), remove("b"), end()),
    (followup("a"), cancel(), steer("b"), remove("b"), cancel(CAUSES[1]), inject("c"), end(), followup("d"), end()),
    (followup("a"), followup("b"), keep_inbox(), steer("c"), remove("c"), end(), end()),
    (followup("a"), steer("b"), fail(), cancel(), followup("c"), end()),
    # an idle agent
    (inject("a"), keep_inbox(), cancel(), followup("b"), end(), cancel(CAUSES[3]), followup("c"), end()),
    (inject("a"), _listener("discarded listener", steer("b")), cancel(), followup("c"), end()),
    (_listener("idle listener", cancel(), steer("b")), followup("a"), inject("c"), fail(), end()),
    # from inside the clearing, the firing and an insertion
    (
        *(followup("a"), inject("i"), followup("q"), _listener("discarded listener", steer("s"), followup("f"))),
        *(cancel(), end(), followup("b"), end()),
    ),
    (maintain(), inject("i"), _listener("discarded listener", steer("s")), cancel(), FINISH_JOB, followup("b"), end()),
    (_listener("abort listener", inject("b"), cancel(CAUSES[1])), followup("a"), inject("c"), cancel(), end()),
    (_listener("abort listener", keep_inbox(), steer("b")), followup("a"), keep_inbox(CAUSES[2]), end(), end()),
    (followup("a"), _listener("splice observer", keep_inbox()), steer("s"), end(), followup("b"), end()),
    (followup("a"), keep_inbox(), _listener("splice observer", cancel()), steer("s"), end(), end()),
    (followup("a"), cancel(), _listener("inserted listener", cancel(), inject("b")), steer("c"), end(), end()),
    # two listeners
    (
        *(_listener("step start observer", keep_inbox()), _listener("step end observer", cancel(CAUSES[1]))),
        *(inject("a"), followup("b"), followup("c"), end()),
    ),
    (
        *(_listener("error listener", keep_inbox(), steer("b")), _listener("turn end observer", cancel())),
        *(followup("a"), fail(), end()),
    ),
    (
        *(_listener("pre-step listener", cancel(), steer("b")), _listener("idle listener", cancel(CAUSES[1]))),
        *(followup("a"), when_idle(), followup("c"), end()),
    ),
    # who watched the signal of an earlier run, or turn, is told nothing by a later one
    (_listener("abort listener", inject("b")), followup("a"), end(), followup("c"), cancel(), end()),
    (_listener("abort listener", inject("b")), followup("a"), followup("c"), end(), keep_inbox(), end()),
    # one stretch
    (followup("a"), burst(end(), keep_inbox(), steer("b")), end()),
    (burst(followup("a"), cancel(), cancel(CAUSES[1]), steer("b")), burst(cancel(), end(), steer("c")), end()),
    (burst(followup("a"), followup("b"), keep_inbox(), remove("b")),),
    (_hold("request listener"), followup("a"), burst(cancel(), throw("requesting"), followup("b"))),
    (send("a", "next-turn", wakeup=False), burst(cancel(), inject("b"), followup("c"), keep_inbox())),
)
"""Each reaches states that chance would reach seldom."""
