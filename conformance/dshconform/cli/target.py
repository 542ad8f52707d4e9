"""Which implementation a command talks to: a name, or the command of an adapter after `--`."""

import itertools
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from dshconform.adapters.catalog import IMPLEMENTATIONS, Implementation, Opening, command_implementation
from dshconform.checks.catalog import UnknownName
from dshconform.cli.work import WORK_OPTION
from dshconform.links.link import AdapterFault, Limits, Link
from dshconform.report.text import wrapped

_ADAPTER: Final = "dshconform.adapter"
_ADAPTERS: Final = "dshconform.adapters"
_DEFAULT: Final = "reference"


class TargetCommand(click.Command):
    """A command that takes the command of an adapter after `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what stands behind `--` for the adapter's command, and read the rest.

        Args:
            ctx: Keeps the adapter's command for `Target`.
            args: The words of the command line.

        Returns:
            The words that are left over.
        """
        if "--" in args:
            at = args.index("--")
            ctx.meta[_ADAPTER] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The pieces of the usage line, that of the adapter's command included.

        Args:
            ctx: That of the command.
        """
        return [*super().collect_usage_pieces(ctx), "[-- ADAPTER [ARG]...]"]


class PairCommand(click.Command):
    """A command that takes two implementations, each by name or by an adapter's command after a `--` of its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what stands behind each `--` for the command of one adapter, and read the rest.

        Args:
            ctx: Keeps the adapters' commands.
            args: The words of the command line.

        Returns:
            The words that are left over.
        """
        adapters: list[list[str]] = []
        while "--" in args:
            at = len(args) - args[::-1].index("--")
            adapters.insert(0, args[at:])
            args = args[: at - 1]
        ctx.meta[_ADAPTERS] = adapters
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The pieces of the usage line, those of the adapters' commands included.

        Args:
            ctx: That of the command.
        """
        return [*super().collect_usage_pieces(ctx), "[-- ADAPTER [ARG]...]..."]


_OPENED: Final = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Target:
    """The implementation that was chosen, and how the command line says so again."""

    implementation: Implementation
    spelled: str
    """How the command line names it."""
    limits: Limits
    """How long and how large its replies may be."""
    work: Path
    """The folder for its wire logs."""

    @contextmanager
    def open(self, say: Callable[[str], None]) -> Iterator[Link]:
        """Start it, and end it afterwards.

        Args:
            say: Prints what the user should know while it starts.

        Returns:
            A link, open while the block runs.

        Raises:
            AdapterFault: It does not greet as it should.
        """
        name = f"wire-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{next(_OPENED)}.jsonl"  # no other link's
        opening = Opening(wire_log=self.work / name, limits=self.limits, say=say)
        with self.implementation.open(opening) as link:
            yield link


def target_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose an implementation to a command.

    Args:
        function: A command.

    Returns:
        The command with them.
    """
    named = click.option("--implementation", "-i", help=f"{', '.join(IMPLEMENTATIONS)}.  [default: {_DEFAULT}]")
    return named(link_options(function))


def link_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how implementations are talked to, and what is kept.

    Args:
        function: A command.

    Returns:
        The command with them.
    """
    for decorate in (
        WORK_OPTION,
        click.option(
            "--timeout", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="Seconds for one reply."
        ),
        click.option(
            "--deviations",
            type=click.Path(dir_okay=False, path_type=Path),
            help="The ledger of known differences; with -- ADAPTER.",
        ),
    ):
        function = decorate(function)
    return function


def choose(ctx: click.Context, *names: str | None, deviations: Path | None, timeout: float, work: Path) -> Target:
    """Answer the implementation that the command line names.

    Args:
        ctx: May hold the command of an adapter.
        names: Every way in which the command line may name an implementation; those that it left out are none.
        deviations: The ledger, for an adapter's command.
        timeout: Seconds for one reply.
        work: Where counterexamples and wire logs are kept.

    Raises:
        click.UsageError: It names none, or two, or nothing can be kept in `work`.
    """
    named = list(dict.fromkeys(name for name in names if name is not None))
    if len(named) > 1:
        raise click.UsageError(f"two implementations are named: {' and '.join(map(repr, named))}")
    name = named[0] if named else None
    must_be_writable(work, "--work")
    limits = Limits(seconds_per_reply=timeout)
    adapter: Sequence[str] | None = ctx.meta.get(_ADAPTER)
    if adapter is not None:
        if name is not None:
            raise click.UsageError(f"both {name!r} and an adapter's command are given: keep one")
        return _by_command(adapter, deviations, limits, work)
    if deviations is not None:
        raise click.UsageError(_NO_LEDGER)
    return _by_name(name if name is not None else _DEFAULT, limits, work)


def choose_pair(
    ctx: click.Context, names: Sequence[str], *, deviations: Path | None, timeout: float, work: Path
) -> tuple[Target, Target]:
    """Answer the two implementations that the command line of a `PairCommand` names, the named ones first.

    Args:
        ctx: May hold the commands of adapters.
        names: Those that are named.
        deviations: The ledger, for an adapter's command; there must be one then, and no more.
        timeout: Seconds for one reply.
        work: Where counterexamples and wire logs are kept.

    Raises:
        click.UsageError: It names more or fewer, or nothing can be kept in `work`.
    """
    must_be_writable(work, "--work")
    limits = Limits(seconds_per_reply=timeout)
    adapters: Sequence[Sequence[str]] = ctx.meta[_ADAPTERS]
    if deviations is not None and len(adapters) != 1:
        raise click.UsageError(_NO_LEDGER if not adapters else "--deviations cannot belong to two adapters' commands")
    targets = [
        *(_by_name(name, limits, work) for name in names),
        *(_by_command(adapter, deviations, limits, work) for adapter in adapters),
    ]
    if len(targets) != 2:  # noqa: PLR2004 - a pair
        raise click.UsageError(
            f"two implementations are compared, and {len(targets)} are named: give names, or adapters' commands, each "
            "after a `--` of its own"
        )
    return targets[0], targets[1]


_NO_LEDGER: Final = "--deviations belongs to an adapter's command; a named implementation has its own ledger"


def _by_name(name: str, limits: Limits, work: Path) -> Target:
    if name not in IMPLEMENTATIONS:
        raise click.UsageError(str(UnknownName("implementation", name, IMPLEMENTATIONS)))
    return Target(IMPLEMENTATIONS[name], f"--implementation {name}", limits, work)


def _by_command(adapter: Sequence[str], deviations: Path | None, limits: Limits, work: Path) -> Target:
    if not adapter:
        raise click.UsageError("no command stands after `--`: give the adapter's program")
    ledger = "" if deviations is None else f"--deviations {shlex.quote(str(deviations))} "
    return Target(command_implementation(adapter, deviations), f"{ledger}-- {shlex.join(adapter)}", limits, work)


JSON_OPTION: Final = click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the report there."
)
"""The option that names the file for the report."""


def writable_file(path: Path | None, option: str) -> None:
    """Refuse a file, if one is given, that is none, whose folder is not there or in which nothing can be written.

    Args:
        path: The file.
        option: The option that named it, for the error.

    Raises:
        click.UsageError: It cannot be written.
    """
    if path is None:
        return
    if str(path) == "-":
        raise click.UsageError(f"{option} writes a file, and `-` is none: name one")
    if not path.parent.is_dir():
        raise click.UsageError(f"{option}: there is no folder {path.parent}: make it first")
    must_be_writable(path.parent, option)


def must_be_writable(folder: Path, option: str) -> None:
    """Refuse a folder in which nothing can be written; one that does not exist yet is judged by what it stands in.

    Args:
        folder: It need not be there yet.
        option: The option that named it, for the error.

    Raises:
        click.UsageError: It cannot be written.
    """
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise click.UsageError(
            f"nothing can be written in {folder} ({reason}): name another place by {option}"
        ) from error


def started_as() -> str:
    """How this program was called, as a shell takes it again."""
    program = Path(sys.argv[0])
    if program.name != "__main__.py":
        return shlex.quote(program.name if shutil.which(program.name) else str(program))
    python = "python" if shutil.which("python") == sys.executable else sys.executable
    return f"{shlex.quote(python)} -m dshconform"


def fault_lines(fault: AdapterFault) -> Iterator[str]:
    """A fault of the adapter as a person reads it."""
    told = f"adapter fault ({fault.kind}): {fault.message}"
    yield from [told] if "\n" in told else wrapped(told, hanging="  ")
    yield from wrapped(f"promise: {fault.promised}", "  ", hanging="  ")
    yield from wrapped(f"remedy: {fault.remedy}", "  ", hanging="  ")
    if fault.wire_log is not None:
        yield f"  wire log: {fault.wire_log}"
