"""The parts of a divided run are joined only if they belong together, and judged as one run."""

from collections.abc import Sequence

import msgspec
import pytest
from tests.conformance.running.judging import FakeCheck, clause, failure, hello

from dshconform.report.entries import Report
from dshconform.report.json_report import as_report
from dshconform.report.merging import MergeError, Part, merge
from dshconform.running.check import Outcome
from dshconform.running.ledger import Deviation, Ledger
from dshconform.running.run import RunResult, judged
from dshconform.running.shard import Shard
from dshconform.running.verdict import Status, Verdict

SPECIFICATION = (clause("A-A-01"), clause("B-B-01"))
ONE = FakeCheck("scenario/one", ("A-A-01",))
MACHINE = FakeCheck("machine/two", ("A-A-01", "B-B-01"), divisible=True)
CHECKS = (ONE, MACHINE)
LISTED = Deviation(
    clause="B-B-01", check="machine/two", at="place", found=1, after="accept", reason="why", reviewed="2026-01-01"
)


def part(number: int, *outcomes: Outcome, of: int = 2, met: int = 0, seed: int = 1, examples: int = 4) -> Part:
    """The report of one shard."""
    result = judged(
        hello=hello(),
        specification=SPECIFICATION,
        checks=CHECKS,
        selected=CHECKS,
        outcomes=list(outcomes),
        ledger=Ledger([LISTED], {0: met} if met else {}),
        seed=seed,
        examples=examples,
        shard=Shard(number, of),
    )
    return Part(f"{number}.json", as_report(result, spelled="-i fake", replays={}, seconds=1))


def merged(*parts: Part) -> RunResult:
    return merge(parts, specification=SPECIFICATION, checks=CHECKS)


def statuses(result: RunResult) -> list[Status]:
    return [one.status for one in result.judgement.clauses]


def machine(**members: object) -> Outcome:
    return Outcome(check="machine/two", **members)  # type: ignore[arg-type]


HELD = Outcome(check="scenario/one", held={"A-A-01": 1}, examples=1, commands=3)


def test_shards_are_judged_together() -> None:
    """What each has seen counts; a deviation that one of them met has not gone."""
    one = part(1, HELD, machine(held={"B-B-01": 2}, examples=2, commands=10, grid={"x": 1, "y": 0}))
    two = part(2, machine(held={"B-B-01": 3}, examples=2, commands=7, grid={"x": 1, "y": 4}), met=2)
    assert (one.report.verdict, two.report.verdict) == ("unknown", "unknown")
    result = merged(two, one)
    assert statuses(result) == [Status.PASS, Status.DEVIATION]
    assert result.judgement.verdict is Verdict.WITH_DEVIATIONS
    joined = result.outcomes[1]
    assert [outcome.check for outcome in result.outcomes] == ["scenario/one", "machine/two"]
    assert (joined.held, joined.examples, joined.commands) == ({"B-B-01": 5}, 4, 17)
    assert joined.grid == {"x": 2, "y": 4}
    assert result.complete
    assert result.shard.whole


def test_a_deviation_that_no_shard_met_has_gone() -> None:
    """That is known only now."""
    one, two = part(1, HELD, machine(held={"B-B-01": 2})), part(2, machine())
    assert one.report.stale_deviations == two.report.stale_deviations == []
    assert merged(one, two).judgement.stale == (LISTED,)


def test_a_failure_of_one_shard_fails_the_run() -> None:
    """Its shard says so already."""
    one, two = part(1, HELD, machine()), part(2, machine(failures=[failure("B-B-01")]), met=1)
    assert two.report.verdict == "not-conformant"
    result = merged(one, two)
    assert result.judgement.verdict is Verdict.NOT_CONFORMANT
    assert [failure.difference.sentence for failure in result.outcomes[1].failures] == ["place differs"]


@pytest.mark.parametrize(
    "footer",
    [{"interrupted": True}, {"fault": {"kind": "died", "message": "m", "remedy": "r"}}, {"behind_budget": True}],
)
def test_a_shard_that_was_cut_short_leaves_the_run_incomplete(footer: dict[str, object]) -> None:
    """By what, is told as for one run."""
    one = part(1, HELD, machine(held={"B-B-01": 2}))
    two = part(2, machine(cut_short=True), met=1)
    changed = msgspec.convert({**msgspec.to_builtins(two.report.footer), **footer}, type(two.report.footer))
    result = merged(one, Part("2.json", msgspec.structs.replace(two.report, footer=changed)))
    assert not result.complete
    assert result.judgement.verdict is Verdict.UNKNOWN
    assert result.interrupted is ("interrupted" in footer)
    assert (result.fault is not None) is ("fault" in footer)
    assert result.behind_budget is ("behind_budget" in footer)
    assert [outcome.cut_short for outcome in result.outcomes] == [False, True]


def test_a_shard_that_did_not_reach_a_machine_cuts_it_short() -> None:
    """Its share is missing."""
    result = merged(part(1, HELD, machine(held={"B-B-01": 1})), part(2))
    assert result.outcomes[1].cut_short
    assert not result.complete


def changed(one: Part, **members: object) -> Part:
    return Part(one.name, msgspec.structs.replace(one.report, **members))


def versioned(one: Part, **members: object) -> Part:
    return changed(one, versions=msgspec.structs.replace(one.report.versions, **members))


FIRST, SECOND = part(1, HELD), part(2)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((FIRST, part(2, seed=2)), "differ in their seed: 1 in 1.json and 2 in 2.json; run all shards alike"),
        ((FIRST, part(2, examples=9)), "differ in their number of examples: 4 in 1.json and 9 in 2.json"),
        ((FIRST, part(2, of=3)), "differ in their number of shards: 2 in 1.json and 3 in 2.json"),
        ((FIRST, changed(SECOND, selected=["scenario/one"])), "differ in their selection of checks"),
        ((FIRST, changed(SECOND, ledger=[])), "differ in their ledger"),
        ((FIRST, changed(SECOND, profiles=["core", "tools"])), "profiles: core in 1.json and core, tools in 2.json"),
        ((FIRST, versioned(SECOND, clauses="other")), "differ in their set of clauses"),
        ((versioned(FIRST, suite="9"), versioned(SECOND, suite="9")), "merge it with the suite that made it"),
        ((FIRST,), "shards are missing: 2/2; run them with `--shard` and merge all 2"),
        ((FIRST, SECOND, FIRST), "shard 1/2 is given 2 times (1.json, 1.json): give each once"),
        ((changed(FIRST, shard=None), SECOND), "1.json is of a whole run: only the reports of shards"),
    ],
)
def test_what_does_not_belong_together_is_refused(parts: Sequence[Part], message: str) -> None:
    """What differs is named, with both values and the remedy."""
    with pytest.raises(MergeError) as caught:
        merged(*parts)
    assert message in str(caught.value)


def test_a_shard_that_was_divided_is_joined_to_itself() -> None:
    """The second of three, in two parts: there is still no verdict."""
    parts = [part(number, machine(held={"B-B-01": 1}), of=6) for number in (2, 5)]
    result = merge(parts, specification=SPECIFICATION, checks=CHECKS, shard=Shard(2, 3))
    assert result.shard == Shard(2, 3)
    assert result.judgement.verdict is Verdict.UNKNOWN
    assert as_read(result).shard == msgspec.structs.replace(parts[0].report.shard, number=2, of=3)  # type: ignore[type-var]


def as_read(result: RunResult) -> Report:
    return as_report(result, spelled="", replays={}, seconds=0)
