"""A failure as a person reads it: clause, commands, expected and observed, the first difference, how to replay."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.report.text import WIDTH, wrapped
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
        failure: The smallest example of a difference.
        clauses: The specification's clauses, by id.
        replay: The command line that replays it.
    """
    yield from blamed_lines(failure.difference, clauses)
    yield ""
    yield from steps_lines(failure.steps, failure.found_after)
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


def steps_lines(steps: Sequence[Step], found_after: int) -> Iterator[str]:
    """Write the commands that lead to something, those aside that make the world.

    Args:
        steps: In order; the last one shows the difference.
        found_after: Commands of the example before it was minimised.
    """
    shown = [step for step in steps if step.op not in _OPENING]
    more = f", minimised from {found_after}" if found_after > len(steps) else ""
    yield f"  commands ({len(shown)}{more})"
    for number, step in enumerate(shown, 1):
        yield from wrapped(f"{number}. {step_line(step)}", "    ", hanging="   ")


def clauses_lines(named: Sequence[str], clauses: Mapping[str, Clause]) -> Iterator[str]:
    """Write clauses with their text.

    Args:
        named: The ids of those to write, in order.
        clauses: The specification's clauses, by id.
    """
    for clause_id in named:
        clause = clauses[clause_id]
        yield f"{clause.id} · {clause.level} · {clause.profile}"
        yield from wrapped(" ".join(clause.text.split()), "  ")


def blamed_lines(difference: Difference, clauses: Mapping[str, Clause]) -> Iterator[str]:
    """Write the clauses that a difference violates, with their text."""
    yield from clauses_lines(difference.clauses, clauses)
    if not difference.clauses:
        yield from wrapped("no clause is blamed: something that the check needs first did not work", "")


def difference_lines(difference: Difference) -> Iterator[str]:
    """Write a difference: the sentence, what was expected there, what was observed."""
    yield from wrapped(f"first difference: {difference.sentence}", "  ")
    yield from value_lines("expected", difference.expected)
    yield from value_lines("observed", difference.observed)


def value_lines(head: str, value: Json) -> Iterator[str]:
    """Write a value behind a word that says what it is.

    Args:
        head: The word before the value.
        value: A text as it is, or JSON.
    """
    shown = value if isinstance(value, str) else compact(value)
    yield from wrapped(f"{head}  {shown}", "    ", hanging=" " * (len(head) + 2))


def step_line(step: Step) -> str:
    """Write a step's command on one line."""
    return command_line({"do": step.op, "args": step.args})


def command_line(command: JsonMap) -> str:
    """Write a command, as scenarios have it, on one line."""
    args = command.get("args")
    members = [f"{key}={compact(value)}" for key, value in args.items()] if isinstance(args, Mapping) else []
    return " ".join([str(command["do"]), *members])


def side_by_side(rows: Alignment, heads: tuple[str, str] = ("expected", "observed")) -> Iterator[str]:
    """Write two lists of rows beside each other, the first pair that differs marked with `>`.

    Rows far from it are left out, with their number.

    Args:
        rows: Pairs of lines, with the place of the first that differs.
        heads: What stands above them.
    """
    column = (WIDTH - 6) // 2
    first = len(rows.pairs) - 1 if rows.first is None else rows.first
    start, stop = max(0, first - _AROUND), first + _AROUND + 1
    yield f"    {heads[0]:<{column}} {heads[1]}"
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
