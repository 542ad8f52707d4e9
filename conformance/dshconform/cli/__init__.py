"""The command line: one file per command, loaded when it is called."""

import os
import signal
import sys
import traceback
from importlib import import_module
from typing import Final

import click

from dshconform import __version__
from dshconform.cli.exit_status import (
    CLOSED_PIPE_EXIT_STATUS,
    FAULT_EXIT_STATUS,
    INTERRUPTED_EXIT_STATUS,
    suite_fault_lines,
)
from dshconform.cli.usage import usage_lines
from dshconform.near_misses import hint

_COMMANDS: Final = {
    "run": ("dshconform.cli.run", "run", "Judge an implementation by all checks, or by some."),
    "merge": ("dshconform.cli.merge", "merge_", "Judge the shards of a run together."),
    "smoke": ("dshconform.cli.smoke", "smoke", "Say what to fix next, in seconds."),
    "exhaust": ("dshconform.cli.exhaust", "exhaust", "Run every sequence of a few commands."),
    "diff": ("dshconform.cli.diff", "diff", "Find what no clause decides between two implementations."),
    "replay": ("dshconform.cli.replay", "replay", "Run a scenario or a saved counterexample, step by step."),
    "faults": ("dshconform.cli.faults", "faults", "Plant faults in the reference: do the checks find them?"),
    "explain": ("dshconform.cli.explain", "explain", "Show a clause, what holds it, and the evidence of a run."),
    "list": ("dshconform.cli.list_", "list_", "List clauses, checks, contracts or implementations."),
}


class _LazyGroup(click.Group):
    """A group whose help needs none of its commands' modules."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module, attribute, _ = _COMMANDS[cmd_name]
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # it has a status of its own: that of click would read as "not conformant"
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(CLOSED_PIPE_EXIT_STATUS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}; {hint(args[0], _COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, _, about) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="dshconform")
def cli() -> None:
    """Hold an implementation of the harness core to its specification.

    \b
    dshconform smoke -- ./my-adapter     what to fix next
    dshconform run -- ./my-adapter       every check, and a verdict
    dshconform explain INBOX-CLAIM-01    what a clause demands
    """  # noqa: D301 - click reads the control character


def main() -> None:
    """Run the command line.

    Exit status 2 for wrong usage and faults of the suite, 130 for control-C and `SIGTERM`, 141 when nobody reads.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends a run, it tells what is known by then
    sys.stdout.reconfigure(errors="replace") if hasattr(sys.stdout, "reconfigure") else None
    try:
        status = cli.main(standalone_mode=False)
    except click.ClickException as error:
        for line in usage_lines(error):
            click.echo(line, err=True)
        status = error.exit_code
    except click.Abort:
        click.echo("interrupted", err=True)
        status = INTERRUPTED_EXIT_STATUS
    except Exception:  # noqa: BLE001 - whatever it is, it is told as what it is
        click.echo(traceback.format_exc(), err=True)
        for line in suite_fault_lines("the above says nothing about the implementation", "the traceback"):
            click.echo(line, err=True)
        status = FAULT_EXIT_STATUS
    sys.exit(status)
