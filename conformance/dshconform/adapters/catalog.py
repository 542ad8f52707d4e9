"""The implementations that the suite knows how to start, and any other by its command."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Final, TypeAlias

from dshconform.links.link import Limits, Link

Say: TypeAlias = Callable[[str], None]
"""Is told, in a line, what takes long: an installation."""


class CannotStart(Exception):
    """An implementation that cannot be started on this machine.

    Args:
        message: What is missing or went wrong.
        remedy: What the user can do about it.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.message: Final = message
        self.remedy: Final = remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How a link is to be opened.

    Args:
        wire_log: The file for every line exchanged; a link in process writes none.
        limits: What the adapter may use.
        say: Is told what takes long.
    """

    wire_log: Path
    limits: Limits
    say: Say


@dataclass(frozen=True, slots=True, kw_only=True)
class Implementation:
    """One implementation.

    Args:
        name: As the command line has it.
        about: What it is, in a sentence.
        open: Starts it.
        ledger: Its `deviations.yaml`; none for an implementation without known differences.
    """

    name: str
    about: str
    open: Callable[[Opening], Link]
    ledger: Path | None


def _folder(name: str) -> Path:
    return Path(str(resources.files("dshconform.adapters") / name))


def _reference(_: Opening) -> Link:
    from dshconform.adapters.reference.adapter import ReferenceAdapter
    from dshconform.links.in_process import InProcessLink

    return InProcessLink(ReferenceAdapter())


def _stdio(command: Sequence[str], opening: Opening) -> Link:
    from dshconform.links.subprocess import SubprocessLink

    return SubprocessLink(command, limits=opening.limits, wire_log=opening.wire_log)


def _reference_stdio(opening: Opening) -> Link:
    return _stdio([sys.executable, "-m", "dshconform.adapters.reference"], opening)


def _dsh_node(opening: Opening) -> Link:
    from dshconform.adapters.dsh_node.install import install
    from dshconform.adapters.npm import InstallError

    try:
        installation = install(opening.say)
    except InstallError as error:
        raise CannotStart(error.message, error.remedy) from error
    return _stdio(installation.command, opening)


def reference_under_fault() -> Link:
    """The reference as faults are tried on it: one that makes it go on without end is given up early."""
    from dshconform.adapters.reference.adapter import ReferenceAdapter
    from dshconform.links.in_process import InProcessLink

    return InProcessLink(ReferenceAdapter(max_turns=2_000, max_rows=5_000))


def _vacuous(name: str) -> Callable[[Opening], Link]:
    def open_link(_: Opening) -> Link:
        from dshconform.adapters.vacuous import VACUOUS
        from dshconform.links.in_process import InProcessLink

        return InProcessLink(VACUOUS[name]())

    return open_link


EMPTY: Final[Mapping[str, str]] = {
    "null": "answers every command with nothing; shows what the checks do not look at",
    "echo": "answers every command with its own arguments",
    "always-refuse": "refuses every command",
    "always-accept": "answers every command with true",
}
"""Adapters without an implementation, and what each does: the suite ships with them to show that they pass nothing."""

SORTING: Final = "sort-the-records"
"""The reference, but for the order of everything that it tells."""

_ALL: Final = (
    Implementation(
        name="reference",
        about="dshcore, in this process",
        open=_reference,
        ledger=None,
    ),
    Implementation(
        name="reference-stdio",
        about="dshcore, behind the same adapter in a process of its own",
        open=_reference_stdio,
        ledger=None,
    ),
    Implementation(
        name="dsh-node",
        about="the published packages @deepseek-ai/dsh-* 0.1.0-rc.8, installed from npm on first use",
        open=_dsh_node,
        ledger=_folder("dsh_node") / "deviations.yaml",
    ),
    *(Implementation(name=name, about=about, open=_vacuous(name), ledger=None) for name, about in EMPTY.items()),
    Implementation(
        name=SORTING,
        about="dshcore, the rows of every reply sorted; shows which checks look at no order",
        open=_vacuous(SORTING),
        ledger=None,
    ),
)

IMPLEMENTATIONS: Final[Mapping[str, Implementation]] = {one.name: one for one in _ALL}
"""By name."""


def command_implementation(command: Sequence[str], ledger: Path | None) -> Implementation:
    """Any program that speaks the protocol.

    Args:
        command: The program and its arguments.
        ledger: Its `deviations.yaml`, if it has one.

    Returns:
        The program as an implementation; it is started when a link to it is opened.
    """
    return Implementation(
        name=Path(command[0]).name,
        about=" ".join(command),
        open=partial(_stdio, tuple(command)),  # a process of the suite's own can be given it
        ledger=ledger,
    )
