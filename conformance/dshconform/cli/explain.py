"""`dshconform explain`: what a clause demands, and what holds it."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

import click

from dshconform.spec.clause import Clause
from dshconform.spec.markdown import CODE_SPAN
from dshconform.spec.specification import Specification, UnknownClause, load_specification

WIDTH: Final = 80
LABEL: Final = len("violation  ")


@click.command(help="Show clauses: their text, how to observe them, what violates them, and the checks that cite them.")
@click.argument("clause_ids", nargs=-1, required=True, metavar="CLAUSE...")
def explain(clause_ids: Sequence[str]) -> None:
    """Print each clause; an unknown one is wrong usage, and nothing is printed then."""
    specification = load_specification()
    try:
        clauses = [specification.clause(clause_id) for clause_id in clause_ids]
    except UnknownClause as unknown:
        raise click.UsageError(str(unknown)) from unknown
    from dshconform.checks.catalog import checks_for

    for position, clause in enumerate(clauses):
        if position:
            click.echo()
        for line in _lines(specification, clause, checks_for(clause.id)):
            click.echo(line)


def _lines(specification: Specification, clause: Clause, checks: Sequence[str]) -> Iterator[str]:
    yield f"{click.style(clause.id, bold=True)} · {clause.level} · {clause.profile}"
    place = textwrap.fill(f"{clause.page}, line {clause.line}: {clause.section}", WIDTH, break_on_hyphens=False)
    yield click.style(place, dim=True)
    yield ""
    yield _wrapped(clause.text)
    yield ""
    yield _part("observe", clause.observe)
    yield _part("violation", clause.violation)
    yield _part("basis", clause.basis)
    for name in clause.rulings:
        ruling = specification.rulings[name]
        yield _part(name, f"{ruling.question} {ruling.answer}")
    yield _part("checks", checks[0] if checks else "none yet")
    for check in checks[1:]:
        yield _part("", check)


def _part(label: str, markdown: str) -> str:
    indent = " " * LABEL
    return click.style(f"{label:<{LABEL}}", bold=True) + _wrapped(markdown, indent)[LABEL:]


def _wrapped(markdown: str, indent: str = "") -> str:
    """Wrap prose, and set its code spans off by colour; their backticks stay, so that they show without colour too."""
    text = " ".join(markdown.split())
    wrapped = textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    return CODE_SPAN.sub(lambda span: click.style(span[0], fg="cyan"), wrapped)
