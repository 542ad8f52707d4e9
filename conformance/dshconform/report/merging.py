"""Merging: the parts of a divided run become one run, and are judged as one."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dshconform.links.link import AdapterFault
from dshconform.protocol.messages import PROTOCOL_VERSION, Hello
from dshconform.report.entries import Report, Versions
from dshconform.report.json_report import versions
from dshconform.running.check import Check, Failure, Outcome
from dshconform.running.ledger import Ledger
from dshconform.running.run import RunResult, judged
from dshconform.running.shard import WHOLE, Shard
from dshconform.spec.clause import Clause


class MergeError(ValueError):
    """Reports that do not belong together, with what differs and the remedy."""


@dataclass(frozen=True, slots=True)
class Part:
    """The report of one part of a divided run.

    Args:
        name: Its file, for errors.
        report: What it says.
    """

    name: str
    report: Report

    @property
    def number(self) -> int:
        """Which part it is, from 1 on."""
        assert self.report.shard is not None
        return self.report.shard.number


_SAME: Final[Mapping[str, Callable[[Report], object]]] = {
    "suite": lambda one: one.versions.suite,
    "specification": lambda one: one.versions.specification,
    "set of clauses": lambda one: one.versions.clauses,
    "implementation": lambda one: f"{one.implementation.name} {one.implementation.version}",
    "profiles": lambda one: ", ".join(one.profiles),
    "features": lambda one: ", ".join(one.features),
    "seed": lambda one: one.seed,
    "number of examples": lambda one: one.examples,
    "selection of checks": lambda one: ", ".join(one.selected),
    "number of shards": lambda one: None if one.shard is None else one.shard.of,
    "ledger": lambda one: [entry.entry for entry in one.ledger],
}
"""What all parts must have in common."""

_LONG: Final = 60


def merge(
    parts: Sequence[Part], *, specification: Sequence[Clause], checks: Sequence[Check], shard: Shard = WHOLE
) -> RunResult:
    """Join parts into the run that was divided, and judge it.

    Args:
        parts: All of them, in any order.
        specification: All clauses.
        checks: All checks that exist.
        shard: What was divided: the whole run, or itself one part of one.

    Returns:
        The run, judged as if it had never been divided.

    Raises:
        MergeError: They are not the parts of one run, or not all of them, or another suite has made them.
    """
    _agree(parts)
    _all_there(parts, shard)
    parts = sorted(parts, key=lambda part: part.number)
    first = parts[0].report
    named = {check.name: check for check in checks}
    hello = Hello(
        protocol=PROTOCOL_VERSION,
        implementation=first.implementation,
        profiles=first.profiles,
        features=first.features,
    )
    return judged(
        hello=hello,
        specification=specification,
        checks=checks,
        selected=[named[name] for name in first.selected],
        outcomes=_outcomes(parts, [named[name] for name in first.selected], shard),
        ledger=_ledger(parts),
        seed=first.seed,
        examples=first.examples,
        shard=shard,
        fault=next((_fault(part.report) for part in parts if part.report.footer.fault is not None), None),
        interrupted=any(part.report.footer.interrupted for part in parts),
        behind_budget=any(part.report.footer.behind_budget for part in parts),
    )


def _agree(parts: Sequence[Part]) -> None:
    first = parts[0]
    for part in parts:
        if part.report.shard is None:
            raise MergeError(
                f"{part.name} is of a whole run: only the reports of shards (`run --shard k/n`) are merged"
            )
        for what, of in _SAME.items():
            if of(part.report) != of(first.report):
                values = " and ".join(f"{_brief(of(one.report))} in {one.name}" for one in (first, part))
                raise MergeError(f"the reports differ in their {what}: {values}; run all shards alike")
    made, ours = first.report.versions, versions()
    if made != ours:
        raise MergeError(
            f"{first.name} was made by {_said(made)}; this is {_said(ours)}: merge it with the suite that made it"
        )


def _said(made: Versions) -> str:
    return f"suite {made.suite} for specification {made.specification} (clauses {made.clauses})"


def _brief(value: object) -> str:
    text = str(value) or "none"
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"


def _all_there(parts: Sequence[Part], shard: Shard) -> None:
    of = parts[0].report.shard
    assert of is not None
    given = Counter(part.number for part in parts)
    twice = [number for number, times in given.items() if times > 1]
    if twice:
        files = ", ".join(part.name for part in parts if part.number == twice[0])
        raise MergeError(f"shard {twice[0]}/{of.of} is given {given[twice[0]]} times ({files}): give each once")
    missing = [Shard(number, of.of) for number in range(shard.number, of.of + 1, shard.of) if number not in given]
    if missing:
        told = ", ".join(map(str, missing))
        raise MergeError(f"shards are missing: {told}; run them with `--shard` and merge all {of.of}")


def _outcomes(parts: Sequence[Part], selected: Iterable[Check], shard: Shard) -> list[Outcome]:
    failures: dict[tuple[int, str], list[Failure]] = {}
    for part in parts:
        for entry in part.report.failures:
            failures.setdefault((part.number, entry.check), []).append(entry.failure())
    joined: list[Outcome] = []
    for check in selected:
        said = [
            entry.outcome(failures.get((part.number, check.name), ()))
            for part in parts
            for entry in part.report.checks
            if entry.name == check.name
        ]
        if said:
            joined.append(join(check, said, parts=len(parts), shard=shard))
    return joined


def join(check: Check, said: Sequence[Outcome], *, parts: int, shard: Shard = WHOLE) -> Outcome:
    """Join what the parts of a run have said of one check.

    Args:
        check: What the parts have shared, if it can be divided.
        said: What those said that began it, at least one.
        parts: How many parts there are.
        shard: What was divided.

    Returns:
        What the check says of all worlds; of a check that is not divisible, what the one part said that ran it.
    """
    if not check.divisible:
        return said[0]
    whole = Outcome(check=check.name, cut_short=len(said) < parts or any(one.cut_short for one in said))
    for one in said:
        whole.failures += one.failures
        whole.stopped += one.stopped
        whole.examples += one.examples
        whole.commands += one.commands
        whole.prologues += one.prologues
        whole.suite_fault = whole.suite_fault or one.suite_fault
        for counts, more in ((whole.held, one.held), (whole.grid, one.grid)):
            for key, times in more.items():
                counts[key] = counts.get(key, 0) + times
        for clause, index in one.blamed.items():
            whole.blamed[clause] = min(index, whole.blamed.get(clause, index))
    if shard.whole:
        check.conclude(whole)
    return whole


def _ledger(parts: Sequence[Part]) -> Ledger:
    met: dict[int, int] = {}
    for part in parts:
        for at, entry in enumerate(part.report.ledger):
            if entry.met:
                met[at] = met.get(at, 0) + entry.met
    return Ledger([entry.entry for entry in parts[0].report.ledger], dict(sorted(met.items())))


def _fault(report: Report) -> AdapterFault:
    fault = report.footer.fault
    assert fault is not None
    wire_log = None if fault.wire_log is None else Path(fault.wire_log)
    return AdapterFault(fault.kind, fault.message, fault.remedy, wire_log, fault.promise)
