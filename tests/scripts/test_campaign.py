"""`scripts/campaign`: what is done is not done again, and is told with its seeds."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import campaign
import pytest
from tests.conformance.contracts.fake_agent import FakeAdapter
from typeguard import suppress_type_checks

from dshconform.contracts.inbox import InboxModel
from dshconform.contracts.machine import MachineCheck
from dshconform.links.in_process import InProcessLink
from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap

DONE = campaign.Chunk(
    revision="r1",
    implementation="reference",
    contract="inbox",
    seed=1,
    examples=500,
    prologues=200,
    commands=9_000,
    stopped=0,
    deviations=["LOG-EVT-03 at log turn/end"],
    failures={},
    seconds=1.0,
)


@pytest.mark.parametrize(
    ("seeds", "examples", "missing"),
    [([], 1_000, [1, 2]), ([], 1_001, [1, 2, 3]), ([1], 1_000, [2]), ([2], 1_500, [1, 3]), ([1, 2], 1_000, [])],
)
def test_what_is_missing_has_seeds_of_its_own(seeds: list[int], examples: int, missing: list[int]) -> None:
    """As many chunks as are needed, with the first seeds that are free."""
    assert campaign.missing_seeds([replace(DONE, seed=seed) for seed in seeds], examples, 500) == missing


def test_results_of_another_revision_and_half_a_line_are_not_read(tmp_path: Path) -> None:
    """An interrupted run may leave the latter; another revision proves nothing of this one."""
    lines = [json.dumps(asdict(one)) for one in (DONE, replace(DONE, revision="r0"), replace(DONE, seed=2))]
    (tmp_path / "results.jsonl").write_text("\n".join([*lines[:2], lines[2][:40]]), encoding="utf-8")
    assert campaign.read_results(tmp_path, "r1") == [DONE]
    assert campaign.read_results(tmp_path / "nowhere", "r1") == []


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The inbox machine with two prologues."""

    class Short(InboxModel):
        def prologues(self) -> list[list[JsonMap]]:
            return super().prologues()[:2]

    check = MachineCheck(Short, commands=4)
    monkeypatch.setattr(campaign, "all_checks", lambda: (check,))


def chunk_of(link: Link, work: Path, seed: int = 7, examples: int = 3) -> campaign.Chunk:
    plan = campaign.Campaign("r1", "fake", "inbox", [seed], examples, (), work)
    with suppress_type_checks():  # hundreds of commands
        chunk, ends = plan.perform(0, link)
    assert not ends
    return chunk


def test_a_chunk_is_written_down_when_it_is_done(tmp_path: Path) -> None:
    """With its counts, and none of it failed."""
    chunk = chunk_of(InProcessLink(FakeAdapter()), tmp_path)
    assert (chunk.seed, chunk.examples, chunk.failures) == (7, 3, {})
    assert chunk.commands > 3
    assert campaign.read_results(tmp_path, "r1") == [chunk]


def test_the_first_seed_alone_has_the_prologues(tmp_path: Path) -> None:
    """They do not depend on the seed, and are not counted."""
    first, other = (chunk_of(InProcessLink(FakeAdapter()), tmp_path, seed) for seed in (1, 7))
    assert (first.prologues, first.examples) == (2, 3)
    assert (other.prologues, other.examples) == (0, 3)


def test_a_counterexample_is_saved_beside_the_results(tmp_path: Path) -> None:
    """The clauses that are blamed, and a file that exists."""
    chunk = chunk_of(InProcessLink(FakeAdapter("prompt first")), tmp_path, examples=40)
    (clauses,) = chunk.failures
    assert "INBOX-CLAIM-01" in clauses
    assert Path(chunk.failures[clauses]).read_text(encoding="utf-8").startswith("contract: inbox")


def test_examples_can_be_longer_than_those_of_a_run(tmp_path: Path) -> None:
    """They are chunks of their own, and the summary says so."""
    plan = campaign.Campaign("r1", "fake", "inbox", [7], 3, (), tmp_path, length=30)
    with suppress_type_checks():
        longer, _ = plan.perform(0, InProcessLink(FakeAdapter()))
    assert longer.commands > chunk_of(InProcessLink(FakeAdapter()), tmp_path).commands + 40
    lines = campaign.summary(campaign.read_results(tmp_path, "r1"))
    assert [line.split()[:2] for line in lines[1:]] == [["fake", "inbox"], ["up", "to"], ["fake", "inbox"]]


def test_the_summary_counts_over_all_seeds() -> None:
    """One line for each machine on each implementation, what was listed and what failed under it; 80 columns."""
    failed = replace(DONE, seed=2, failures={"INBOX-CLAIM-01": "x.yaml"})
    lines = campaign.summary([DONE, failed, replace(DONE, implementation="dsh-node")])
    assert lines[1].split() == ["reference", "inbox", "1,000", "18,000", "1", "to", "2", "1"]
    assert lines[2:4] == ["  listed: LOG-EVT-03 at log turn/end", "  FAILED INBOX-CLAIM-01: x.yaml"]
    assert lines[4].startswith("dsh-node")
    assert max(map(len, lines)) <= 80
