"""What is judged, made by hand: clauses, checks, what an adapter declared, failures."""

from dataclasses import dataclass

from dshconform.protocol.messages import Hello, ImplementationInfo
from dshconform.running.check import Failure, Outcome, RunContext
from dshconform.spec.clause import Clause, Level, Profile
from dshconform.trace.compare import Alignment
from dshconform.trace.pattern import Difference


def clause(identity: str, level: Level = Level.MUST, profile: Profile = Profile.CORE) -> Clause:
    return Clause(
        id=identity,
        level=level,
        profile=profile,
        text="",
        observe="",
        violation="",
        basis="",
        section="",
        page="",
        line=1,
    )


@dataclass(frozen=True)
class FakeCheck:
    name: str
    clauses: tuple[str, ...]
    contract: str = "turn"
    profile: str = "core"
    features: tuple[str, ...] = ()
    divisible: bool = False

    def worlds(self, examples: int) -> int:
        return examples

    def run(self, context: RunContext, outcome: Outcome) -> None:
        raise NotImplementedError

    def conclude(self, outcome: Outcome) -> None:
        pass


def hello(*profiles: str) -> Hello:
    info = ImplementationInfo(name="fake", version="1", language="python")
    return Hello(protocol=1, implementation=info, profiles=list(profiles or ("core",)))


def failure(*clauses: str) -> Failure:
    difference = Difference(clauses, "place", 1, (), 2, 1, "place differs")
    return Failure(difference=difference, steps=(), rows=Alignment(), document={})
