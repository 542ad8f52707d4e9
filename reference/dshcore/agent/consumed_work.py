"""What an agent's log says about the work that was given to it, read off its events alone."""

from collections.abc import Iterable
from dataclasses import dataclass

from dshcore.session import SessionEvent


@dataclass(frozen=True, slots=True)
class ConsumedWork:
    """How the last work ended, and whether some was dropped since.

    Attributes:
        end: The `turn/end` event of the last turn that did or lost work; none if there is none.
        dropped_unrun: Whether pending messages were cancelled after it.
    """

    end: SessionEvent | None
    dropped_unrun: bool


def fold_consumed_work(events: Iterable[SessionEvent]) -> ConsumedWork:
    """Fold what became of an agent's work.

    A turn counts when it opened a step, or claimed input and ended otherwise than `completed`.

    Args:
        events: A log, or the end of one.

    Returns:
        The fold.

    Spec:
        WORK-FOLD-01, WORK-FOLD-02, WORK-FOLD-03
    """
    end: SessionEvent | None = None
    dropped = False
    turn_open = stepped = claimed = False
    for event in events:
        data = event["data"]
        match event["type"]:
            case "turn/start":
                turn_open, stepped, claimed = True, False, False
            case "step/start":
                stepped = True
            case "agent/inbox/spliced" if data.get("removedCount"):
                if data.get("outcome") == "canceled":
                    dropped = dropped or not data["inserted"]  # WORK-FOLD-03: a replacement is no drop
                elif "outcome" not in data:
                    claimed = claimed or turn_open  # WORK-FOLD-02
            case "turn/end":
                if stepped or (claimed and data["reason"]["kind"] != "completed"):
                    end, dropped = event, False
                turn_open = stepped = claimed = False
            case _:
                pass
    return ConsumedWork(end, dropped)
