"""A run is judged after its end, and nothing is lost where a fault or the user cuts it short."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from dshconform.links.in_process import InProcessLink
from dshconform.links.link import AdapterFault, Link
from dshconform.protocol.json_value import JsonMap
from dshconform.protocol.messages import Command, Reply
from dshconform.report.json_report import report
from dshconform.running.budget import Budget
from dshconform.running.check import Check, Outcome, RunContext
from dshconform.running.ledger import Ledger
from dshconform.running.run import RunResult, run_checks
from dshconform.running.shard import WHOLE, Shard
from dshconform.running.verdict import Status, Verdict
from dshconform.scenarios.check import ScenarioCheck
from dshconform.scenarios.load import read_scenario
from dshconform.spec.specification import load_specification
from tests.conformance.running.fakes import HELLO, ScriptedAdapter
from tests.conformance.running.judging import FakeCheck

RUNNING: JsonMap = {"result": {"status": "running"}}
IDLE: JsonMap = {"result": {"status": "idle"}}


def scenario(name: str, *statuses: str) -> ScenarioCheck:
    """A check that cites a clause for each status that an agent must show."""
    steps = "".join(
        f"  - {{do: agent.inspect, args: {{agent: a}}, by: {clause}, result: {{status: {status}}}}}\n"
        for clause, status in zip(("LOOP-OPEN-01", "LOOP-PRE-05", "INBOX-CLAIM-01"), statuses, strict=False)
    )
    return ScenarioCheck(
        read_scenario(f"scenario: {name}\ntitle: X\ncontract: turn\nsteps:\n  - {{do: world.open}}\n{steps}", name)
    )


class Ending(ScriptedAdapter):
    """Fails at one command, counted from 1, or at the end."""

    def __init__(self, replies: Sequence[JsonMap], *, at: int | str, error: BaseException | None = None) -> None:
        super().__init__(replies, HELLO)
        self._at = at
        self._error = error or OSError("out of cheese")

    def handle(self, command: Command) -> Reply:
        if len(self.commands) + 1 == self._at:
            raise self._error
        return super().handle(command)

    def close(self) -> None:
        if self._at == "end":
            raise self._error


def run(
    adapter: ScriptedAdapter,
    *checks: Check,
    examples: int = 1,
    shard: Shard = WHOLE,
    budget: Budget | None = None,
    stop_at: Callable[[Outcome], bool] = lambda _: False,
) -> tuple[RunResult, list[str]]:
    told: list[str] = []

    class Told:
        def start(self, check: Check, worlds: int) -> None:
            del worlds
            told.append(f"start {check.name}")

        def advance(self, worlds: int) -> None:
            del worlds

        def finish(self, outcome: Outcome) -> None:
            told.append(f"finish {outcome.check}")

    @contextmanager
    def opening() -> Iterator[Link]:
        with InProcessLink(adapter) as link:
            yield link

    result = run_checks(
        opening(),
        specification=list(load_specification().clauses.values()),
        checks=checks,
        selected=checks,
        ledger=Ledger(),
        seed=1,
        examples=examples,
        progress=Told(),
        shard=shard,
        budget=budget,
        stop_at=stop_at,
    )
    return result, told


def statuses(result: RunResult) -> dict[str, Status]:
    return {one.clause.id: one.status for one in result.judgement.clauses}


def test_what_a_check_found_before_a_fault_counts() -> None:
    """The clause that held holds, the check is cut short, and the report says by what."""
    adapter = Ending([{}, IDLE], at=3)
    result, told = run(adapter, scenario("one", "idle", "idle"), scenario("two", "idle"))
    assert told == ["start scenario/one"]
    assert [(outcome.check, outcome.cut_short, outcome.held) for outcome in result.outcomes] == [
        ("scenario/one", True, {"LOOP-OPEN-01": 1})
    ]
    assert (statuses(result)["LOOP-OPEN-01"], result.judgement.verdict) == (Status.PASS, Verdict.UNKNOWN)
    assert statuses(result)["LOOP-PRE-05"] is Status.NOT_RUN
    assert not result.complete
    document = report(result, spelled="", replays={}, seconds=0)
    footer, checks = document["footer"], document["checks"]
    assert isinstance(footer, dict)
    assert isinstance(checks, list)
    assert (footer["complete"], footer["ran"], footer["fault"]["kind"]) == (False, 0, "died")
    assert checks[0]["cut_short"] is True


@pytest.mark.parametrize(
    ("at", "reproduced"),
    [(3, None), (4, None), (5, None), (6, True)],
    ids=["closing the world", "opening the second", "its step", "closing it"],
)
def test_a_difference_survives_a_fault_behind_it(at: int, reproduced: bool | None) -> None:
    """At the end of its world, or while it is tried again: it is a failure, and told as not tried again."""
    result, _ = run(Ending([{}, RUNNING, {}, RUNNING], at=at), scenario("one", "idle"))
    assert [one.reproduced for one in result.outcomes[0].failures] == [reproduced]
    assert result.fault is not None
    assert statuses(result)["LOOP-OPEN-01"] is Status.FAIL
    assert result.judgement.verdict is Verdict.NOT_CONFORMANT


def test_an_adapter_that_ends_badly_is_not_conformant_yet() -> None:
    """Every check held, but the adapter does not end as it should: the verdict is unknown."""
    result, told = run(Ending([{}, IDLE], at="end"), scenario("one", "idle"))
    assert told[-1] == "finish scenario/one"
    assert result.fault is not None
    assert (result.complete, result.judgement.verdict) == (False, Verdict.UNKNOWN)


def test_the_user_may_interrupt() -> None:
    """What is known by then is judged."""
    adapter = Ending([{}, IDLE], at=3, error=KeyboardInterrupt())
    result, _ = run(adapter, scenario("one", "idle", "idle"))
    assert result.interrupted
    assert (result.fault, result.complete) == (None, False)
    assert statuses(result)["LOOP-OPEN-01"] is Status.PASS
    footer = report(result, spelled="", replays={}, seconds=0)["footer"]
    assert isinstance(footer, dict)
    assert footer["interrupted"] is True


def test_a_run_that_is_stopped_is_not_complete() -> None:
    """With checks left the run has not seen everything, however well it went."""
    adapter = ScriptedAdapter([{}, IDLE])
    result, told = run(adapter, scenario("one", "idle"), scenario("two", "idle"), stop_at=lambda _: True)
    assert told == ["start scenario/one", "finish scenario/one"]
    assert (result.complete, result.fault) == (False, None)
    assert run(ScriptedAdapter([{}, IDLE]), scenario("one", "idle"))[0].complete


def test_an_adapter_that_does_not_greet_cannot_be_judged() -> None:
    """There is no result."""
    adapter = ScriptedAdapter([], {**HELLO, "protocol": 9})
    with pytest.raises(AdapterFault, match="version 9"):
        run(adapter, scenario("one", "idle"))


class Machine(FakeCheck):
    """A check of worlds that are independent: three prologues, then further ones, each told where it was run."""

    def worlds(self, examples: int) -> int:
        return max(3, examples)

    def run(self, context: RunContext, outcome: Outcome) -> None:
        for index in context.shard.share(context.first, self.worlds(context.examples)):
            if index < 3:
                context.budget.need()
            elif context.budget.over:
                break
            RAN.append(f"{self.name} {index}")
            outcome.examples += 1


RAN: list[str] = []
A = Machine("machine/a", ("INBOX-CLAIM-01",), divisible=True)
B = Machine("machine/b", ("INBOX-CLAIM-02",), divisible=True)


class Looks(Budget):
    """A budget of so many looks at it."""

    def __init__(self, looks: int) -> None:
        super().__init__(1)
        self.looks = looks

    @property
    def over(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def divided(looks: int | None, *, shard: Shard = WHOLE, examples: int = 30) -> tuple[RunResult, list[str], list[str]]:
    """A run of two machines around a scenario: its result, what was told, and the examples in order."""
    RAN.clear()
    adapter = ScriptedAdapter([{}, IDLE])
    budget = Budget() if looks is None else Looks(looks)
    result, told = run(adapter, A, scenario("one", "idle"), B, examples=examples, shard=shard, budget=budget)
    return result, told, list(RAN)


def test_without_a_budget_each_check_runs_to_its_end() -> None:
    """One after the other."""
    result, told, ran = divided(None)
    assert ran == [f"machine/{name} {index}" for name in "ab" for index in range(30)]
    assert told[::2] == ["start machine/a", "start scenario/one", "start machine/b"]
    assert result.complete


def test_with_a_budget_every_prologue_comes_before_further_examples() -> None:
    """Those come in rounds, so that no machine waits for another one's last; each is told of once it is done."""
    result, told, ran = divided(1000, examples=30)
    assert ran[:6] == [f"machine/{name} {index}" for name in "ab" for index in range(3)]
    assert [line.split()[0] for line in ran[6:]] == [f"machine/{name}" for name in "abab" for _ in range(20)][:40] + [
        f"machine/{name}" for name in "ab" for _ in range(7)
    ]
    assert sorted(ran) == sorted(f"machine/{name} {index}" for name in "ab" for index in range(30))
    assert [line for line in told if line.startswith("finish")] == [
        "finish scenario/one",
        "finish machine/a",
        "finish machine/b",
    ]
    assert result.complete
    assert not result.behind_budget


def test_what_a_budget_leaves_out_of_prologues_makes_the_verdict_unknown() -> None:
    """The check is cut short, those behind it are not begun, and the reason is named."""
    result, _, ran = divided(5)
    assert ran == ["machine/a 0", "machine/a 1", "machine/a 2", "machine/b 0"]
    assert result.behind_budget
    assert not result.complete
    assert [outcome.check for outcome in result.finished] == ["machine/a", "scenario/one"]
    reasons = {one.clause.id: one.reason for one in result.judgement.clauses}
    assert (reasons["INBOX-CLAIM-01"], reasons["INBOX-CLAIM-02"]) == ("never reached", "behind the budget")


def test_further_examples_alone_may_stay_behind_the_budget() -> None:
    """Every check has come to its end then."""
    result, told, ran = divided(20)
    assert len(ran) < 60
    assert result.behind_budget
    assert result.complete
    assert {"finish machine/a", "finish machine/b"} <= set(told)


def test_a_shard_runs_its_share() -> None:
    """Of each machine every second example, and every second of the other checks; it proves nothing alone."""
    result, told, ran = divided(None, shard=Shard(1, 2), examples=6)
    assert ran == [f"machine/{name} {index}" for name in "ab" for index in (0, 2, 4)]
    assert "start scenario/one" not in told
    assert result.complete
    assert result.judgement.verdict is Verdict.UNKNOWN
