"""`dshconform exhaust`: every sequence of a few commands, up to a length."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from dshconform.adapters.catalog import CannotStart
from dshconform.checks.catalog import EXHAUSTIBLE, MODELS, UnknownName, all_checks
from dshconform.cli.exit_status import FAULT_EXIT_STATUS, INTERRUPTED_EXIT_STATUS
from dshconform.cli.jobs import Done, perform
from dshconform.cli.session import Session
from dshconform.cli.target import TargetCommand, choose, target_options
from dshconform.contracts.exhaust import Tally, Tree
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.model import Exhaustible
from dshconform.links.link import AdapterFault, Link
from dshconform.protocol.json_value import JsonMap
from dshconform.report.failure_text import failure_lines
from dshconform.report.progress import bar
from dshconform.report.text import wrapped
from dshconform.running.ledger import Deviation
from dshconform.running.verdict import undeclared
from dshconform.spec.specification import load_specification

_DEPTH: Final = 3
_CONTRACTS: Final = " or ".join(name.replace(" ", "-") for name in EXHAUSTIBLE)
"""The contracts of which every sequence can be run, as a shell takes them without quotes."""


@click.command(
    cls=TargetCommand,
    help=f"""Run every sequence of a few commands, up to a length.

    CONTRACT is {_CONTRACTS}. Its commands are about ten; its model
    judges each. The same numbers come of it whatever --jobs says.

    Exit status: 0 no difference, 1 a difference, 2 wrong usage or a fault of
    the adapter, 130 interrupted.
    """,
)
@click.argument("contract")
@target_options
@click.option(
    "--depth", type=click.IntRange(min=1), default=_DEPTH, show_default=True, help="Commands of the longest sequences."
)
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Processes that share the work.  [default: one for each processor]"
)
@click.pass_context
def exhaust(
    ctx: click.Context,
    *,
    contract: str,
    implementation: str | None,
    deviations: Path | None,
    timeout: float,
    work: Path,
    depth: int,
    jobs: int | None,
) -> None:
    """Run the sequences, and end with an exit status."""
    target = choose(ctx, implementation, deviations=deviations, timeout=timeout, work=work)
    model = _model(contract)
    session = Session(target, load_specification().clauses, all_checks())
    ledger = session.ledger()
    try:
        with target.open(session.say) as link:
            session.headline(link.hello)
            missing = undeclared(MachineCheck(model), link.hello)
    except AdapterFault as fault:
        session.tell_fault(fault)
        sys.exit(FAULT_EXIT_STATUS)
    except CannotStart as error:
        session.say(f"error: {error.message}\n  remedy: {error.remedy}")
        sys.exit(FAULT_EXIT_STATUS)
    if missing is not None:
        raise click.UsageError(f"the implementation cannot be judged by this contract: {missing}")
    tree = Tree(model, frozenset(ledger.variants()) & frozenset(model.variants), depth)
    branches = _Branches(tree, tree.branches(), tuple(ledger.entries))
    began = time.monotonic()
    jobs = min(jobs or os.cpu_count() or 1, len(branches))
    with bar(session.console) as progress:
        task = progress.add_task(f"exhaust/{contract}", total=len(branches))
        done = perform(target, branches, jobs, lambda begun: progress.update(task, completed=begun))
    seconds = time.monotonic() - began
    sys.exit(_tell(session, f"exhaust/{contract}", tree, done, f"{seconds:.1f} s, {jobs} process{'es' * (jobs > 1)}"))


def _model(contract: str) -> type[Exhaustible]:
    """The model of a contract, its name spelled with spaces or with hyphens.

    Raises:
        click.UsageError: There is none, or it cannot be run through.
    """
    spaced = contract.replace("-", " ")
    if spaced in EXHAUSTIBLE:
        return EXHAUSTIBLE[spaced]
    if spaced in MODELS:
        raise click.UsageError(f"the contract {contract!r} cannot be run through: give {_CONTRACTS}")
    raise click.UsageError(str(UnknownName("contract", contract, EXHAUSTIBLE)))


@dataclass(frozen=True, slots=True)
class _Branches:
    """The branches of a tree as pieces of work."""

    tree: Tree
    beginnings: Sequence[Sequence[JsonMap]]
    known: tuple[Deviation, ...]

    def __len__(self) -> int:
        return len(self.beginnings)

    def perform(self, number: int, link: Link) -> tuple[Tally, bool]:
        """Run one branch; nothing behind a difference is needed."""
        tally = self.tree.run(self.beginnings[number], link, self.known)
        return tally, tally.ended


def _tell(session: Session, name: str, tree: Tree, done: Done[Tally], cost: str) -> int:
    """Print what was run, and answer the exit status."""
    tally = Tally()
    for branch in done.results.values():
        tally.add(branch)
    session.forget(name)
    for failure in tally.failures:
        session.console.rule(name, style="red")
        replay = session.replay_line(session.save(name, failure.document))
        for line in failure_lines(failure, session.clauses, replay):
            session.say(line)
        session.say("")
    commands = len(tree.played([]).small_alphabet())
    session.say(f"{name}: {commands} commands, depth {tree.depth}")
    session.say(f"  sequences {tally.sequences:,}, commands {tally.commands:,}, distinct states {len(tally.states):,}")
    session.say(f"  {cost}")
    if tally.stopped:
        session.say(f"  {tally.stopped:,} ended at a listed deviation; what begins like them was not run")
    entries = session.ledger().entries
    for entry in (entries[index] for index in sorted(tally.met)):
        for line in wrapped(f"listed: {entry.title} ({entry.after}): {entry.reason}", "  ", hanging="  "):
            session.say(line)
    fault = tally.fault or done.fault
    if fault is not None:
        session.say("cut short:")
        session.tell_fault(fault)
        return FAULT_EXIT_STATUS
    if done.interrupted:
        session.say("cut short: interrupted")
        return INTERRUPTED_EXIT_STATUS
    if tally.failures:
        return 1
    session.say("  no difference")
    return 0
