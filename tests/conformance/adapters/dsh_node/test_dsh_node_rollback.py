"""Histories of the rollback contract in which a creation ends for two reasons, on the published packages."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pytest

from dshconform.adapters.catalog import IMPLEMENTATIONS
from dshconform.checks.catalog import VARIANTS, all_checks
from dshconform.contracts import rollback_commands as write
from dshconform.contracts.replay import replay_commands
from dshconform.contracts.rollback import RollbackModel
from dshconform.contracts.rollback_commands import (
    ANNOUNCEMENTS,
    LOOP,
    OWNER,
    aborted,
    aborted_by,
    cleanup,
    closed,
    created,
    on,
    sent,
    top,
    within,
)
from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap
from dshconform.running.ledger import read_ledger
from dshconform.spec.specification import load_specification

if TYPE_CHECKING:
    from dshconform.links.subprocess import SubprocessLink

pytestmark = pytest.mark.node

OWNER_CLOSES: Final = [
    write.open_owner(),
    top(
        created(
            "a1",
            on("a1", "session/created", aborted(), name="on1"),
            on("a1", "session/created", closed("c1"), name="on2"),
            more={**within(OWNER), **aborted_by("s")},
        )
    ),
]
LOOP_CLOSES: Final = [
    [
        top(
            created(
                "a1",
                cleanup("a1"),
                on("a1", event, closed("c1", LOOP), name="on1"),
                on("a1", event, sent("a1", "m1"), name="on2"),
                on("a1", event, aborted(), name="on3"),
                more=aborted_by("s"),
            )
        )
    ]
    for event in ANNOUNCEMENTS
]


def assert_follows(link: Link, history: Sequence[JsonMap]) -> None:
    """The packages do what the model says, in the variants and with the differences that their ledger lists."""
    ledger = read_ledger(
        IMPLEMENTATIONS["dsh-node"].ledger,
        load_specification().clauses,
        [check.name for check in all_checks()],
        VARIANTS,
    )
    model = RollbackModel(frozenset(ledger.variants()) & frozenset(RollbackModel.variants))
    example = replay_commands(model, history, link, ledger)
    assert len(example.performed) == len(history)
    assert example.difference is None


def test_an_owner_that_closes_behind_an_abort_need_not_wait(dsh_node: "SubprocessLink") -> None:
    """The abort began the rollback, not the closing (LIFE-OWN-07)."""
    assert_follows(dsh_node, OWNER_CLOSES)


@pytest.mark.parametrize("history", LOOP_CLOSES, ids=ANNOUNCEMENTS)
def test_a_loop_that_closes_before_an_abort_unwinds_first(
    dsh_node: "SubprocessLink", history: Sequence[JsonMap]
) -> None:
    """As wherever else it closes while a driver is at work: the scope goes first (LIFE-DISP-01, listed)."""
    assert_follows(dsh_node, history)
