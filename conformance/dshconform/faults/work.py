"""Faults of the fold of consumed work."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore.agent import consumed_work

WORK_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "any-turn-accounts",
        "WORK-FOLD-01",
        "The last turn counts, whether it did anything or not.",
        edit(
            consumed_work,
            "fold_consumed_work",
            ('if stepped or (claimed and data["reason"]["kind"] != "completed"):', "if True:"),
        ),
    ),
    Fault(
        "emptied-turn-accounts",
        "WORK-FOLD-01",
        "A turn that claimed input and completed without a step counts.",
        edit(consumed_work, "fold_consumed_work", ('(claimed and data["reason"]["kind"] != "completed")', "claimed")),
    ),
    Fault(
        "claim-outside-a-turn-counts",
        "WORK-FOLD-02",
        "A claim outside an open turn is credited to the next ending.",
        edit(consumed_work, "fold_consumed_work", ("claimed = claimed or turn_open", "claimed = True")),
    ),
    Fault(
        "cancelled-removal-is-a-claim",
        "WORK-FOLD-02",
        "A removal that was a cancellation counts as a claim.",
        edit(consumed_work, "fold_consumed_work", ('elif "outcome" not in data:', "if True:")),
    ),
    Fault(
        "replacement-is-dropped-work",
        "WORK-FOLD-03",
        "A replacement counts as dropped work.",
        edit(consumed_work, "fold_consumed_work", ('dropped or not data["inserted"]', "True")),
    ),
    Fault(
        "drop-is-never-forgotten",
        "WORK-FOLD-03",
        "Dropped work is told of although a turn has ended since.",
        edit(consumed_work, "fold_consumed_work", ("end, dropped = event, False", "end = event")),
    ),
)
