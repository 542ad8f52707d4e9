"""Two worlds that did the same show the same rows, whatever their implementations call things."""

from dshconform.diff.normal import Names
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.macros import message


def normal(*rows: JsonMap, known: frozenset[str] = frozenset(), sent: Json = None) -> list[JsonMap]:
    names = Names(known)
    names.send("op", {"value": sent})
    main, late = names.normal(rows)
    return [*main, *late]


def logged(kind: str, data: Json, **members: Json) -> JsonMap:
    event: JsonMap = {"type": kind, "seq": 3, "time": 1_800_000_000_000, "data": data, **members}
    return {"on": "log", "session": "a", "event": event}


def reply(identity: str) -> JsonMap:
    return logged("assistant/message", {"message": {"id": identity, "role": "assistant", "content": []}})


def test_ids_that_nobody_sent_are_called_by_their_order() -> None:
    """Ids of messages, wherever they are shown again; ids of gates and of fibers."""
    rows: list[list[JsonMap]] = [
        [
            reply(first),
            {"on": "gate", "gate": gate, "kind": "model/stream", "payload": {"messages": [{"id": first}]}},
            reply(second),
            {"on": "closed", "gate": gate, "why": "left"},
            {"on": "status", "owner": "o", "id": fiber, "to": "active"},
            {"on": "return", "op": "owner.state", "result": {"state": "active", "id": fiber}},
        ]
        for first, second, gate, fiber in (("x1", "x2", "g1", 7), ("8", "9", "call-0", "f"))
    ]
    assert normal(*rows[0]) == normal(*rows[1])
    assert normal(*rows[0])[0] != normal(*rows[0])[2]


def test_ids_that_the_suite_sent_stay() -> None:
    """A message of the suite under another id is a difference."""
    assert normal(logged("user/message", message("A")), sent=message("A"))[0]["event"]["data"]["id"] == "A"  # type: ignore[call-overload,index]


def test_times_and_uuids_are_nobodys_choice() -> None:
    """A moment of the clock anywhere, and a universal id inside a text; small numbers stay."""
    one, other = (
        normal({"on": "return", "op": "x", "result": {"createdAt": at, "name": f"main-{uuid}", "again": uuid, "n": 5}})
        for at, uuid in (
            (1_700_000_000_001, "e7998e58-571a-4f16-b982-03438c7077b6"),
            (1_900_000_000_002, "02d2da5d-4578-4385-9c3b-6b67653da7ce"),
        )
    )
    assert one == other
    assert one[0]["result"]["n"] == 5  # type: ignore[call-overload,index]


def test_nothing_has_one_form() -> None:
    """A language with two empty values shows what one with one shows."""
    shown: list[JsonMap] = [
        {"on": "return", "op": "x", "result": [nothing]} for nothing in (None, {"$value": "undefined"})
    ]
    assert normal(shown[0]) == normal(shown[1])


def test_what_may_stand_anywhere_is_told_apart_or_not_at_all() -> None:
    """The return of an asynchronous operation says nothing; a task is told late, behind what came after it."""
    task: JsonMap = {"on": "task", "task": "t", "value": None}
    turn = logged("turn/start", {"turn": 1})
    returned: JsonMap = {"on": "return", "op": "agent.create", "result": None}
    assert normal(returned, task, turn) == normal(turn, task)
    assert normal({**returned, "error": {}}, turn) != normal(turn)
    assert normal({**returned, "op": "agent.inspect"}, turn) != normal(turn)


def test_what_a_ledger_accepts_in_an_event_is_left_out_wherever_the_event_is_shown() -> None:
    """In its row, and where a log is read."""
    known = frozenset({"log turn/end.event.data.reason"})
    for event in (logged("turn/end", {"turn": 1, "reason": {"kind": kind}})["event"] for kind in ("aborted", "error")):
        row: JsonMap = {"on": "return", "op": "session.read", "result": {"events": [event]}}
        assert normal(row, known=known)[0]["result"]["events"][0]["data"] == {"turn": 1}  # type: ignore[call-overload,index]
    assert "reason" in str(normal(logged("turn/start", {"reason": 1}), known=known))


def test_the_tasks_of_commands_are_known_by_what_started_them() -> None:
    """Also those of commands inside bursts, scripts and functions."""
    names = Names()
    names.send("agent.create", {"task": "t1", "agent": "a"})
    names.send("burst", {"do": [{"op": "agent.whenIdle", "args": {"agent": "a", "task": "t2"}}]})
    assert names.tasks == {"t1": "agent.create", "t2": "agent.whenIdle"}
