"""Runs contract machines for many examples, in chunks of which each has its seed; what is done is not done again.

    scripts/campaign                what is missing of 20,000 examples of each named machine, on both implementations

A chunk is a run of one machine with its own seed. The prologues are the same for every seed, so the first seed alone
has them, and they do not count among the examples. When a chunk is done, a line of JSON is added to `results.jsonl` in
the work folder; a later call leaves out what stands there for the same revision of the checkout. A counterexample is
saved beside it, for `dshconform replay`.

    scripts/campaign --contract prompt --examples 400 --chunk 20      twenty seeds, each with twenty examples
    scripts/campaign --contract cancellation --commands 40            longer examples than those of a run
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final

from dshconform.adapters.catalog import IMPLEMENTATIONS, CannotStart
from dshconform.checks.catalog import MODELS, VARIANTS, all_checks
from dshconform.cli.jobs import perform
from dshconform.cli.target import Target
from dshconform.contracts.machine import MachineCheck
from dshconform.links.link import AdapterFault, Limits, Link
from dshconform.running.check import Outcome, RunContext
from dshconform.running.ledger import Deviation, Ledger, read_ledger
from dshconform.running.verdict import undeclared
from dshconform.spec.specification import load_specification
from dshconform.yaml_text import write_yaml

ROOT: Final = Path(__file__).resolve().parent.parent
NAMED: Final = ("inbox", "cancellation", "wake latch", "rollback")
FIRST_SEED: Final = 1
"""The seed whose chunk has the prologues."""
IMPLEMENTED: Final = ("reference", "dsh-node")


@dataclass(frozen=True, slots=True)
class Chunk:
    """The result of one run of one machine.

    Args:
        revision: Of the checkout.
        implementation: Its name.
        contract: The machine's contract.
        seed: The seed.
        examples: Worlds opened behind the prologues.
        prologues: Those that were run before.
        commands: Commands sent.
        stopped: Examples that ended at a deviation listed with `after: stop`.
        deviations: The listed deviations that were met.
        failures: The clauses blamed for what is listed nowhere, each with the file of its counterexample; and what the
            suite itself did not do as it promises.
        seconds: How long it took.
        length: Commands of an example behind its prologue, at most; where it is none, as many as in a run.
    """

    revision: str
    implementation: str
    contract: str
    seed: int
    examples: int
    prologues: int
    commands: int
    stopped: int
    deviations: Sequence[str]
    failures: Mapping[str, str]
    seconds: float
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Campaign:
    """The chunks of one machine on one implementation that are to be done.

    Args:
        revision: Of the checkout.
        implementation: Its name.
        contract: The machine's contract.
        seeds: One for each chunk.
        examples: Worlds of each, behind the prologues.
        known: The implementation's ledger.
        work: Where results go.
        length: Commands of an example behind its prologue, at most; where it is none, as many as in a run.
    """

    revision: str
    implementation: str
    contract: str
    seeds: Sequence[int]
    examples: int
    known: Sequence[Deviation]
    work: Path
    length: int | None = None

    def __len__(self) -> int:
        return len(self.seeds)

    def perform(self, number: int, link: Link) -> tuple[Chunk, bool]:
        """Do one chunk, and write it down."""
        check = next(check for check in all_checks() if check.name == f"machine/{self.contract}")
        if undeclared(check, link.hello) is not None:
            raise ValueError(f"{self.implementation} does not offer what the machine {self.contract!r} needs")
        seed, ledger, began = self.seeds[number], Ledger(self.known), time.monotonic()
        if self.length is not None and isinstance(check, MachineCheck):
            check = replace(check, commands=self.length)
        outcome = Outcome(check=check.name)
        prologues = check.worlds(0)
        context = RunContext(
            link=link,
            ledger=ledger,
            seed=seed,
            examples=prologues + self.examples,
            progress=lambda _: None,
            first=0 if seed == FIRST_SEED else prologues,
        )
        check.run(context, outcome)
        chunk = Chunk(
            revision=self.revision,
            implementation=self.implementation,
            contract=self.contract,
            seed=seed,
            examples=outcome.examples - outcome.prologues,
            prologues=outcome.prologues,
            commands=outcome.commands,
            stopped=outcome.stopped,
            deviations=[entry.title for entries in ledger.deviating().values() for entry in entries],
            failures=self._saved(seed, outcome),
            seconds=round(time.monotonic() - began, 1),
            length=self.length,
        )
        with results_of(self.work).open("a", encoding="utf-8") as results:
            results.write(json.dumps(asdict(chunk), ensure_ascii=False) + "\n")
        return chunk, False

    def _saved(self, seed: int, outcome: Outcome) -> dict[str, str]:
        saved = {} if outcome.suite_fault is None else {"fault of the suite": outcome.suite_fault}
        for number, failure in enumerate(outcome.failures, 1):
            parts = (self.implementation, self.contract, self.length, seed, number)
            name = "-".join(str(part) for part in parts if part is not None).replace(" ", "-") + ".yaml"
            (self.work / name).write_text(write_yaml(failure.document), encoding="utf-8")
            saved[", ".join(failure.difference.clauses) or f"no clause ({number})"] = str(self.work / name)
        return saved


def results_of(work: Path) -> Path:
    """The file with a line for each chunk."""
    return work / "results.jsonl"


def read_results(work: Path, revision: str) -> list[Chunk]:
    """The chunks that were done of this revision."""
    path = results_of(work)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    chunks = [Chunk(**json.loads(line)) for line in lines if line.endswith("}")]  # the last may be cut off
    return [chunk for chunk in chunks if chunk.revision == revision]


def revision_of(root: Path) -> str:
    """The commit that is checked out, with a `+` where files differ from it."""
    commit, changed = (
        subprocess.run(["git", "-C", str(root), *args], capture_output=True, text=True, check=True).stdout.strip()
        for args in (("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
    )
    return f"{commit}+" if changed else commit


def missing_seeds(done: Sequence[Chunk], examples: int, chunk: int) -> list[int]:
    """The seeds, from the first on, of the chunks that are still needed for so many examples."""
    have = sum(one.examples for one in done)
    taken = {one.seed for one in done}
    free = (seed for seed in count(FIRST_SEED) if seed not in taken)
    return [next(free) for _ in range(max(0, -(-(examples - have) // chunk)))]


def summary(chunks: Sequence[Chunk]) -> list[str]:
    """A line for each machine on each implementation."""
    lines = [f"{'implementation':<15} {'contract':<14} {'examples':>9} {'commands':>10} {'seeds':>9} {'failures':>9}"]
    for key in dict.fromkeys((chunk.implementation, chunk.contract, chunk.length) for chunk in chunks):
        ours = [chunk for chunk in chunks if (chunk.implementation, chunk.contract, chunk.length) == key]
        examples, commands = sum(chunk.examples for chunk in ours), sum(chunk.commands for chunk in ours)
        seeds = f"{min(chunk.seed for chunk in ours)} to {max(chunk.seed for chunk in ours)}"
        failures = sum(len(chunk.failures) for chunk in ours)
        lines.append(f"{key[0]:<15} {key[1]:<14} {examples:>9,} {commands:>10,} {seeds:>9} {failures:>9}")
        lines += [] if key[2] is None else [f"  up to {key[2]} commands an example, behind its prologue"]
        met = sorted({title for chunk in ours for title in chunk.deviations})
        lines += [f"  listed: {title}" for title in met]
        lines += [f"  FAILED {clauses}: {file}" for chunk in ours for clauses, file in chunk.failures.items()]
    return lines


def main() -> int:
    """Run the campaign from the command line."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    contracts = [name for name in NAMED if name in MODELS]
    parser.add_argument("--contract", action="append", choices=list(MODELS), help=f"repeatable; {', '.join(contracts)}")
    parser.add_argument("--implementation", action="append", choices=list(IMPLEMENTATIONS), help="repeatable; both")
    parser.add_argument("--examples", type=int, default=20_000, help="of each machine on each implementation")
    parser.add_argument("--chunk", type=int, default=500, help="examples that share a seed")
    parser.add_argument("--commands", type=int, help="of an example behind its prologue; as many as in a run")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--work", type=Path, default=ROOT / ".dshconform" / "campaign", help="where results are kept")
    options = parser.parse_args()
    revision = revision_of(ROOT)
    options.work.mkdir(parents=True, exist_ok=True)
    checks, clauses = [check.name for check in all_checks()], load_specification().clauses
    status = 0
    for implementation in options.implementation or IMPLEMENTED:
        ledger = read_ledger(IMPLEMENTATIONS[implementation].ledger, clauses, checks, VARIANTS)
        target = Target(IMPLEMENTATIONS[implementation], f"--implementation {implementation}", Limits(), options.work)
        with target.open(print):
            pass  # what has to be installed is installed now, once
        for contract in options.contract or contracts:
            done = [
                chunk
                for chunk in read_results(options.work, revision)
                if (chunk.implementation, chunk.contract, chunk.length) == (implementation, contract, options.commands)
            ]
            seeds = missing_seeds(done, options.examples, options.chunk)
            print(f"{implementation}, {contract}: {len(done)} chunks are done, {len(seeds)} to go", flush=True)
            known = tuple(ledger.entries)
            campaign = Campaign(
                revision, implementation, contract, seeds, options.chunk, known, options.work, options.commands
            )
            if not seeds:
                continue
            result = perform(target, campaign, min(options.jobs, len(seeds)), lambda _: None)
            if result.fault is not None:
                print(result.fault, file=sys.stderr)
                status = 2
            if result.interrupted:
                print("interrupted: what is done stays done", file=sys.stderr)
                return 130
    chunks = read_results(options.work, revision)
    print("\n".join([f"revision {revision}", *summary(chunks)]))
    return status or int(any(chunk.failures for chunk in chunks))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (AdapterFault, CannotStart) as error:
        sys.exit(str(error))
