"""`dshconform faults`: whether the checks can fail, and for the right reason."""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from dshconform.adapters.catalog import EMPTY, reference_under_fault
from dshconform.checks.catalog import UnknownName, all_checks
from dshconform.cli.exit_status import FAULT_EXIT_STATUS
from dshconform.cli.target import writable_file
from dshconform.cli.telling import new_console
from dshconform.cli.vacuity import judge_vacuous, passed
from dshconform.faults import ALL_FAULTS, Fault
from dshconform.faults.coverage import load_exceptions, measure
from dshconform.faults.killing import CannotPlant, Trial, try_fault
from dshconform.report.kill_matrix import coverage_document, coverage_text, print_coverage, print_trial
from dshconform.report.text import wrapped
from dshconform.spec.clause import Clause, Profile
from dshconform.spec.specification import UnknownClause, load_specification

_EVERY = 100
"""Where there is no bar, a summary tells how far it is after so many faults."""


@click.command(context_settings={"max_content_width": 80})
@click.argument("names", nargs=-1, metavar="[FAULT]...")
@click.option("--clause", "clauses", multiple=True, help="Only faults that violate this clause; repeatable.")
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    type=click.Choice(list(map(str, Profile))),
    help="Only faults that violate a clause of this profile; repeatable.",
)
@click.option("--summary", is_flag=True, help="Print the coverage of each profile, and only faults that survive.")
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the matrix there.")
def faults(
    *, names: Sequence[str], clauses: Sequence[str], profiles: Sequence[str], summary: bool, json_file: Path | None
) -> None:
    """Plant faults in the reference, and see which check finds each.

    A fault violates one clause. It is killed by a check that blames that
    clause before any other; what others are blamed for is collateral. A
    clause is covered when a fault that violates it is killed. With --summary,
    adapters without any behaviour are judged too: they must pass nothing.

    Exit status: 0 all faults are killed, 1 some survive or something passes
    without behaviour, 2 wrong usage or a fault that cannot be planted.
    """
    console = new_console()
    writable_file(json_file, "--json")
    specification = load_specification()
    try:
        wanted = {specification.clause(clause).id for clause in clauses}
        selected = _selected(names, wanted, set(profiles), specification.clauses)
    except (UnknownName, UnknownClause) as error:
        raise click.UsageError(str(error)) from error
    if not selected:
        raise click.UsageError("nothing is selected: no fault violates such a clause")
    exceptions = load_exceptions(specification.clauses, ALL_FAULTS)
    trials: list[Trial] = []
    try:
        with _progress(console, len(selected), told=summary) as advance:
            for fault in selected:
                trial = try_fault(fault, all_checks(), reference_under_fault)
                trials.append(trial)
                if not summary or trial.killed_by is None:
                    print_trial(console, trial)
                advance()
    except CannotPlant as problem:
        console.print(f"error: {problem}\n  remedy: fault and reference belong together; adapt the one", markup=False)
        sys.exit(FAULT_EXIT_STATUS)
    coverage = measure(trials, specification.clauses.values(), exceptions)
    whole = len(selected) == len(ALL_FAULTS)
    vacuous = False
    if summary:
        touched = {specification.clauses[fault.clause].profile for fault in selected}
        shown = {profile: one for profile, one in coverage.items() if whole or profile in touched}
        print_coverage(console, shown, exceptions)
        vacuous = _tell_vacuity(console)
    if json_file is not None:
        json_file.write_text(coverage_text(coverage_document(trials, coverage)), encoding="utf-8")
    killed = sum(trial.killed_by is not None for trial in trials)
    part = "" if whole else f" (partial run: {len(trials)} of {len(ALL_FAULTS)} faults)"
    console.print(f"{killed} killed, {len(trials) - killed} survive{part}", markup=False)
    sys.exit(0 if killed == len(trials) and not vacuous else 1)


def _selected(
    names: Sequence[str], clauses: set[str], profiles: set[str], specification: Mapping[str, Clause]
) -> list[Fault]:
    """The faults that are named, violate one of the clauses, or a clause of one of the profiles; all without any.

    Raises:
        UnknownName: There is no fault of a name.
    """
    known = {fault.id for fault in ALL_FAULTS}
    for name in names:
        if name not in known:
            raise UnknownName("fault", name, known)
    if not (names or clauses or profiles):
        return list(ALL_FAULTS)
    return [
        fault
        for fault in ALL_FAULTS
        if fault.id in names or fault.clause in clauses or specification[fault.clause].profile in profiles
    ]


def _tell_vacuity(console: Console) -> bool:
    """Print what passes without any behaviour; whether anything does."""
    console.print(Text("what passes without any behaviour", style="bold"))
    anything = False
    for name in EMPTY:
        result = judge_vacuous(name)
        clauses = passed(result)
        anything = anything or bool(clauses)
        told = f"{name}: {len(clauses)} of {result.judgement.counts()['must']} must clauses"
        for line in wrapped(told + (f" ({', '.join(clauses)})" if clauses else ""), indent="  ", hanging="  "):
            console.print(line, markup=False)
    return anything


@contextmanager
def _progress(console: Console, total: int, *, told: bool) -> Iterator[Callable[[], None]]:
    """Show how far it is: on a terminal by a bar, elsewhere by a line now and then, where no other lines tell it."""
    gc.freeze()  # what is loaded by now stays: no collection has to walk the checks and the specification
    if not console.is_terminal:
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            if told and done % _EVERY == 0 and done < total:
                console.print(f"  {done} of {total} faults tried", markup=False)

        yield count
        return
    bar = Progress(
        TextColumn("faults"),
        BarColumn(bar_width=40),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task("faults", total=total)
        yield lambda: bar.advance(task)
