"""A failure as a person reads it: clause, commands, expected and observed, the first difference, how to replay."""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.report.text import WIDTH, wrapped
from dshconform.running.blame import whose
from dshconform.running.check import Failure
from dshconform.running.step import Step
from dshconform.spec.clause import Clause
from dshconform.trace.compare import Alignment
from dshconform.trace.pattern import Difference
from dshconform.trace.rows import compact

_AROUND: Final = 5
_BEFORE: Final = 12
"""Characters before the place where two lines part, and of what stands there."""
_SEEN: Final = 12
_OPENING: Final = frozenset({"world.open", "model.register"})


def failure_lines(failure: Failure, clauses: Mapping[str, Clause], replay: str | None) -> Iterator[str]:
    """Write a failure as lines of at most 80 columns, but for a word that is longer and the line that replays it.

    Args:
        failure: The failure.
        clauses: The specification's clauses, by id.
        replay: The command line that replays it.
    """
    yield from blamed_lines(failure.difference, clauses)
    fault, why = whose(failure, clauses)
    yield from wrapped(f"fault: {fault} ({why})", "  ", hanging="  ")
    yield ""
    shown = [step for step in failure.steps if step.op not in _OPENING]
    more = f", minimised from {failure.found_after}" if failure.found_after > len(failure.steps) else ""
    yield f"  commands ({len(shown)}{more})"
    for number, step in enumerate(shown, 1):
        yield from wrapped(f"{number}. {step_line(step)}", "    ", hanging="   ")
    yield ""
    yield from difference_lines(failure.difference)
    if failure.rows.pairs:
        yield ""
        yield from side_by_side(failure.rows)
    if failure.reproduced is None:
        yield ""
        yield from wrapped("not tried again, and not minimised: the run was cut short", "  ")
    elif not failure.reproduced:
        yield ""
        yield from wrapped(
            "not deterministic: the same commands, sent again to a fresh world, did not lead to this difference", "  "
        )
        if failure.again.pairs:
            yield ""
            yield from side_by_side(failure.again)
    if replay is not None:
        yield ""
        yield f"  replay: {replay}"


def blamed_lines(difference: Difference, clauses: Mapping[str, Clause]) -> Iterator[str]:
    """Write the clauses that a difference violates, with their text."""
    for clause_id in difference.clauses:
        clause = clauses[clause_id]
        yield f"{clause.id} · {clause.level} · {clause.profile}"
        yield from wrapped(" ".join(clause.text.split()), "  ")
    if not difference.clauses:
        yield from wrapped("no clause is blamed: something that the check needs first did not work", "")


def difference_lines(difference: Difference) -> Iterator[str]:
    """Write a difference: the sentence, what was expected there, what was observed."""
    yield from wrapped(f"first difference: {difference.sentence}", "  ")
    yield from wrapped(f"expected  {_shown(difference.expected)}", "    ", hanging="          ")
    yield from wrapped(f"observed  {_shown(difference.observed)}", "    ", hanging="          ")


def step_line(step: Step) -> str:
    """Write a step's command on one line."""
    return command_line({"do": step.op, "args": step.args})


def command_line(command: JsonMap) -> str:
    """Write a command, as scenarios have it, on one line."""
    args = command.get("args")
    members = [f"{key}={compact(value)}" for key, value in args.items()] if isinstance(args, Mapping) else []
    return " ".join([str(command["do"]), *members])


def side_by_side(rows: Alignment) -> Iterator[str]:
    """Write expected and observed rows beside each other, the first pair that differs marked with `>`.

    Rows far from it are left out, with their number.
    """
    column = (WIDTH - 6) // 2
    first = len(rows.pairs) - 1 if rows.first is None else rows.first
    start, stop = max(0, first - _AROUND), first + _AROUND + 1
    yield f"    {'expected':<{column}} observed"
    if start:
        yield f"    … {start} rows before, alike"
    for index, (left, right) in enumerate(rows.pairs[start:stop], start):
        mark, shown = " ", 0
        if index == rows.first:
            mark, shown = ">", _parting(left, right, column - 1)
        yield f"  {mark} {_cut(left, column - 1, shown):<{column}} {_cut(right, column - 1, shown)}".rstrip()
    if stop < len(rows.pairs):
        yield f"    … {len(rows.pairs) - stop} more"


def _parting(left: str, right: str, width: int) -> int:
    """From where on two lines must be shown, so that the place where they part is seen."""
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
    return 0 if alike + _SEEN <= width else alike - _BEFORE


def _cut(text: str, width: int, start: int) -> str:
    if start:
        text = "…" + text[start:]
    return text if len(text) <= width else text[: width - 1] + "…"


def _shown(value: Json) -> str:
    return value if isinstance(value, str) else compact(value)
