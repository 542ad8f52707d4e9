"""The inbox: two durable lists, their operations, and what listeners see of them."""

import math
from typing import Any

import pytest
from tests.reference.world import USER, World, do, hang, message
from typeguard import suppress_type_checks

from dshcore.agent import (
    AGENT_INBOX_CLAIMED,
    AGENT_INBOX_DISCARDED,
    AGENT_INBOX_INSERTED,
    AGENT_STATUS,
    Agent,
    DuplicateMessage,
    InboxError,
    InvalidInboxLog,
    Target,
)
from dshcore.agent.inbox import fold_inbox
from dshcore.session import SESSION_EVENT, AppendReentered, AppendRefused

TARGETS: tuple[Target, ...] = ("next-turn", "next-step")


def ids(messages: Any) -> str:
    return "".join(one["id"] for one in messages)


def pending(agent: Agent) -> tuple[str, str]:
    return ids(agent.inbox.next_turn), ids(agent.inbox.next_step)


def fill(world: World, agent: Agent, target: Target = "next-turn", what: str = "abc") -> None:
    for name in what:
        agent.inbox.append(target, message(name))
    world.take()


def test_two_ordered_lists(world: World) -> None:
    """Each list keeps its own order, and either of them makes the inbox pending (INBOX-LIST-01)."""
    agent = world.create()
    assert not agent.inbox.has_pending
    for target, name in zip(TARGETS * 2, "abcd", strict=True):
        agent.inbox.append(target, message(name))
        assert agent.inbox.has_pending
    assert pending(agent) == ("ac", "bd")


def test_log_folds_to_the_lists_after_any_operations(world: World) -> None:
    """Each mutation is one splice per list, and the fold of the log is the lists (INBOX-DUR-01)."""
    agent = world.create()
    inbox = agent.inbox
    for number, operation in enumerate(
        [
            lambda: inbox.append("next-turn", message("a")),
            lambda: inbox.prepend("next-turn", message("b")),
            lambda: inbox.splice("next-turn", 1, 0, [message("c"), message("d")]),
            lambda: inbox.replace("c", message("e")),
            lambda: inbox.append("next-step", message("f")),
            lambda: inbox.remove("d"),
            lambda: inbox.splice("next-turn", -1, 1),
            inbox.clear,
        ]
    ):
        before = agent.session.seq
        operation()
        assert agent.session.seq - before == (2 if operation == inbox.clear else 1), number
        folded = fold_inbox(agent.session)
        assert (ids(folded["next-turn"]), ids(folded["next-step"])) == pending(agent)


def test_splice_is_durable_before_the_list_changes(world: World) -> None:
    """Observers see the old list and can read the removed messages off it; inbox listeners see the new one."""
    agent = world.create()
    fill(world, agent)
    seen: list[tuple[str, str]] = []
    world.root.on(SESSION_EVENT, lambda _: seen.append(("observer", pending(agent)[0])))
    world.root.on(AGENT_INBOX_DISCARDED, lambda _: seen.append(("discarded", pending(agent)[0])))
    world.root.on(AGENT_INBOX_INSERTED, lambda _: seen.append(("inserted", pending(agent)[0])))
    agent.inbox.splice("next-turn", 0, 1, [message("n")])
    assert seen == [("observer", "abc"), ("discarded", "nbc"), ("inserted", "nbc")]


def test_refused_splice_changes_nothing(world: World) -> None:
    """It changes no list and notifies nobody, and the error reaches the caller (INBOX-DUR-03)."""
    agent = world.create()
    world.refuse("agent/inbox/spliced")
    world.take()
    with pytest.raises(AppendRefused, match="refused agent/inbox/spliced"):
        agent.inbox.append("next-turn", message("a"))
    with pytest.raises(AppendRefused, match='event "agent/inbox/spliced" carries non-JSON-serializable data'):
        agent.inbox.append("next-turn", {**message("a"), "content": [{"type": "text", "text": math.nan}]})
    assert (pending(agent), world.take()) == (("", ""), [])
    agent.inbox.append("next-turn", message("a"))
    assert pending(agent) == ("a", "")


def test_observers_cannot_mutate(world: World) -> None:
    """Inside an observer every mutation is refused and changes nothing (INBOX-DUR-04)."""
    agent = world.create()
    refused: list[str] = []

    def nested() -> None:
        with pytest.raises(AppendReentered) as caught:
            agent.followup(message("B"))
        refused.append(str(caught.value))

    world.on_event("agent/inbox/spliced", nested)
    world.run(lambda: agent.inject(message("A")))
    assert refused == ["session append cannot reenter while another append is being published"]
    assert (pending(agent), agent.status) == (("", "A"), "idle")


@pytest.mark.parametrize("key", [AGENT_INBOX_INSERTED, AGENT_INBOX_DISCARDED, AGENT_STATUS, AGENT_INBOX_CLAIMED])
def test_inbox_and_status_listeners_can_mutate(world: World, key: Any) -> None:
    """Listeners of agent events may call any operation (INBOX-DUR-04)."""
    agent = world.create()
    fill(world, agent, "next-step", "a")
    world.root.on(key, lambda _: agent.inbox.append("next-step", message("n")), once=True)
    world.run(do(lambda: agent.inbox.replace("a", message("b")), lambda: agent.followup(message("A"))))
    assert any("+n" in row for row in world.take())


def test_first_error_of_an_insertion(world: World) -> None:
    """A duplicate id is reported before bad JSON, and bad JSON before reentrancy."""
    agent = world.create()
    fill(world, agent, what="a")
    errors: list[type] = []
    bad = {"content": [{"type": "text", "text": math.inf}]}

    def nested() -> None:
        for one in ({**message("a"), **bad}, {**message("b"), **bad}, message("c")):
            with pytest.raises((InboxError, AppendRefused)) as caught:
                agent.inbox.append("next-turn", one)
            errors.append(caught.type)

    world.on_event("agent/inbox/spliced", nested)
    agent.inbox.append("next-turn", message("n"))
    assert errors == [DuplicateMessage, AppendRefused, AppendReentered]


def test_shape_of_splices(world: World) -> None:
    """Splice data has exactly the fields that say something (INBOX-SHAPE-01, INBOX-SHAPE-02)."""
    agent = world.create()
    agent.inbox.append("next-step", message("a"))
    agent.inbox.replace("a", message("b"))
    agent.inbox.remove("b")
    agent.inbox.append("next-step", message("c"))
    world.run(lambda: agent.followup(message("A")))
    splices = [dict(e["data"]) for e in agent.session.events if e["type"] == "agent/inbox/spliced"]
    assert [sorted(splice) for splice in splices[:3]] == [
        ["inserted", "start", "target"],
        ["inserted", "outcome", "removedCount", "start", "target"],
        ["inserted", "outcome", "removedCount", "start", "target"],
    ]
    claims = [splice for splice in splices if splice.get("removedCount") and "outcome" not in splice]
    assert claims == [
        {"target": "next-step", "start": 0, "removedCount": 1, "inserted": ()},
        {"target": "next-turn", "start": 0, "removedCount": 1, "inserted": ()},
    ]


@pytest.mark.parametrize(
    ("start", "count", "logged", "removed"),
    [
        (-1, 1, 2, "c"),
        (-99, 1, 0, "a"),
        (99, 0, 3, ""),
        (1.9, 1, 1, "b"),
        (-1.9, 1, 2, "c"),
        (math.nan, 0, 0, ""),
        (None, 0, 0, ""),
        (math.inf, 0, 3, ""),
        (-math.inf, 1, 0, "a"),
        (0, math.inf, 0, "abc"),
        (0, -1, 0, ""),
        (0, math.nan, 0, ""),
        (1, 1.9, 1, "b"),
        (1, 99, 1, "bc"),
        (0, -math.inf, 0, ""),
        (-0.5, 0, 0, ""),
        (-0.0, 0, 0, ""),
    ],
)
def test_splice_indices_are_those_of_ecmascript(
    world: World, start: float | None, count: float, logged: int, removed: str
) -> None:
    """Indices are truncated, counted from the end and clamped, and the result is what is logged (INBOX-NORM)."""
    agent = world.create()
    fill(world, agent)
    assert ids(agent.inbox.splice("next-turn", start, count, [message("n")])) == removed
    data = agent.session.events[-1]["data"]
    assert (data["start"], math.copysign(1, data["start"])) == (logged, 1)
    assert data.get("removedCount", 0) == len(removed)
    expected = list("abc")
    expected[logged : logged + len(removed)] = ["n"]
    assert pending(agent)[0] == "".join(expected)


def test_empty_splice_is_none(world: World) -> None:
    """What removes and inserts nothing logs nothing and tells nobody (INBOX-NOOP-01)."""
    agent = world.create()
    fill(world, agent)
    assert agent.inbox.splice("next-turn", 99, 5) == ()
    assert agent.inbox.splice("next-turn", 0, math.nan) == ()
    agent.inbox.splice("next-turn", 0, math.inf)
    world.take()
    agent.inbox.clear()
    assert world.take() == []


def test_append_prepend_and_the_removed(world: World) -> None:
    """Append goes to the end, prepend to the front, and splice answers the removed in list order (INBOX-OPS-01)."""
    agent = world.create()
    agent.inbox.append("next-turn", message("a"))
    agent.inbox.prepend("next-turn", message("b"))
    agent.inbox.prepend("next-turn", message("c"))
    assert pending(agent)[0] == "cba"
    assert ids(agent.inbox.splice("next-turn", 0, 2)) == "cb"


def test_replace_keeps_the_place(world: World) -> None:
    """A replacement stands where the replaced message stood, in either list; an unknown id changes nothing."""
    agent = world.create()
    fill(world, agent)
    fill(world, agent, "next-step", "de")
    assert agent.inbox.replace("b", message("x"))
    assert agent.inbox.replace("e", message("y"))
    assert pending(agent) == ("axc", "dy")
    assert world.take() == [
        "splice next-turn 1 -1 +x canceled",
        "discarded b",
        "inserted x",
        "splice next-step 1 -1 +y canceled",
        "discarded e",
        "inserted y",
    ]
    assert not agent.inbox.replace("b", message("z"))
    assert world.take() == []


def test_replacement_with_the_same_id(world: World) -> None:
    """A replacement may reuse the id that it replaces, and is one splice like any other (INBOX-REPL-02)."""
    agent = world.create()
    fill(world, agent)
    assert agent.inbox.replace("a", {**message("a"), "content": [{"type": "text", "text": "edited"}]})
    assert world.take() == ["splice next-turn 0 -1 +edited canceled", "discarded a", "inserted a"]
    with pytest.raises(DuplicateMessage):
        agent.inbox.replace("a", message("b"))


def test_remove(world: World) -> None:
    """Remove cancels exactly one message of either list, once (INBOX-REM-01)."""
    agent = world.create()
    fill(world, agent)
    fill(world, agent, "next-step", "d")
    assert agent.inbox.remove("b")
    assert agent.inbox.remove("d")
    assert pending(agent) == ("ac", "")
    world.take()
    assert not agent.inbox.remove("b")
    world.run(lambda: agent.followup(message("A")))
    assert not agent.inbox.remove("a")


def test_clear_goes_by_list(world: World) -> None:
    """Clear cancels next-step and then next-turn, each with its own notifications (INBOX-CLEAR-01)."""
    agent = world.create()
    fill(world, agent, what="QR")
    fill(world, agent, "next-step", "I")
    agent.inbox.clear()
    assert world.take() == [
        "splice next-step 0 -1 canceled",
        "discarded I",
        "splice next-turn 0 -2 canceled",
        "discarded Q",
        "discarded R",
    ]


def test_pending_ids_are_unique(world: World) -> None:
    """An id that is pending in either list, or twice in one insertion, is refused (INBOX-DUP-01, INBOX-DUP-02)."""
    agent = world.create()
    fill(world, agent, what="m")
    for attempt in (
        lambda: agent.inbox.append("next-step", message("m")),
        lambda: agent.inbox.splice("next-step", 0, 0, [message("z"), message("z")]),
    ):
        with pytest.raises(DuplicateMessage, match=r'message "[mz]" is already pending'):
            attempt()
    assert (pending(agent), world.take()) == (("m", ""), [])


def test_ids_are_free_again_once_they_left(world: World) -> None:
    """Claimed and discarded ids may be inserted again (INBOX-DUP-03)."""
    agent = world.create()
    world.run(do(lambda: agent.followup(message("M")), lambda: agent.followup(message("M"))))
    assert [row for row in world.log() if row.startswith("user/message")] == ["user/message M", "user/message M"]
    agent.inbox.append("next-turn", message("n"))
    agent.inbox.remove("n")
    agent.inbox.append("next-turn", message("n"))
    assert pending(agent)[0] == "n"


def test_notifications_come_in_list_order(world: World) -> None:
    """All discarded notifications, then all inserted ones (INBOX-NOTE-01)."""
    agent = world.create()
    fill(world, agent, "next-step", "ab")
    agent.inbox.splice("next-step", 0, 2, [message("c"), message("d")])
    assert world.take()[1:] == ["discarded a", "discarded b", "inserted c", "inserted d"]


def test_lists_hold_the_logged_copy(world: World) -> None:
    """Later changes to the caller's object have no effect (INBOX-NOTE-02)."""
    agent = world.create()
    mine = message("A")
    agent.inbox.append("next-step", mine)
    mine["content"][0]["text"] = "changed"
    assert agent.inbox.next_step[0]["content"][0]["text"] == "A"
    assert agent.inbox.next_step[0] is agent.session.events[-1]["data"]["inserted"][0]


def test_turn_boundary_claims_steering_and_one_prompt(world: World) -> None:
    """A turn claims all of next-step, then the first of next-turn, by one deletion each (INBOX-CLAIM)."""
    agent = world.create()
    fill(world, agent, what="QR")
    fill(world, agent, "next-step", "IJ")
    world.run(lambda: agent.followup(message("S")))
    rows = world.take()
    first = rows.index("turn/start 1")
    assert rows[first + 1 : first + 6] == [
        "splice next-step 0 -2",
        "splice next-turn 0 -1",
        "claimed 1 I",
        "claimed 1 J",
        "claimed 1 Q",
    ]
    assert [row for row in rows if row.startswith("> pre-step")] == [
        "> pre-step 1.1 I,J,Q",
        "> pre-step 2.1 R",
        "> pre-step 3.1 S",
    ]


def test_batch_is_fixed_by_the_claim(world: World) -> None:
    """What a claimed listener delivers is pending afterwards, and not in the batch (INBOX-CLAIM-04)."""
    agent = world.create()
    world.root.on(
        AGENT_INBOX_CLAIMED, do(lambda: agent.steer(message("S")), lambda: agent.followup(message("F"))), once=True
    )
    world.followup("A")
    assert [row for row in world.take() if row.startswith("> pre-step")] == [
        "> pre-step 1.1 A",
        "> pre-step 1.2 S",
        "> pre-step 2.1 F",
    ]


def test_operations_never_wake(world: World) -> None:
    """Appending to an idle agent leaves it idle; a running driver claims such messages (INBOX-WAKE-01)."""
    agent = world.create()
    agent.inbox.append("next-turn", message("P"))
    world.loop.settle()
    assert agent.status == "idle"
    assert world.log() == ["splice next-turn 0 +P"]
    world.model.follow(hang())
    world.run(lambda: agent.steer(message("A")))
    agent.inbox.append("next-step", message("T"))
    world.run(lambda: agent.cancel(USER, keep_inbox=True))
    assert pending(agent) == ("", "T")


def test_unknown_target(world: World) -> None:
    """A target that is none fails at once, and changes nothing (AGENT-SEND-06)."""
    agent = world.create()
    world.take()
    wrong: Any = "other"
    for attempt in (
        lambda: agent.inbox.append(wrong, message("m")),
        lambda: agent.inbox.prepend(wrong, message("m")),
        lambda: agent.inbox.splice(wrong, 0, 1),
        lambda: world.run(lambda: agent.send(message("m"), wrong, wakeup=True)),
    ):
        with suppress_type_checks(), pytest.raises(InboxError, match="no inbox list 'other': a message waits in"):
            attempt()
    assert (world.take(), agent.status) == ([], "idle")


def test_message_without_id(world: World) -> None:
    """A message that nobody could find again is refused with a remedy."""
    agent = world.create()
    with pytest.raises(InboxError, match="a message needs a text as its id"):
        agent.inbox.append("next-turn", {"role": "user", "content": []})
    with (
        suppress_type_checks(),
        pytest.raises(InboxError, match="a message is an object, not 'hello': make one by user"),
    ):
        agent.inject("hello")  # type: ignore[arg-type]


def seeded(*splices: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "agent/inbox/spliced", "seq": seq, "time": 0, "data": {"inserted": [], **splice}}
        for seq, splice in enumerate(splices)
    ]


def test_pending_input_of_a_seed_is_restored(world: World) -> None:
    """A new agent over a log has its pending input, tells nobody, and waits for a wake (INBOX-REPLAY-01)."""
    agent = world.create(seed=seeded({"target": "next-step", "start": 0, "inserted": [message("P")]}))
    assert (pending(agent), agent.status) == (("", "P"), "idle")
    assert world.take() == ["session/created a", "agent/created a", "agent/session-start a startup"]
    world.run(lambda: agent.steer(message("S")))
    assert "> pre-step 1.1 P,S" in world.take()


def test_inherited_input_is_not_restored(world: World) -> None:
    """The first seedLength events of a log are another agent's (INBOX-REPLAY-02)."""
    seed = seeded({"target": "next-turn", "start": 0, "inserted": [message("P")]})
    assert pending(world.create("fork", seed=seed, meta={"seedLength": 1})) == ("", "")
    assert pending(world.create("resumed", seed=seed)) == ("P", "")


@pytest.mark.parametrize(
    "splice",
    [
        {"target": "next-turn", "start": 1, "inserted": [message("m")]},
        {"target": "next-turn", "start": 0, "removedCount": 1},
        {"target": "next-turn", "start": -1, "inserted": [message("m")]},
        {"target": "next-turn", "start": 0.5, "inserted": [message("m")]},
        {"target": "next-turn", "start": 0, "inserted": [message("m"), message("m")]},
        {"target": "elsewhere", "start": 0, "inserted": [message("m")]},
        {"target": "next-turn", "start": 0, "inserted": [{"role": "user"}]},
    ],
)
def test_persisted_splice_that_does_not_fit(world: World, splice: dict[str, Any]) -> None:
    """A bad splice fails the construction with its place, and nothing is published (INBOX-REPLAY-03)."""
    world.take()
    with pytest.raises(InvalidInboxLog, match="invalid persisted inbox splice at session seq 0") as caught:
        world.create(seed=seeded(splice))
    assert isinstance(caught.value.__cause__, InboxError)
    assert world.take() == []
    world.create()
