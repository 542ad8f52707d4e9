"""Work in pieces: the same results however many processes do it."""

import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dshconform.adapters.catalog import IMPLEMENTATIONS, command_implementation
from dshconform.cli import jobs as of_jobs
from dshconform.cli.jobs import Done, perform
from dshconform.cli.target import Target
from dshconform.links.link import Limits, Link
from tests.conformance.cli.conftest import FAKE


@dataclass(frozen=True)
class Greetings:
    """Each piece says who it is, and what it talked to; one of them makes those behind it needless."""

    pieces: int
    last: int = -1

    def __len__(self) -> int:
        return self.pieces

    def perform(self, number: int, link: Link) -> tuple[str, bool]:
        link.call("world.open")
        return f"{number} {link.hello.implementation.name}", number == self.last


def work(tmp_path: Path, pieces: Greetings, jobs: int, *command: str) -> Done[str]:
    implementation = command_implementation(command, None) if command else IMPLEMENTATIONS["reference"]
    return perform(Target(implementation, "", Limits(), tmp_path), pieces, jobs, lambda _: None)


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_piece_is_done_once(tmp_path: Path, jobs: int) -> None:
    """Results stand in the order of the pieces, whoever did them."""
    done = work(tmp_path, Greetings(5), jobs)
    assert list(done.results.items()) == [(number, f"{number} dshcore") for number in range(5)]
    assert (done.fault, done.interrupted) == (None, False)


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_stands_behind_the_end_is_not_among_the_results(tmp_path: Path, jobs: int) -> None:
    """Another process may have done it already; the results are the same."""
    assert list(work(tmp_path, Greetings(9, last=3), jobs).results) == [0, 1, 2, 3]


def test_an_adapter_given_by_its_command_works_in_other_processes(tmp_path: Path) -> None:
    """Each process starts it for itself."""
    done = work(tmp_path, Greetings(3), 2, sys.executable, str(FAKE), "good")
    assert list(done.results) == [0, 1, 2]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_fault_when_an_adapter_starts_or_ends_is_told(tmp_path: Path, jobs: int) -> None:
    """It is in what comes back, beside the results."""
    done = work(tmp_path, Greetings(3), jobs, sys.executable, str(FAKE), "dead-on-arrival", "world.open")
    assert done.fault is not None
    assert done.fault.kind == "died"
    assert done.results == {}


@pytest.fixture
def pooled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process of the pool: born with interrupts held back, and told what is shared."""
    before = signal.getsignal(signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    monkeypatch.setattr(of_jobs, "_shared", of_jobs._Tickets(3))
    yield
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, before)


def greet_in_the_pool(tmp_path: Path) -> Done[str]:
    target = Target(IMPLEMENTATIONS["reference"], "", Limits(), tmp_path)
    return of_jobs._work_shared(target, Greetings(3))


@pytest.mark.usefixtures("pooled")
def test_an_interrupt_behind_the_work_of_a_process_takes_nothing_along(tmp_path: Path) -> None:
    """The process waits for more then; ended, it would be a broken pool, and the results of all would be lost."""
    done = greet_in_the_pool(tmp_path)
    signal.raise_signal(signal.SIGINT)
    assert (len(done.results), done.interrupted) == (3, False)


@pytest.mark.usefixtures("pooled")
def test_an_interrupt_before_the_work_of_a_process_ends_it_at_once(tmp_path: Path) -> None:
    """While the process starts, it would end it without a word."""
    signal.raise_signal(signal.SIGINT)
    done = greet_in_the_pool(tmp_path)
    assert (len(done.results), done.interrupted) == (0, True)


def test_an_interrupt_while_processes_are_begun_is_passed_on() -> None:
    """It arrives when they can be interrupted in their turn, and not in the middle of it."""
    begun: list[str] = []

    def begin() -> None:
        signal.raise_signal(signal.SIGINT)
        begun.append("all")

    assert of_jobs._await([], begin, of_jobs._Tickets(0), lambda _: None, within=False)
    assert begun == ["all"]
