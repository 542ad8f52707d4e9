"""The lists of commands that begin the inbox contract's examples."""

from typing import Final

from dshconform.contracts.inbox_commands import (
    CAUSES,
    burst,
    cancel,
    clear,
    end,
    fail,
    finish,
    followup,
    inject,
    insert,
    inspect,
    keep_inbox,
    remove,
    replace,
    send,
    splice,
    steer,
    text,
)
from dshconform.protocol.json_value import JsonMap

PROLOGUES: Final[tuple[tuple[JsonMap, ...], ...]] = (
    # the presets, and what does not wake
    (followup("a"), end(), steer("b"), text("x"), end(), inject("c"), send("d", "next-turn", wakeup=False)),
    (
        inject("a"),
        send("b", "next-step", wakeup=True),
        end(),
        send("c", "next-turn", wakeup=True),
        followup("d"),
        end(),
    ),
    # no such list
    (
        send("a", "other", wakeup=True),
        insert("append", "other", "a"),
        insert("prepend", "next turn", "a"),
        splice("other", 0, 0, "a"),
        splice("other", 0, 0),
        followup("a"),
        send("b", "other", wakeup=False),
        cancel(),
        send("c", "other", wakeup=True),
        end(),
    ),
    # indices and counts
    (
        *(insert("append", "next-turn", identity) for identity in "abc"),
        splice("next-turn", -1, 1),
        splice("next-turn", 99, 0, "d"),
        splice("next-turn", 1.9, 1),
        splice("next-turn", -99, 1),
        splice("next-turn", {"$value": "NaN"}, 0, "e"),
        splice("next-turn", {"$value": "Infinity"}, 0, "f"),
        splice("next-turn", {"$value": "-Infinity"}, 1),
        splice("next-turn", None, 0, "a"),
        splice("next-turn", 1, -1, "b"),
        splice("next-turn", 0, {"$value": "Infinity"}),
    ),
    # order within a list, and the notifications of one mutation
    (
        insert("append", "next-step", "a"),
        insert("prepend", "next-step", "b"),
        insert("prepend", "next-step", "c"),
        splice("next-step", 0, 2, "d", "e"),
        insert("append", "next-turn", "f"),
        clear(),
    ),
    # splices without effect, and a clear with nothing to clear
    (splice("next-turn", 99, 5), splice("next-step", 0, {"$value": "NaN"}), clear(), remove("a"), replace("a", "b")),
    # replacements and removals in either list
    (
        *(insert("append", "next-turn", identity) for identity in "abc"),
        inject("d"),
        replace("b", "e"),
        replace("d", "f"),
        replace("e", "e", "changed"),
        remove("a"),
        remove("a"),
        remove("f"),
    ),
    # duplicates
    (
        insert("append", "next-turn", "a"),
        insert("append", "next-step", "a"),
        followup("a"),
        inject("b"),
        replace("a", "b"),
        splice("next-step", 0, 0, "c", "c"),
        splice("next-turn", 0, 0, "d", "b"),
    ),
    # an id comes back after its message was claimed, or discarded
    (followup("a"), followup("a"), end(), end(), inject("b"), remove("b"), inject("b")),
    # claims: context before the prompt, one prompt for each turn, and steering for a further step
    (
        inject("a"),
        insert("append", "next-turn", "b"),
        insert("append", "next-turn", "c"),
        steer("d"),
        end(),
        inject("e"),
        text("x"),
        end(),
        end(),
    ),
    # a run goes on with what is pending, waking or not, and after a failure stops
    (followup("a"), send("b", "next-turn", wakeup=False), end(), followup("c"), text("x"), fail(), steer("d"), end()),
    (followup("a"), insert("append", "next-turn", "b"), end(), finish("stop"), end()),
    (followup("a"), fail(), followup("b"), insert("append", "next-turn", "c"), fail(), followup("d"), end()),
    # the ceiling stays the turn's outcome
    (followup("a"), steer("b"), text("x"), finish("max-tokens"), end(), text("y"), end(), followup("c"), end()),
    (followup("a"), finish("max-tokens"), followup("b"), end(), end()),
    # cancelling an idle agent
    (cancel(), inject("a"), keep_inbox(), insert("append", "next-turn", "b"), cancel(), followup("c"), end()),
    # cancelling a turn: everything pending goes, or stays
    (followup("a"), text("x"), inject("b"), followup("c"), cancel(), end(), followup("d"), end()),
    (followup("a"), text("x"), followup("b"), inject("c"), keep_inbox(CAUSES[1]), end(), followup("d"), end(), end()),
    (followup("a"), followup("b"), cancel(CAUSES[2], keep=False), steer("c"), cancel(), end()),
    (followup("a"), cancel(CAUSES[1]), cancel(), keep_inbox(), end()),
    # the latch
    (followup("a"), text("x"), cancel(), steer("b"), inject("c"), end(), end()),
    (followup("a"), cancel(), inject("b"), end()),
    (followup("a"), followup("b"), inject("c"), keep_inbox(), steer("d"), steer("e"), end(), end(), end(), end()),
    (followup("a"), keep_inbox(), followup("b"), cancel(), inject("c"), end()),
    (followup("a"), keep_inbox(), followup("b"), keep_inbox(), end(), end()),
    (followup("a"), cancel(), steer("b"), remove("b"), end()),
    (followup("a"), followup("b"), keep_inbox(), steer("c"), remove("c"), end(), end()),
    (followup("a"), cancel(CAUSES[3]), steer("b"), end(), followup("c"), end(), end()),
    # what a cancelled stream leaves
    (followup("a"), text(" "), cancel(), end(), followup("b"), text("x"), cancel(), text("y"), followup("c"), end()),
    (followup("a"), text("x"), finish("stop"), cancel(), end(), followup("b"), text("x"), cancel(), fail()),
    (followup("a"), cancel(), text("x"), followup("b"), cancel(), fail()),
    # one stretch of code
    (burst(steer("a"), steer("b"), inspect()), end(), end()),
    (burst(followup("a"), inspect(), keep_inbox()), burst(followup("b"), cancel(), steer("c"), inspect()), end()),
    (followup("a"), burst(text("x"), end(), steer("b")), burst(cancel(), end(), followup("c")), end()),
)
"""Each reaches states that chance would reach seldom; together they reach every clause that the model cites."""
