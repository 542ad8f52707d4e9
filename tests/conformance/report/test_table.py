"""The table says everything that decides the verdict, and fits 80 columns."""

import io
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from tests.conformance.running.judging import FakeCheck, clause, failure, hello

from dshconform.links.link import AdapterFault
from dshconform.protocol.messages import Hello
from dshconform.report.table import print_report
from dshconform.running.check import Outcome
from dshconform.running.ledger import Deviation, Ledger
from dshconform.running.run import RunResult
from dshconform.running.verdict import judge
from dshconform.spec.clause import Level, Profile

SPECIFICATION = [
    *(clause(f"LOOP-OPEN-{number:02}") for number in range(1, 91)),
    clause("LOOP-STEP-01", Level.SHOULD),
    clause("SCHED-PAR-01", profile=Profile.TOOLS),
    clause("WAKE-GAP-01"),
    *(clause(f"PER-LRU-{number:02}") for number in range(1, 100)),
    *(clause(f"PER-ROW-{number:02}") for number in range(1, 100)),
]
LOOP = tuple(one.id for one in SPECIFICATION[:91])
FIRST = FakeCheck("scenario/first", LOOP)
SECOND = FakeCheck("scenario/second", ("WAKE-GAP-01",), contract="wake latch")
TOOLS = FakeCheck("scenario/tools", ("SCHED-PAR-01",), contract="tools", profile="tools")
CHECKS = (FIRST, SECOND, TOOLS)
HELD = Outcome(check="scenario/first", held=dict.fromkeys(LOOP, 1), examples=1, commands=30)
ALSO = Outcome(check="scenario/second", held={"WAKE-GAP-01": 1}, examples=2, commands=12)


def printed(
    *outcomes: Outcome,
    selected: Sequence[FakeCheck] = CHECKS,
    ledger: Ledger | None = None,
    declared: Hello | None = None,
    fault: AdapterFault | None = None,
) -> str:
    """What is printed of a run; no line of it is longer than 80 columns."""
    declared = declared or hello()
    judgement = judge(
        specification=SPECIFICATION,
        checks=CHECKS,
        selected=selected,
        outcomes=outcomes,
        hello=declared,
        ledger=ledger or Ledger(),
        complete=fault is None,
    )
    result = RunResult(
        hello=declared,
        selected=tuple(selected),
        outcomes=list(outcomes),
        judgement=judgement,
        ledger=ledger or Ledger(),
        seed=1,
        examples=1,
        fault=fault,
    )
    console = Console(file=io.StringIO(), width=80, highlight=False, soft_wrap=True)
    print_report(console, result)
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert max(map(len, lines)) <= 80
    return "\n".join(" ".join(line.split()) for line in lines)


def entry(after: str = "stop", **changes: str) -> Deviation:
    members = {"clause": "LOOP-OPEN-01", "check": "scenario/first", "reason": "It does otherwise.", **changes}
    if after == "variant":
        return Deviation(**members, after="variant", variant="switch", reviewed="2026-01-01")
    return Deviation(**members, after="stop", at="log turn/start", found=1, reviewed="2026-01-01")


def test_what_held() -> None:
    """Each contract and each group has its line; the counts are one line; the verdict is the last."""
    text = printed(HELD, ALSO)
    assert "turn 1 1 30 held\nwake latch 1 2 12 held" in text
    assert "LOOP-OPEN 90 · · · · 90\n" in text
    assert "\n290 must clauses: 91 pass, 0 fail, 0 deviation, 1 not run, 198 unchecked\n" in text
    assert text.endswith("\nverdict: conformant")


def test_groups_of_which_nothing_is_said_are_counted_by_why() -> None:
    """No check, not declared and not selected are three things."""
    text = printed(HELD, ALSO)
    assert "2 more, no check · · · · 198 198" in text
    assert "1 more, not declared · · · 1 · 1" in text
    part = printed(ALSO, selected=(SECOND,))
    assert "2 more, no check · · · · 198 198" in part
    assert "3 more, not selected · · · 91 · 91" in part


def test_a_partial_run_says_so() -> None:
    """A verdict over some of the checks is told from one over all."""
    assert printed(ALSO, selected=(SECOND,)).endswith("verdict: conformant (partial run: 1 of 3 checks)")


def test_what_is_not_declared_is_named() -> None:
    """With the number of checks that need it; without any check that ran, the verdict is unknown."""
    assert "checks that need what is not declared\nprofile tools is not declared (1)\n" in printed(HELD, ALSO)
    assert "not declared (" not in printed(HELD, ALSO, Outcome(check="scenario/tools"), declared=hello("core", "tools"))
    none = printed(declared=hello("context"))
    assert "profile core is not declared (2)\n" in none
    assert none.endswith("verdict: unknown")


def test_a_stale_deviation_is_told() -> None:
    """A run that fails over an entry that was not met names the entry and what to do."""
    for stale, title in ((entry(), "LOOP-OPEN-01 at log turn/start"), (entry("variant"), "LOOP-OPEN-01 as switch")):
        text = printed(HELD, ALSO, ledger=Ledger([stale]))
        assert f"stale deviations, no longer met\n{title} (scenario/first): remove it from the ledger\n" in text
        assert text.endswith("verdict: not-conformant")
    assert "stale" not in printed(HELD, ALSO)


def test_a_listed_deviation_is_told_with_its_reason() -> None:
    """It is no pass: it stands in its own column, and in the verdict."""
    text = printed(replace(HELD, stopped=1), ALSO, ledger=Ledger([entry()], {0: 1}))
    assert "turn 1 1 30 1 stopped" in text
    assert "listed deviations\nLOOP-OPEN-01 at log turn/start (stop): It does otherwise.\n" in text
    assert "LOOP-OPEN 89 · 1 · · 90" in text
    assert text.endswith("verdict: conformant-with-deviations")


def test_a_should_that_is_not_followed_is_advice() -> None:
    """It is no failure, neither of its contract nor in the counts; a must is one."""
    advised = replace(HELD, failures=[failure("LOOP-STEP-01")])
    text = printed(advised, ALSO)
    assert "turn 1 1 30 1 with advice" in text
    assert "failed" not in text
    assert "\nadvice\nLOOP-STEP-01: scenario/first: place differs\n" in text
    assert text.endswith("verdict: conformant")
    failed = printed(replace(HELD, failures=[failure("LOOP-OPEN-02")]), ALSO)
    assert "turn 1 1 30 1 failed" in failed
    assert "LOOP-OPEN 89 1 · · · 90" in failed


def test_clauses_that_were_blamed_together_are_told() -> None:
    """The first fails, and of the other it is said why nothing is known."""
    text = printed(replace(HELD, failures=[failure("LOOP-OPEN-02", "LOOP-OPEN-03")]), ALSO)
    assert "not run\nblamed together with LOOP-OPEN-02: LOOP-OPEN-03\n" in text


def test_a_run_that_was_cut_short() -> None:
    """The check that was under way and those that did not begin are told, and the verdict is unknown."""
    fault = AdapterFault("died", "it ended", "look at it")
    text = printed(replace(HELD, cut_short=True, held={"LOOP-OPEN-01": 1}), fault=fault)
    assert "turn 1 1 30 cut short" in text
    assert "wake latch 1 0 0 1 not run" in text
    assert "the run was cut short: LOOP-OPEN-02, LOOP-OPEN-03," in text
    assert text.endswith("verdict: unknown")


def test_the_worlds_of_a_table_that_did_not_hold_are_listed() -> None:
    """Each with what it said."""
    cells = {"idle - send": "held", "streaming - send": "failed", "idle - cancel": "stopped"}
    text = printed(replace(HELD, cells=cells), ALSO)
    assert "scenario/first: 1 of 3 worlds held\nfailed: streaming - send\nstopped: idle - cancel\n" in text
