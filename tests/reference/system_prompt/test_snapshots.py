"""When the model has to be told of its runtime context."""

from collections.abc import Sequence
from typing import Any

import pytest

from dshcore.ids import SessionId
from dshcore.json import JsonObject
from dshcore.session import Session
from dshcore.system_prompt import Assembly, PromptText, SnapshotProjection

PLUGIN = "@deepseek-ai/dsh-system-prompt"
HEAD = "Current runtime context. This snapshot supersedes earlier runtime-context snapshots."
CLEARED = "Current runtime context: none. Earlier runtime-context snapshots no longer apply."


class Told:
    """A session, and a projection over it."""

    def __init__(self, seed: Sequence[object] | None = None) -> None:
        self.session = Session(SessionId("s"), seed=seed)
        self.projection = SnapshotProjection(self.session)

    def due(self, *texts: str) -> JsonObject | None:
        contexts = [PromptText(f"c{index}", text) for index, text in enumerate(texts)]
        return self.projection.due(Assembly(contexts=contexts))

    def text(self, *texts: str) -> str | None:
        """The text that is due."""
        message = self.due(*texts)
        return None if message is None else message["content"][0]["text"]

    def log(self, message: Any, **surface: Any) -> int:
        assert message is not None
        seq: int = self.session.append("user/message", message, **({"surface_op": "append"} | surface))["seq"]
        return seq

    def tell(self, *texts: str) -> int:
        """Log what is due."""
        return self.log(self.due(*texts))


@pytest.fixture
def told() -> Told:
    return Told()


def test_a_snapshot_has_its_contexts(told: Told) -> None:
    """One paragraph each behind the fixed one; the source names them (PROMPT-SNAP-01, PROMPT-CTX-01)."""
    message = told.due("one", "", "two")
    assert message is not None
    assert message["content"] == ({"type": "text", "text": f"{HEAD}\n\none\n\ntwo"},)
    sections = ({"name": "c0", "text": "one"}, {"name": "c2", "text": "two"})
    assert message["source"] == {"kind": "plugin", "plugin": PLUGIN, "form": "snapshot", "sections": sections}
    assert message["role"] == "user"


def test_a_snapshot_is_due_when_its_text_differs(told: Told) -> None:
    """From the last one in the log; names do not count (PROMPT-SNAP-02)."""
    told.tell("one")
    assert told.due("one") is None
    renamed = Assembly(contexts=[PromptText("other", "one")])
    assert told.projection.due(renamed) is None
    assert told.text("two") == f"{HEAD}\n\ntwo"


def test_empty_contexts_are_told_once(told: Told) -> None:
    """Only if there was a snapshot; a later equal text is told again (PROMPT-SNAP-03)."""
    assert told.due() is None
    told.tell("one")
    marker = told.due()
    assert marker is not None
    assert marker["content"][0]["text"] == CLEARED
    assert marker["source"] == {"kind": "plugin", "plugin": PLUGIN}
    told.log(marker)
    assert told.due() is None
    assert told.text("one") == f"{HEAD}\n\none"


def test_an_offer_counts_when_it_is_logged(told: Told) -> None:
    """Until then it is made again (PROMPT-SNAP-04)."""
    assert told.text("one") == told.text("one") == f"{HEAD}\n\none"
    told.tell("one")
    assert told.due("one") is None


def test_the_log_tells_what_was_told(told: Told) -> None:
    """Any message of that plugin counts; one that is no single text block equals no text (PROMPT-SNAP-04)."""
    message = dict(told.due("one") or {})
    told.log({**message, "content": [{"type": "text", "text": "edited"}]})
    assert told.text("one") == f"{HEAD}\n\none"
    told.log({**message, "content": [{"type": "text", "text": f"{HEAD}\n\none"}, {"type": "image"}]})
    assert told.text("one") == f"{HEAD}\n\none"
    told.log({**message, "source": {"kind": "plugin", "plugin": "other"}})
    told.log({**message, "source": {"kind": "user"}})
    told.tell("one")
    told.log({**message, "source": {"kind": "plugin", "plugin": "other"}, "content": []})
    assert told.due("one") is None


def replace(told: Told, start: int, end: int, cited: Sequence[int]) -> None:
    summary = {"id": f"sum{end}", "role": "user", "content": [], "source": {"kind": "user"}}
    told.log(summary, surface_op={"op": "replace", "start": start, "end": end}, source_event_seqs=cited)


def test_a_replaced_snapshot_is_told_again(told: Told) -> None:
    """An equal text and an empty one alike; a replacement that does not cite it changes nothing (PROMPT-SNAP-05)."""
    before = told.log({"id": "m", "role": "user", "content": [], "source": {"kind": "user"}})
    snapshot = told.tell("one")
    replace(told, before, before, [before])
    assert told.due("one") is None
    replace(told, snapshot, snapshot, [snapshot])
    assert (told.text("one"), told.text()) == (f"{HEAD}\n\none", CLEARED)


def test_a_projection_over_a_log_goes_on_where_it_stands(told: Told) -> None:
    """The last one visible is retained; where none is, it is told again (PROMPT-SNAP-06)."""
    told.tell("one")
    told.tell("two")
    again = Told(list(told.session.events))
    assert (again.due("two"), again.text("one")) == (None, f"{HEAD}\n\none")
    replace(told, 0, 1, [0, 1])
    gone = Told(list(told.session.events))
    assert (gone.text("two"), gone.text()) == (f"{HEAD}\n\ntwo", CLEARED)


def test_an_earlier_one_may_be_the_last_visible(told: Told) -> None:
    """What was replaced does not count when a log is taken over (PROMPT-SNAP-06)."""
    told.tell("one")
    last = told.tell("two")
    replace(told, last, last, [last])
    assert told.text("one") == f"{HEAD}\n\none"
    assert Told(list(told.session.events)).due("one") is None


def test_each_event_is_read_once(told: Told) -> None:
    """What a projection costs does not grow with the log."""
    reads: list[int] = []
    events = type(told.session).events

    class Counting:
        def __init__(self) -> None:
            self._events = events.fget(told.session)  # type: ignore[attr-defined]

        def __len__(self) -> int:
            return len(self._events)

        def __getitem__(self, seq: int) -> Any:
            reads.append(seq)
            return self._events[seq]

    told.projection._session = type("S", (), {"events": property(lambda _: Counting())})()
    for index in range(3):
        told.log({"id": f"m{index}", "role": "user", "content": [], "source": {"kind": "user"}})
        told.due("one")
    assert reads == [0, 1, 2]
