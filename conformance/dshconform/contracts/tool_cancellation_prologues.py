"""Lists of commands that begin the tool cancellation contract's examples, beside the tours of its grid."""

from typing import Final

from dshconform.contracts.inbox_commands import (
    CAUSES,
    burst,
    cancel,
    end,
    finish,
    followup,
    inject,
    keep_inbox,
    steer,
    text,
)
from dshconform.contracts.scheduling_commands import asks, called, returns, throws
from dshconform.contracts.tool_cancellation_commands import ENDINGS, listen
from dshconform.contracts.wake_scripts import when_idle
from dshconform.protocol.json_value import JsonMap


def _listener(place: str, *commands: JsonMap, ending: JsonMap | None = None) -> JsonMap:
    return listen(place, place, *commands, ending=ending)


PROLOGUES: Final[tuple[tuple[JsonMap, ...], ...]] = (
    # whole turns: the results are history, contexts go to the next step
    (followup("a"), asks("k1:read", "k2:tell"), returns("k1"), returns("k2"), text("x"), end(), followup("b"), end()),
    (followup("a"), asks("k1:read"), throws("k1", "coded"), end()),
    # a body that ends behind an abort: what it has deferred stays parked
    (followup("a"), asks("k1:tell", "k2:read", "k3:tell"), cancel(), returns("k1"), followup("b"), end()),
    (followup("a"), asks("k1:tell"), keep_inbox(CAUSES[1]), throws("k1", "coded"), steer("b"), end()),
    (followup("a"), asks("k1:tell", "k2:read"), cancel(CAUSES[2]), steer("b"), returns("k1"), end()),
    (followup("a"), asks("k1:read", "k2:read"), returns("k1"), cancel(), followup("b"), throws("k2"), end()),
    (followup("a"), asks("k1:tell"), inject("b"), cancel(CAUSES[3]), steer("c"), returns("k1"), followup("d"), end()),
    # cancelled before its calls run
    (_listener("answer observer", keep_inbox()), followup("a"), asks("k1:read", "k2:tell"), followup("b"), end()),
    (followup("a"), text("x"), called(1, "k1:read"), keep_inbox(), end(), followup("b"), end()),
    (followup("a"), called(0, "k1:read"), finish("tool-calls"), cancel(), end()),
    # whatever policy answers behind an abort
    *(
        (_listener(place, cancel_, ending=ending), followup("a"), asks("k1:tell", "k2:read"), *last, followup("b"))
        for place, last in (("policy listener", ()), ("review listener", (returns("k1"),)))
        for ending in ENDINGS[place]
        for cancel_ in (keep_inbox(), cancel())
    ),
    # aborted at the entry of a call, so that no policy is asked about it
    (
        _listener("call observer", keep_inbox()),
        _listener("review listener", steer("b")),
        followup("a"),
        asks("k1:read"),
    ),
    # a later step, cancelled
    (followup("a"), asks("k1:read"), returns("k1"), text("x"), cancel(), end(), followup("b"), end()),
    (followup("a"), asks("k1:tell"), _listener("claimed listener", keep_inbox()), returns("k1"), followup("b"), end()),
    (followup("a"), steer("b"), asks("k1:read"), cancel(), followup("c"), returns("k1"), end()),
    # waiting for idle
    (followup("a"), asks("k1:read", "k2:read"), when_idle(), cancel(), steer("b"), returns("k1"), end()),
    # one stretch
    (followup("a"), asks("k1:read", "k2:read"), burst(cancel(), returns("k1"), steer("b")), end()),
    (followup("a"), asks("k1:tell"), burst(returns("k1"), keep_inbox(), steer("b")), end()),
    # two listeners
    (
        *(_listener("call observer", keep_inbox()), _listener("result observer", cancel(CAUSES[1]))),
        *(followup("a"), asks("k1:read", "k2:read"), followup("b"), end()),
    ),
    (
        *(_listener("policy listener", keep_inbox()), _listener("review listener", steer("b"))),
        *(followup("a"), asks("k1:read"), end()),
    ),
)
"""Each reaches states that chance would reach seldom."""
