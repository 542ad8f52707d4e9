"""Measures what the project promises of its cost, and how fast it is.

    scripts/bench.py                      everything below, for the reference and the published packages
    scripts/bench.py growth --check       does a turn cost more in a long log, an inbox operation when much waits?
    scripts/bench.py rates                turns, appends and commands a second
    scripts/bench.py rules                commands of the contract machines, made and judged, a second
    scripts/bench.py links -- COMMAND     commands a second of a link to any adapter; without one, of the links alone

Growth is told in microseconds, each the median over blocks that alternate between little and much, and the ratio is
the median over the pairs: so what else the machine does disturbs both alike. The collector rests inside a block. In
this process time is that of the processor, over standard streams it is the wall clock's.

An adapter tells every request with its whole history, so over a link a turn whose request is told cannot cost the same
for ever, whatever the implementation does. Two kinds of turn show what it does do: one whose model answers without
being told of, and one in a conversation that was just replaced by a single message, while the log stays long.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benching.growth import DIRECT, LINKED, TURNS, Kind, S, growth_of_edits, growth_of_turns
from benching.measuring import Growth, Rate
from benching.rates import links, rates, rules
from benching.sides import Direct, Linked, Refused

from dshconform.adapters.catalog import IMPLEMENTATIONS, CannotStart, Opening
from dshconform.links.link import AdapterFault, Limits

TURN_LIMIT: Final = 1.3
INBOX_LIMIT: Final = 1.5


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured: pairs of sides, of which one is kept small, and whether its growth is limited."""

    direct: bool
    implementation: str
    process: bool
    limited: bool


SUBJECTS: Final[Mapping[str, Subject]] = {
    "reference": Subject(direct=True, implementation="reference", process=False, limited=True),
    "dsh-node": Subject(direct=False, implementation="dsh-node", process=True, limited=False),
}


def measure(subject: Subject, parts: Sequence[str], blocks: int) -> Iterator[Growth | Rate]:
    """Measure one implementation.

    Raises:
        CannotStart: It cannot be started on this machine.
        AdapterFault: Its adapter broke the protocol.
    """
    with ExitStack() as stack:
        if subject.direct:
            small, large = stack.enter_context(closing(Direct())), stack.enter_context(closing(Direct()))
            yield from _measure(small, large, DIRECT, parts, blocks, limited=subject.limited)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

        def side(number: int) -> Linked:
            opening = Opening(wire_log=folder / f"{number}.jsonl", limits=Limits(), say=_say)
            link = stack.enter_context(IMPLEMENTATIONS[subject.implementation].open(opening))
            clock = time.perf_counter if subject.process else time.process_time
            return Linked(link, f"{subject.implementation}, link", clock)

        yield from _measure(side(1), side(2), LINKED, parts, blocks, limited=subject.limited)


def _measure(
    small: S, large: S, kinds: Sequence[Kind[S]], parts: Sequence[str], blocks: int, *, limited: bool
) -> Iterator[Growth | Rate]:
    if "growth" in parts:
        yield from growth_of_turns(small, large, kinds, blocks, TURN_LIMIT if limited else None)
        yield from growth_of_edits(small, large, blocks, INBOX_LIMIT if limited else None)
    if "rates" in parts:
        assert isinstance(small, Direct | Linked)
        yield from rates(small)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def line_of(figure: Growth | Rate) -> str:
    """Write a figure as one line of a table of 80 columns."""
    head = f"{figure.subject:<18} {figure.what:<27}"
    if isinstance(figure, Rate):
        return f"{head}{figure.per_second:>12,.0f} /s"
    limit = "" if figure.limit is None else f"{'>' if figure.exceeded else '≤'} {figure.limit}"
    return f"{head}{figure.small_us:>9,.1f} {figure.large_us:>10,.1f} {figure.ratio:>6.2f} {limit}".rstrip()


def heading_of(figure: Growth | Rate) -> str:
    """Write the heading under which a figure stands."""
    if isinstance(figure, Rate):
        return f"{'':<18} {'a second':<27}"
    unit = "turn" if figure.large == TURNS[1] else "pending"
    return f"{'µs':<18} {unit:<27}{figure.small:>9,} {figure.large:>10,}  ratio"


def main() -> int:
    """Measure what the command line asks for; 1 when `--check` finds a ratio above its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=("all", "growth", "rates", "rules", "links"), default="all")
    parser.add_argument("command", nargs="*", help="for links: the command of an adapter, after --")
    parser.add_argument("--only", choices=SUBJECTS, help="measure this implementation alone")
    parser.add_argument("--blocks", type=int, default=15, help="pairs of blocks that a ratio is the median of")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--check", action="store_true", help="exit with 1 when the reference exceeds a limit")
    options = parser.parse_args()
    figures: list[Growth | Rate] = []
    heading = ""
    for figure in _figures(options.part, options.command, options.only, options.blocks):
        figures.append(figure)
        if not options.json:
            if heading != (heading := heading_of(figure)):
                print(heading)
            print(line_of(figure), flush=True)
    if options.json:
        print(json.dumps([asdict(figure) for figure in figures], indent=1, ensure_ascii=False))
    exceeded = [figure for figure in figures if isinstance(figure, Growth) and figure.exceeded]
    for figure in exceeded:
        print(f"grows more than it may: {figure.subject}, {figure.what}", file=sys.stderr)
    return 1 if options.check and exceeded else 0


def _figures(part: str, command: Sequence[str], only: str | None, blocks: int) -> Iterator[Growth | Rate]:
    parts = ("growth", "rates") if part == "all" else (part,)
    for name, subject in SUBJECTS.items():
        if only in {None, name} and part not in {"rules", "links"}:
            try:
                yield from measure(subject, parts, blocks)
            except CannotStart as error:
                _say(f"{name} is not measured: {error.message} (remedy: {error.remedy})")
    if part in {"all", "rules"} and only != "dsh-node":
        yield from rules(150)
    if part in {"all", "links"}:
        yield from links(command)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (AdapterFault, Refused) as error:
        sys.exit(str(error))
