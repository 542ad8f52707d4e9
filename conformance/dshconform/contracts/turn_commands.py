"""The alphabet of the turn contract: the answers to its hooks, and the lists of commands that begin examples."""

from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.contracts import inbox_commands
from dshconform.contracts.inbox_agent import Phase
from dshconform.contracts.inbox_commands import (
    CAUSES,
    cancel,
    chunk,
    end,
    fail,
    finish,
    followup,
    inject,
    keep_inbox,
    read_command,
    send,
    steer,
    text,
)
from dshconform.contracts.inbox_rows import ROUTE
from dshconform.contracts.model import CommandError
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.macros import message

HOOKS: Final[Mapping[Phase, tuple[str, str]]] = {
    "deciding": ("guard", "agent/pre-step"),
    "requesting": ("proposal", "agent/request"),
    "recovering": ("recovery", "agent/request-error"),
    "stopping": ("stop", "agent/turn-stopping"),
}
"""By phase, the function of the suite that waits in it, and the event that it listens to."""

FAILURES: Final = frozenset({"error", "aborted"})
"""The finishes that tell of a failure."""

HOOK_ANSWERS: Final = frozenset({"gate.next", "gate.resolve", "gate.reject"})
"""The operations that answer a hook."""

BY_NEXT: Final[JsonMap] = {"$next": 0}
"""What the hook's `next()` answered, the object itself."""

ERRORS: Final[Mapping[str, JsonMap]] = {
    "plain": {"message": "broken"},
    "coded": {"kind": "coded", "message": "refused", "code": "POLICY"},
    "model": {"kind": "model", "message": "too many", "code": "RATE_LIMIT"},
    "caused": {
        "message": "outer",
        "cause": {"$error": {"message": "inner", "cause": {"$error": {"message": "inner"}}}},
    },
    "echoed": {"message": "outer", "cause": {"$error": {"message": "outer"}}},
}
"""What hooks throw. Only a model error contributes its code."""

FAULTY_STATUS: Final[JsonMap] = {
    "do": "listen",
    "args": {
        "as": "faulty-status",
        "event": "agent/status",
        "fn": {"$fn": "faulty-status", "do": [{"do": "throw", "error": {"$error": {"message": "broken listener"}}}]},
    },
}
"""Adds a listener that fails whenever it is told of the agent's status."""
FAULTY_OBSERVER: Final[JsonMap] = {
    "do": "listen",
    "args": {
        "as": "faulty-observer",
        "event": "session/event",
        "fn": {
            "$fn": "faulty-observer",
            "when": {"event.type": "step/end"},
            "do": [{"do": "throw", "error": {"$error": {"message": "broken observer"}}}],
        },
    },
}
"""Adds an observer that fails whenever the end of a step is published."""
FAULTY: Final[Sequence[JsonMap]] = (FAULTY_STATUS, FAULTY_OBSERVER)
"""Listeners of emitted events that always throw; each may be added once."""


def gate(phase: Phase) -> JsonMap:
    """The gate of a hook.

    Args:
        phase: The phase that it belongs to.
    """
    return {"gate": {"kind": HOOKS[phase][1]}}


def ask(phase: Phase) -> JsonMap:
    """The hook calls its `next()`.

    Args:
        phase: The phase that the hook belongs to.
    """
    return {"do": "gate.next", "args": gate(phase)}


def answer(phase: Phase, value: Json) -> JsonMap:
    """The hook answers.

    Args:
        phase: The phase that the hook belongs to.
        value: What it answers.
    """
    return {"do": "gate.resolve", "args": {**gate(phase), "value": value}}


def nothing(phase: Phase) -> JsonMap:
    """The hook answers nothing.

    Args:
        phase: The phase that the hook belongs to.
    """
    return {"do": "gate.resolve", "args": gate(phase)}


def throw(phase: Phase, error: str = "plain") -> JsonMap:
    """The hook fails.

    Args:
        phase: The phase that the hook belongs to.
        error: What it fails with: a name of `ERRORS`.
    """
    return {"do": "gate.reject", "args": {**gate(phase), "error": {"$error": {**ERRORS[error], "as": "thrown"}}}}


def enter(*messages: JsonMap | str) -> JsonMap:
    """A step is entered, with these messages or with messages of these ids."""
    batch: list[Json] = [message(one) if isinstance(one, str) else one for one in messages]
    return answer("deciding", {"kind": "enter", "messages": batch})


def request(**changes: Json) -> JsonMap:
    """A request is made with the usual route; a member that is changed to nothing is left out.

    Args:
        **changes: Members of the request's configuration.
    """
    config = {**ROUTE, **changes}
    return answer("requesting", {name: value for name, value in config.items() if value is not None})


def finish_failed(kind: str, code: str) -> JsonMap:
    """The model's next item: a finish that tells of a failure.

    Args:
        kind: How the failure is told.
        code: The code of the failure.
    """
    return chunk({"type": "finish", "reason": {"kind": kind, "failure": {"message": "told so", "code": code}}})


REJECT: Final = answer("deciding", {"kind": "reject"})
"""The hook before a step refuses it."""
RETRY: Final = answer("recovering", {"kind": "retry"})
"""The hook behind a failure has the request made again."""
GO: Final = nothing("stopping")
"""The hook at the end of a turn lets it end."""
GIVE_UP: Final = nothing("recovering")
"""The hook behind a failure does nothing about it."""
SEND: Final = request()
"""The hook before a request makes it with the usual route."""
_PLAINLY: Final = (enter("entered"), SEND, GIVE_UP)
"""What a hook can answer instead of what its `next()` answered, so that it need not be asked."""


def tells_failure(args: JsonMap) -> bool:
    """Whether the model's next item is a finish that tells of a failure.

    Args:
        args: The arguments of `stream.chunk`.
    """
    item = args.get("chunk")
    return isinstance(item, Mapping) and inbox_commands.kind_of(item.get("reason")) in FAILURES


def kind_of_gate(args: JsonMap) -> str | None:
    """The kind of gate that a command answers.

    Args:
        args: The arguments of the answer.
    """
    named = args.get("gate")
    kind = named.get("kind") if isinstance(named, Mapping) else None
    return kind if isinstance(kind, str) else None


def entered(args: JsonMap) -> list[JsonMap] | None:
    """The messages of a decision that enters a step; none if it is another answer.

    Args:
        args: The arguments of `gate.resolve`.

    Raises:
        CommandError: What it lists are no messages.
    """
    value = args.get("value")
    if not isinstance(value, Mapping) or value.get("kind") != "enter" or "messages" not in value:
        return None
    return inbox_commands.messages_in(value["messages"])


def error_of(args: JsonMap) -> JsonMap:
    """The error that a command throws.

    Args:
        args: The arguments of `gate.reject`.

    Returns:
        The error, without its notation.

    Raises:
        CommandError: There is none that the contract knows.
    """
    form = inbox_commands.thrown(args)
    if form is None or {**form, "as": None} not in [{**one, "as": None} for one in ERRORS.values()]:
        raise CommandError(f"{args.get('error')!r} is no error of the turn contract: {', '.join(ERRORS)}")
    return form


def simpler(written: JsonMap) -> list[JsonMap]:
    """Commands that say less than this one.

    Args:
        written: As a scenario writes it.
    """
    op, args = read_command(written)
    if op == "gate.reject":
        plain: JsonMap = {"$error": {**ERRORS["plain"], "as": "thrown"}}
        return [{"do": op, "args": {**args, "error": plain}}] if args.get("error") != plain else []
    if op != "gate.resolve":
        return inbox_commands.simpler(written) if op not in {"listen", "gate.next"} else []
    if args.get("value") == BY_NEXT:
        return [plainly for plainly in _PLAINLY if kind_of_gate(read_command(plainly)[1]) == kind_of_gate(args)]
    messages = entered(args)
    if messages is None:
        return []
    return [enter(*messages[:at], *messages[at + 1 :]) for at in range(len(messages))]


PROLOGUES: Final[tuple[tuple[JsonMap, ...], ...]] = (
    # a plain turn, its hooks asking for what there is without them
    (
        followup("a"),
        *(ask("deciding"), answer("deciding", BY_NEXT)),
        *(ask("requesting"), answer("requesting", BY_NEXT)),
        *(text("x"), end(), GO, followup("b"), enter("b"), SEND, end(), GO),
    ),
    # what a decision does to the batch: messages dropped, rewritten, added, in another order
    (
        *(inject("a"), inject("b"), followup("c")),
        *(enter(message("b", "changed"), "d", "a"), SEND, text("x"), end(), GO),
    ),
    # rejected: the first proposal with input behind it, then a later one
    (followup("a"), steer("b"), followup("c"), REJECT, followup("d"), enter("b", "c"), SEND, steer("e"), end(), REJECT),
    (followup("a"), enter("a"), SEND, finish("max-tokens"), end(), steer("b"), GO, REJECT),
    # an empty first batch, and an empty later one
    (followup("a"), followup("b"), enter(), steer("c"), enter("c", "b"), SEND, end(), GO),
    (followup("a"), enter("a"), SEND, followup("b"), end(), steer("c"), GO, enter(), enter("b"), SEND, end(), GO),
    # decisions that are none, and hooks that fail: what was claimed is lost, what came later stays
    (followup("a"), steer("b"), nothing("deciding"), followup("c"), enter("b", "c"), SEND, end(), GO),
    (followup("a"), answer("deciding", None)),
    (followup("a"), answer("deciding", {"kind": "enter"})),
    *((followup("a"), steer("b"), throw("deciding", error), followup("c"), enter("b", "c"), SEND) for error in ERRORS),
    # what is said of a failure, at each hook
    (
        followup("a"),
        enter("a"),
        throw("requesting"),
        followup("b"),
        enter("b"),
        SEND,
        end(),
        throw("stopping", "coded"),
    ),
    (
        followup("a"),
        enter("a"),
        SEND,
        end(),
        steer("b"),
        throw("stopping"),
        steer("c"),
        enter("b", "c"),
        SEND,
        end(),
        GO,
    ),
    # requests: changed, without a route, and seeded by the last one
    (
        *(followup("a"), enter("a"), request(temperature=0.5), text("x"), end(), GO),
        *(followup("b"), enter("b"), ask("requesting"), answer("requesting", BY_NEXT), end(), GO),
        *(followup("c"), enter("c"), request(model="m2"), text("y"), end(), GO, followup("d"), enter("d"), SEND),
    ),
    (followup("a"), enter("a"), request(model=None), followup("b"), enter("b"), request(provider=None)),
    (followup("a"), enter("a"), request(model="")),
    # failed requests: tried again, given up, and recoveries that fail
    (
        *(followup("a"), enter("a"), SEND, text("x"), fail(), steer("b"), ask("recovering"), RETRY),
        *(request(temperature=1), text("y"), end(), enter("b"), SEND, end(), GO),
    ),
    (followup("a"), enter("a"), SEND, fail(), RETRY, SEND, fail(), RETRY, SEND, text("x"), end(), GO),
    (followup("a"), followup("b"), enter("a"), SEND, text("x"), fail(), GIVE_UP, steer("c"), enter("c", "b"), SEND),
    (followup("a"), enter("a"), SEND, fail(), answer("recovering", None)),
    (followup("a"), enter("a"), SEND, fail(), answer("recovering", {"kind": "other"})),
    (followup("a"), enter("a"), SEND, fail(), ask("recovering"), answer("recovering", BY_NEXT)),
    (followup("a"), enter("a"), SEND, fail(), throw("recovering", "caused")),
    (followup("a"), enter("a"), SEND, finish_failed("error", "SERVER"), end(), RETRY, SEND, end(), GO),
    (followup("a"), enter("a"), SEND, finish_failed("aborted", "ABORTED"), end(), GIVE_UP),
    # a stop that is put off, waking or not, and one that is not
    (
        *(followup("a"), enter("a"), SEND, end(), steer("b"), GO, enter("b"), SEND, end(), inject("c"), GO),
        *(enter("c"), SEND, end(), followup("d"), GO, enter("d"), SEND, end(), GO),
    ),
    # steering during the answer; the next turn of a run
    (
        followup("a"),
        enter("a"),
        SEND,
        steer("b"),
        end(),
        enter("b"),
        SEND,
        send("c", "next-turn", wakeup=False),
        end(),
        GO,
    ),
    # the ceiling stays
    (
        *(followup("a"), enter("a"), SEND, text("x"), finish("max-tokens"), end(), steer("b"), GO),
        *(enter("b"), SEND, end(), followup("c"), GO, enter("c"), SEND, end(), GO),
    ),
    (followup("a"), enter("a"), SEND, finish("max-tokens"), end(), steer("b"), GO, enter()),
    (followup("a"), enter("a"), SEND, finish("max-tokens"), steer("b"), end(), enter("b"), SEND, fail(), GIVE_UP),
    # cancelled at each gate; whatever is answered then counts for nothing
    *((followup("a"), cancel(), decision) for decision in (REJECT, enter("a"), throw("deciding"), nothing("deciding"))),
    *(
        (followup("a"), enter("a"), keep_inbox(CAUSES[1]), last)
        for last in (SEND, throw("requesting"), request(model=None))
    ),
    *(
        (followup("a"), enter("a"), SEND, fail(), cancel(CAUSES[2]), last)
        for last in (RETRY, GIVE_UP, throw("recovering"))
    ),
    *(
        (followup("a"), enter("a"), SEND, text("x"), end(), cancel(), steer("b"), last)
        for last in (GO, throw("stopping"))
    ),
    (
        followup("a"),
        enter("a"),
        SEND,
        text("x"),
        cancel(),
        end(),
        followup("b"),
        enter("b"),
        SEND,
        text("y"),
        cancel(),
        fail(),
    ),
    (followup("a"), enter("a"), SEND, text(" "), cancel(), cancel(CAUSES[1]), end()),
    (followup("a"), enter("a"), SEND, text("x"), finish("stop"), cancel(), end()),
    (followup("a"), enter("a"), SEND, cancel(), text("x")),
    # an idle agent that is cancelled
    (cancel(), inject("a"), keep_inbox(), cancel(), followup("b"), enter("b"), SEND, end(), GO),
    # pending input and the latch, across hooks
    (
        followup("a"),
        followup("b"),
        keep_inbox(),
        steer("c"),
        REJECT,
        enter("b"),
        SEND,
        end(),
        GO,
        enter("c"),
        SEND,
        end(),
        GO,
    ),
    (followup("a"), inject("b"), cancel(), steer("c"), cancel(), inject("d"), REJECT),
    (followup("a"), cancel(CAUSES[3]), steer("b"), REJECT, followup("c"), enter("b"), SEND),
    (followup("a"), enter("a"), SEND, end(), followup("b"), keep_inbox(), GO, steer("c"), enter("c", "b"), SEND),
    # listeners that fail, of what is only told
    (
        FAULTY_STATUS,
        FAULTY_OBSERVER,
        followup("a"),
        enter("a"),
        SEND,
        end(),
        GO,
        followup("b"),
        enter("b"),
        SEND,
        cancel(),
        end(),
    ),
    # answers and other calls in one stretch
    (followup("a"), inbox_commands.burst(enter("a"), cancel())),
    (followup("a"), enter("a"), inbox_commands.burst(SEND, steer("b"), keep_inbox())),
    (followup("a"), enter("a"), SEND, end(), inbox_commands.burst(GO, steer("b")), enter("b"), SEND, end(), GO),
    (followup("a"), enter("a"), SEND, fail(), inbox_commands.burst(RETRY, cancel())),
    (inbox_commands.burst(followup("a"), followup("b")), REJECT),
)
"""Each reaches states that chance would reach seldom; together they reach every clause that the model cites."""
