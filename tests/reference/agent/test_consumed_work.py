"""The fold of consumed work reads events alone."""

from typing import Any

from dshcore.agent import fold_consumed_work
from dshcore.json import JsonObject, freeze


def log(*rows: tuple[str, dict[str, Any]]) -> list[JsonObject]:
    return [freeze({"type": kind, "seq": seq, "time": 0, "data": data}) for seq, (kind, data) in enumerate(rows)]


def start(turn: int) -> tuple[str, dict[str, Any]]:
    return "turn/start", {"turn": turn}


def step(turn: int) -> tuple[str, dict[str, Any]]:
    return "step/start", {"turn": turn, "step": 1}


def end(turn: int, kind: str) -> tuple[str, dict[str, Any]]:
    return "turn/end", {"turn": turn, "reason": {"kind": kind}}


CLAIM = ("agent/inbox/spliced", {"target": "next-turn", "start": 0, "removedCount": 1, "inserted": []})
DROP = (CLAIM[0], {**CLAIM[1], "outcome": "canceled"})
REPLACED = (CLAIM[0], {**DROP[1], "inserted": [{"id": "m"}]})
DONE = (start(1), CLAIM, step(1), end(1, "completed"))


def test_nothing_happened() -> None:
    """An empty log has no ending and dropped nothing."""
    work = fold_consumed_work([])
    assert (work.end, work.dropped_unrun) == (None, False)


def test_last_ending_that_did_or_lost_work() -> None:
    """A stepped turn counts, a claimed one unless it completed, one that claimed nothing never (WORK-FOLD-01)."""
    for turn, expected in (
        ((start(2), CLAIM, end(2, "aborted")), 2),
        ((start(2), CLAIM, end(2, "blocked")), 2),
        ((start(2), CLAIM, end(2, "unheard-of")), 2),
        ((start(2), CLAIM, end(2, "completed")), 1),
        ((start(2), end(2, "aborted")), 1),
        ((start(2), step(2), end(2, "error")), 2),
    ):
        work = fold_consumed_work(log(*DONE, *turn))
        assert work.end is not None
        assert work.end["data"]["turn"] == expected, turn


def test_claim_outside_an_open_turn_counts_for_none() -> None:
    """A suffix that begins inside a turn credits its claim to no ending (WORK-FOLD-02)."""
    assert fold_consumed_work(log(CLAIM, end(1, "aborted"))).end is None
    assert fold_consumed_work(log(CLAIM, end(1, "aborted"), start(2), end(2, "aborted"))).end is None


def test_dropped_input_counts_until_the_next_ending() -> None:
    """A cancelled message is a drop, a replacement is none (WORK-FOLD-03)."""
    assert fold_consumed_work(log(*DONE, DROP)).dropped_unrun
    assert fold_consumed_work(log(DROP)).dropped_unrun
    assert not fold_consumed_work(log(*DONE, REPLACED)).dropped_unrun
    assert not fold_consumed_work(log(DROP, *DONE)).dropped_unrun
    assert fold_consumed_work(log(DROP, start(1), CLAIM, end(1, "completed"))).dropped_unrun
