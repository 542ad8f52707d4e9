"""Wrong usage as a person reads it: the error in lines of 80 columns."""

from collections.abc import Iterator

import click

from dshconform.report.text import WIDTH, wrapped


def usage_lines(error: click.ClickException) -> Iterator[str]:
    """Write an error of the command line: how the command is used, where its help stands, and what is wrong.

    Args:
        error: What was raised; lines of its message that fit stay as they are.
    """
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        yield context.get_usage()
        yield f"Try '{context.command_path} --help' for help."
        yield ""
    for line in f"Error: {error.format_message()}".splitlines():
        blanks = line[: len(line) - len(line.lstrip())]
        yield from [line] if len(line) <= WIDTH else wrapped(line.strip(), blanks, hanging="  ")
