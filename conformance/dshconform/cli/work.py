"""The folder in which runs keep what is asked about later; a module that costs nothing to load."""

from pathlib import Path
from typing import Final

import click

WORK_OPTION: Final = click.option(
    "--work",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".dshconform"),
    show_default=True,
    help="Where counterexamples, wire logs and the last report are kept.",
)
"""The option that names the folder for what is kept."""


def report_in(work: Path) -> Path:
    """The report of the last run that kept something in this folder.

    Args:
        work: The folder.
    """
    return work / "report.json"
