"""`dshconform list`: what can be asked about, selected and run."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import click

from dshconform.near_misses import hint
from dshconform.spec.clause import Level, Profile
from dshconform.spec.specification import UnknownClause, load_specification

_WIDTH: Final = 80


class _ListGroup(click.Group):
    """A group that answers the name of a list that there is not with those that there are."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            ctx.fail(f"there is no list {args[0]!r}; {hint(args[0], self.commands)}")
        return super().resolve_command(ctx, args)


@click.group(name="list", cls=_ListGroup, help="List clauses, checks, contracts or implementations.")
def list_() -> None:
    """Hold the commands below."""


@list_.command(help="List the clauses of the specification, or some of them.")
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    type=click.Choice(list(map(str, Profile))),
    help="Only this profile; repeatable.",
)
@click.option(
    "--level", "levels", multiple=True, type=click.Choice(list(map(str, Level))), help="Only this level; repeatable."
)
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="GROUP",
    help="Only this group (INBOX-CLAIM) or area (INBOX); repeatable.",
)
def clauses(profiles: Sequence[str], levels: Sequence[str], groups: Sequence[str]) -> None:
    """Print one line for each clause, and the counts."""
    specification = load_specification()
    try:
        chosen = specification.select(profiles=map(Profile, profiles), levels=map(Level, levels), groups=groups)
    except UnknownClause as unknown:
        raise click.UsageError(str(unknown)) from unknown
    if not chosen:
        raise click.UsageError("no clause fits this choice; leave out --profile, --level or --group")
    rows = [(clause.id, clause.level, clause.profile, clause.text) for clause in chosen]
    for line in _columns(("clause", "level", "profile", "text"), rows, cut=True):
        click.echo(line)
    counts = Counter(clause.level for clause in chosen)
    levels_counted = ", ".join(f"{counts[level]} {level}" for level in Level if counts[level])
    click.echo(f"\n{len(chosen)} clauses: {levels_counted}")


@list_.command(help="List the checks, or those of one contract.")
@click.option("--contract", metavar="CONTRACT", help="Only the checks of this contract.")
def checks(contract: str | None) -> None:
    """Print one line for each check."""
    from dshconform.checks.catalog import UnknownName, all_checks, select

    try:
        chosen = select(all_checks(), contracts=() if contract is None else (contract,))
    except UnknownName as unknown:
        raise click.UsageError(str(unknown)) from unknown
    rows = [(check.name, check.contract, check.profile, str(len(check.clauses))) for check in chosen]
    for line in _columns(("check", "contract", "profile", "clauses"), rows):
        click.echo(line)


@list_.command(help="List the contracts, with the number of their checks.")
def contracts() -> None:
    """Print one line for each contract."""
    from dshconform.checks.catalog import all_checks

    counts = Counter(check.contract for check in all_checks())
    rows = [(contract, str(count)) for contract, count in counts.items()]
    for line in _columns(("contract", "checks"), rows):
        click.echo(line)


@list_.command(help="List the implementations known by name.")
def implementations() -> None:
    """Print one line for each implementation."""
    from dshconform.adapters.catalog import IMPLEMENTATIONS

    rows = [(implementation.name, implementation.about) for implementation in IMPLEMENTATIONS.values()]
    for line in _columns(("implementation", "what it is"), rows):
        click.echo(line)


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]], *, cut: bool = False) -> Iterator[str]:
    """Lay a table out in lines of at most 80 characters; what is too long for the last column is wrapped or cut."""
    table = [head, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(head) - 1)]
    for row in table:
        left = "".join(f"{cell:<{width}}  " for cell, width in zip(row, widths, strict=False))
        last = " ".join(row[-1].split())
        room = _WIDTH - len(left)
        if cut:
            yield left + (last if len(last) <= room else f"{last[: room - 1].rstrip()}…")
        else:
            yield from textwrap.wrap(last, _WIDTH, initial_indent=left, subsequent_indent=" " * len(left))
