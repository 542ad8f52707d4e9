"""Lists of commands that begin the wake contract's examples, beside the tours of its grid."""

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
    text,
)
from dshconform.contracts.wake_scripts import FAIL_JOB, FINISH_JOB, listen, maintain, when_idle
from dshconform.protocol.json_value import JsonMap


def _listener(place: str, *commands: JsonMap) -> JsonMap:
    return listen(place, place, *commands)


PROLOGUES: Final[tuple[tuple[JsonMap, ...], ...]] = (
    # the latch, over several deliveries and cancels
    (followup("a"), cancel(), steer("b"), inject("c"), end(), end()),
    (followup("a"), followup("b"), inject("c"), keep_inbox(), steer("d"), followup("e"), end(), end(), end(), end()),
    (followup("a"), keep_inbox(), followup("b"), keep_inbox(CAUSES[1]), inject("c"), end(), end()),
    (followup("a"), keep_inbox(), followup("b"), cancel(), inject("c"), end()),
    (followup("a"), cancel(), steer("b"), cancel(), steer("c"), text("x"), end()),
    (maintain(), followup("a"), keep_inbox(CAUSES[3]), followup("b"), FINISH_JOB, end(), end()),
    (maintain(), inject("a"), cancel(), steer("b"), steer("c"), FAIL_JOB, end(), end()),
    # it is not tied to messages
    (followup("a"), cancel(), steer("b"), remove("b"), end()),
    (followup("a"), cancel(), steer("b"), remove("b"), cancel(), inject("c"), end(), followup("d"), end()),
    (followup("a"), followup("b"), keep_inbox(), steer("c"), remove("c"), end(), end()),
    (maintain(), inject("a"), followup("b"), remove("b"), FINISH_JOB, end()),
    (maintain(), followup("a"), remove("a"), FINISH_JOB, followup("b"), end()),
    # what is parked, and who wakes it
    (followup("a"), steer("b"), followup("c"), fail(), inject("d"), steer("e"), end()),
    (followup("a"), followup("b"), keep_inbox(), end(), maintain(), FINISH_JOB, followup("c"), end(), end()),
    (followup("a"), cancel(CAUSES[3]), steer("b"), end(), maintain(), keep_inbox(CAUSES[3]), steer("c"), FINISH_JOB),
    (inject("a"), send("b", "next-turn", wakeup=False), cancel(), inject("c"), keep_inbox(), steer("d"), end()),
    # a run drains the queue, waking or not
    (burst(steer("a"), steer("b")), send("c", "next-turn", wakeup=False), end(), end(), end()),
    (burst(followup("a"), keep_inbox(), steer("b")), burst(end(), followup("c"), cancel(), inject("d"))),
    (followup("a"), burst(end(), steer("b")), burst(cancel(), end(), steer("c")), end()),
    (maintain(), burst(FINISH_JOB, followup("a"), maintain()), end()),
    # a task is disposed of inside an insertion, whose wake is not remembered then
    (maintain(), _listener("inserted listener", keep_inbox(CAUSES[3])), steer("a"), FINISH_JOB, followup("b"), end()),
    # one id
    (maintain(), followup("a"), steer("a"), FINISH_JOB, followup("a"), followup("a"), end(), end()),
    (inject("a"), _listener("splice observer", inject("a"), followup("c"), remove("a")), followup("b"), end()),
    # waiting for idle
    (when_idle(), inject("a"), when_idle(), followup("b"), when_idle(), steer("c"), end(), end()),
    (followup("a"), when_idle(), cancel(), steer("b"), end(), end()),
    (followup("a"), when_idle(), fail(), followup("b"), when_idle(), cancel(), end()),
    (maintain(), when_idle(), followup("a"), FAIL_JOB, fail()),
    (maintain(), when_idle(), FINISH_JOB),
    (_listener("idle listener", followup("b")), followup("a"), when_idle(), end(), end()),
    (_listener("running listener", cancel()), maintain(), when_idle(), steer("a"), FINISH_JOB),
    # callbacks within callbacks
    (
        _listener("idle listener", steer("b"), inject("c")),
        _listener("running listener", inject("d")),
        followup("a"),
        end(),
        end(),
        end(),
    ),
    (
        followup("a"),
        followup("b"),
        _listener("discarded listener", followup("c")),
        _listener("inserted listener", keep_inbox(), steer("d")),
        cancel(),
        end(),
    ),
    (
        _listener("idle listener", maintain(), steer("b")),
        _listener("claimed listener", keep_inbox(), steer("c")),
        followup("a"),
        FINISH_JOB,
        end(),
    ),
    (followup("a"), cancel(), _listener("inserted listener", cancel(), inject("b")), steer("c"), end(), end()),
    (inject("a"), _listener("discarded listener", followup("b")), cancel(), inject("c")),
    (inject("a"), _listener("discarded listener", maintain(), steer("b")), cancel(), steer("c"), FINISH_JOB, end()),
    # a listener of idle cancels what it starts, and with it whoever takes the wake over
    (
        *(followup("a"), cancel(), followup("b"), followup("c"), _listener("idle listener", steer("d"), keep_inbox())),
        *(end(), followup("e"), end()),
    ),
    *(
        (
            *(followup("a"), cancel(), steer("b"), _listener("idle listener", maintain(), keep_inbox(cause))),
            *(end(), FINISH_JOB, followup("c"), end()),
        )
        for cause in (CAUSES[0], CAUSES[3])
    ),
    (inject("a"), _listener("discarded listener", inject("b"), keep_inbox(), steer("c")), cancel(), steer("d"), end()),
    (cancel(), followup("a"), end(), maintain(), FINISH_JOB, cancel()),
)
"""Each reaches states that chance would reach seldom."""
