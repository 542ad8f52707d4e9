"""Lists of commands that begin examples of the scheduling contract."""

from typing import Final

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
    send,
    steer,
    text,
)
from dshconform.contracts.scheduling_commands import (
    BEFORE,
    BEHIND,
    Asked,
    accept,
    allow,
    asks,
    block,
    called,
    deny,
    register,
    returns,
    swap,
    throws,
    unregister,
    world,
)
from dshconform.protocol.json_value import JsonMap

PROLOGUES: Final[tuple[tuple[JsonMap, ...], ...]] = (
    # a plain turn with one call, and the turn behind it
    (
        *(world(), followup("a"), asks("c1:read"), returns("c1"), text("x"), end()),
        *(followup("b"), asks("c2:write"), returns("c2"), accept("c2"), end()),
    ),
    # what the tools get for what the model wrote
    (
        world(),
        followup("a"),
        asks(
            *(Asked(f"c{at}", "read", raw) for at, raw in enumerate(("{}", '{"x":1}', "", "not json", "[1]", "null")))
        ),
        *(returns(f"c{at}", value) for at, value in enumerate((1, None, "x", [1], {"x": 1}, True))),
        end(),
    ),
    # a pool that rolls: places are filled as bodies end, results wait for the earlier ones
    (
        *(world(2), followup("a"), asks("c1:read", "c2:read", "c3:read", "c4:read", "c5:read")),
        *(returns("c2"), returns("c3"), returns("c1"), returns("c5"), returns("c4"), end()),
    ),
    (
        *(world(3), followup("a"), asks("c1:read", "c2:read", "c3:read", "c4:read")),
        *(throws("c3"), returns("c2"), throws("c1", "coded"), returns("c4"), end()),
    ),
    # the cap: ten by default, and one is strictly serial
    (
        *(world(), followup("a"), asks(*(f"c{at}:read" for at in range(12)))),
        *(returns("c4"), returns("c0"), cancel(), *(returns(f"c{at}") for at in (1, 2, 3, *range(5, 12)))),
    ),
    (
        world(1),
        followup("a"),
        asks("c1:read", "c2:ask", "c3:tell"),
        returns("c1"),
        allow("c2"),
        returns("c2"),
        cancel(),
    ),
    # barriers
    (
        *(world(3), followup("a"), asks("c1:read", "c2:read", "c3:write", "c4:read", "c5:read", "c6:write")),
        *(returns("c2"), returns("c1"), returns("c3"), accept("c3"), returns("c4"), returns("c5"), throws("c6")),
        *(accept("c6"), end()),
    ),
    (
        world(2),
        followup("a"),
        asks("c1:nobody", "c2:read", "c3:nobody", "c4:read"),
        returns("c2"),
        returns("c4"),
        end(),
    ),
    # policy runs alone, in the model's order
    (
        *(world(3), followup("a"), asks("c1:ask", "c2:ask", "c3:read"), allow("c1"), returns("c1")),
        *(allow("c2"), returns("c3"), returns("c2"), end()),
    ),
    (
        *(world(2), followup("a"), asks("c1:read", "c2:ask", "c3:read"), returns("c1"), deny("c2")),
        *(returns("c3"), end()),
    ),
    (world(2), followup("a"), asks("c1:ask", "c2:read"), throws("c1", "coded", BEFORE), returns("c2"), end()),
    # policy on results
    (
        *(world(), followup("a"), asks("c1:write", "c2:write", "c3:write", "c4:write"), returns("c1")),
        *(accept("c1", "changed"), returns("c2"), block("c2", "b"), throws("c3"), accept("c3", "changed")),
        *(returns("c4"), throws("c4", "coded", BEHIND), end()),
    ),
    # classified at the start, by what is registered then
    (
        *(world(2), followup("a"), asks("c1:read", "c2:read", "c3:read", "c4:read"), swap("read", "none")),
        *(returns("c2"), returns("c1"), returns("c3"), returns("c4"), end()),
    ),
    *(
        (
            *(world(2), swap("read", classifier), followup("a"), asks("c1:tell", "c2:read", "c3:read", "c4:tell")),
            *(returns("c1"), returns("c2"), returns("c3"), returns("c4"), end()),
        )
        for classifier in ("unsafe", "truthy", "throws", "none")
    ),
    (
        *(
            world(2),
            followup("a"),
            asks("c1:read", "c2:tell", "c3:read", "c4:write"),
            unregister("read"),
            returns("c2"),
        ),
        *(unregister("write"), returns("c1"), accept("c4"), end(), followup("b"), register("read", "safe"), end()),
    ),
    # contexts go to the next step, each behind its result
    (
        *(world(2), followup("a"), asks("c1:tell", "c2:tell"), steer("b"), returns("c2"), throws("c1"), inject("c")),
        *(end(), followup("d"), end()),
    ),
    # calls that conclude, or would
    (world(), followup("a"), asks("c1:finish", "c2:read"), returns("c1"), returns("c2"), followup("b"), end()),
    (
        world(),
        followup("a"),
        asks("c1:finish"),
        throws("c1"),
        asks("c2:finish", "c3:tell"),
        returns("c2"),
        returns("c3"),
        end(),
    ),
    (world(), followup("a"), asks("c1:finish"), steer("b"), returns("c1"), end()),
    # the ceiling: no call of a truncated answer, and no request that is owed
    (
        world(),
        followup("a"),
        asks("c1:read", kind="max-tokens"),
        followup("b"),
        asks("c2:read", kind="stop"),
        returns("c2"),
        end(),
    ),
    (
        *(
            world(),
            followup("a"),
            finish("max-tokens"),
            steer("b"),
            end(),
            asks("c1:read"),
            returns("c1"),
            followup("c"),
        ),
        *(finish("tool-calls"), end()),
    ),
    # text and calls in one answer, item by item
    (
        *(world(), followup("a"), text("x"), called(1, "c1:read")),
        *(called(2, "c2:tell"), end(), returns("c2"), returns("c1"), text("y"), end()),
    ),
    # a stream that is cut leaves no call, whatever it held
    (world(), followup("a"), text("x"), called(1, "c1:read"), cancel(), end()),
    (world(), followup("a"), called(0, "c1:read"), keep_inbox(), end()),
    (world(), followup("a"), called(0, "c9:read"), fail(), followup("b"), asks("c1:read"), returns("c1"), fail()),
    # cancelled while bodies run: they are waited for, the others get a result
    (
        *(world(2), followup("a"), asks("c1:read", "c2:tell", "c3:read", "c4:write"), cancel(CAUSES[2])),
        *(returns("c2"), steer("b"), throws("c1"), end()),
    ),
    (
        *(
            world(2),
            followup("a"),
            asks("c1:tell", "c2:read", "c3:read"),
            followup("b"),
            keep_inbox(),
            cancel(CAUSES[1]),
        ),
        *(returns("c1"), throws("c2", "coded"), followup("c"), end()),
    ),
    (
        world(),
        followup("a"),
        asks("c1:tell", "c2:read"),
        cancel(CAUSES[3]),
        steer("b"),
        returns("c1"),
        returns("c2"),
        followup("c"),
    ),
    (world(), followup("a"), asks("c1:finish"), cancel(), returns("c1")),
    # cancelled while policy is asked
    *(
        (world(2), followup("a"), asks("c1:read", "c2:ask", "c3:ask"), cancel(), answer, returns("c1"))
        for answer in (allow("c2"), deny("c2"), throws("c2", "coded", BEFORE))
    ),
    *(
        (world(), followup("a"), asks("c1:write", "c2:read"), returns("c1"), keep_inbox(), answer)
        for answer in (accept("c1"), accept("c1", "changed"), block("c1", "b"), throws("c1", "plain", BEHIND))
    ),
    # a tool that goes away while policy is asked about its call, and one whose call runs
    (
        *(world(2), followup("a"), asks("c1:ask", "c2:ask", "c3:read"), unregister("ask"), allow("c1")),
        *(deny("c2"), unregister("read"), returns("c3"), register("ask", "safe"), register("read", "safe"), end()),
    ),
    # pending input and the latch, across calls
    (
        *(
            world(),
            followup("a"),
            asks("c1:read"),
            followup("b"),
            steer("c"),
            cancel(),
            steer("d"),
            cancel(),
            returns("c1"),
        ),
        *(send("e", "next-turn", wakeup=False), inject("f"), keep_inbox(), cancel(), followup("g"), end()),
    ),
    (world(), followup("a"), asks("c1:read"), keep_inbox(), followup("b"), returns("c1"), end()),
    (
        *(world(), followup("a"), asks("c1:tell"), followup("b"), keep_inbox(), steer("c"), cancel(), inject("d")),
        *(returns("c1"), followup("e"), steer("f"), fail()),
    ),
    # what cuts a stream that has told its end, or goes on
    (world(), followup("a"), text("x"), finish("stop"), cancel(), end(), followup("b"), cancel(), text("x")),
    (world(), followup("a"), cancel(), fail(), inject("b"), followup("c"), followup("d"), fail()),
    (world(), followup("a"), send("b", "next-turn", wakeup=False), fail()),
    # answers and other calls in one stretch
    (
        world(2),
        followup("a"),
        asks("c1:read", "c2:read", "c3:read"),
        burst(returns("c1"), steer("b"), cancel()),
        returns("c2"),
    ),
    (world(2), followup("a"), asks("c1:ask", "c2:read"), burst(allow("c1"), cancel())),
    (
        world(2),
        followup("a"),
        asks("c1:read", "c2:read", "c3:read"),
        burst(returns("c2"), unregister("read")),
        returns("c1"),
        end(),
    ),
)
"""Each reaches states that chance would reach seldom; together they reach every clause that the model cites."""
