"""The scheduling model: it reaches what it cites, the reference follows it, and each planted fault is found."""

import random
from collections import Counter

import pytest
from typeguard import suppress_type_checks

from dshconform.contracts import scheduling_commands as write
from dshconform.contracts.inbox_commands import (
    burst,
    cancel,
    end,
    fail,
    finish,
    followup,
    inspect,
    items_of,
    read_command,
    steer,
    text,
)
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.model import CommandError
from dshconform.contracts.scheduling import SchedulingModel
from dshconform.contracts.scheduling_rows import STARTS
from dshconform.contracts.source import Source
from dshconform.faults import FAULTS, SCENARIO_FAULTS, SCHEDULING_FAULTS, TURN_FAULTS, Fault
from dshconform.links.link import Link
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import Step
from dshconform.spec import Level, load_specification
from tests.conformance.machines import (
    apply_all,
    assert_choices_stay_in_the_grid,
    assert_finds,
    assert_prologues_reach_every_clause,
    assert_prologues_visit_the_grid,
    run,
    titles,
)

CHECK = MachineCheck(SchedulingModel, commands=4)


def applied(*commands: JsonMap) -> tuple[SchedulingModel, Step]:
    """A model behind some commands, and the last one's step."""
    model = SchedulingModel()
    return model, apply_all(model, commands)[0]


def calling(cap: int | None, *calls: str) -> tuple[JsonMap, ...]:
    """The commands that lead to the calls of one answer."""
    return write.world(cap), followup("a"), write.asks(*calls)


# ---------------------------------------------------------------------- the model and the reference


@pytest.mark.long
def test_every_cited_clause_is_reached_whatever_the_seed(link: Link) -> None:
    """The prologues alone evaluate each clause that the model cites, and the model lists what it cites."""
    assert_prologues_reach_every_clause(SchedulingModel, link)


def test_the_grid_is_reached_by_construction() -> None:
    """The prologues alone visit each cell, whatever the seed; choices lead to no other."""
    assert_prologues_visit_the_grid(SchedulingModel)
    assert_choices_stay_in_the_grid(SchedulingModel, examples=60)


def test_the_cited_clauses_are_those_of_the_loop_and_of_tools() -> None:
    """Each is a clause that an implementation with the profile is held to, one `should` aside."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in SchedulingModel.clauses]
    assert len(set(SchedulingModel.clauses)) == len(clauses)
    assert {clause.profile for clause in clauses} == {"core", "tools"}
    assert [clause.id for clause in clauses if clause.level is not Level.MUST] == ["CANCEL-IDLE-02"]
    assert set(SchedulingModel.variants.values()) <= set(SchedulingModel.clauses)


@pytest.mark.long
def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Prologues and random examples behind them; the same seed leads to the same report."""
    outcome = run(CHECK, link, examples=80, seed=7)
    assert outcome.failures == []
    assert set(SchedulingModel.clauses) <= set(outcome.held)
    again = run(CHECK, link, examples=80, seed=7)
    assert (again.held, again.commands) == (outcome.held, outcome.commands)


@pytest.mark.long
@pytest.mark.parametrize("fault", SCHEDULING_FAULTS, ids=lambda fault: fault.id)
@pytest.mark.filterwarnings("ignore")  # a fault may leave a coroutine behind
def test_a_fault_is_found_by_the_clause_that_it_violates(fault: Fault, link: Link) -> None:
    """One failure at least blames that clause; it is minimised, and its document shows it again."""
    assert_finds(CHECK, fault, link, commands=8)


def test_the_same_seed_finds_the_same_failures(link: Link) -> None:
    """Minimised alike, and told alike."""
    with SCHEDULING_FAULTS[0].plant():
        one, other = run(CHECK, link), run(CHECK, link)
    assert [failure.document for failure in one.failures] == [failure.document for failure in other.failures]
    assert one.failures


def test_faults_are_told_apart_and_violate_clauses_that_the_model_cites() -> None:
    """Names are used once, and what each does is said in a sentence."""
    every = [*FAULTS, *SCENARIO_FAULTS, *TURN_FAULTS, *SCHEDULING_FAULTS]
    assert len({fault.id for fault in every}) == len(every)
    assert {fault.clause for fault in SCHEDULING_FAULTS} <= set(SchedulingModel.clauses)
    assert all(fault.about.endswith(".") for fault in SCHEDULING_FAULTS)


# ---------------------------------------------------------------------- what is chosen


@suppress_type_checks
def test_whatever_is_chosen_is_legal_and_examples_are_not_alike() -> None:
    """Bodies end in every way and order, policies too; anything comes while they wait; nothing new is cited."""
    seen: Counter[str] = Counter()
    cited: set[str] = set()
    for number in range(250):
        source, model = Source(random.Random(number).randbytes(240)), SchedulingModel()
        while not source.exhausted:
            command = model.propose(source)
            assert model.legal(command)
            agent = model._agent
            op, args = read_command(command)
            kind = f" {write.called_kind(args)[0]}" if op in write.ENDS else ""
            seen[f"{agent.phase} {op}{kind}"] += 1
            seen[f"{len(agent.started)} started" if agent.cause is None else "cancelled"] += agent.phase == "calling"
            steps = model.apply(command)
            seen["apart"] += bool(steps[0].expect.apart)
            cited |= {clause for step in steps for clause in step.expect.cited()}
    assert cited <= set(SchedulingModel.clauses)
    for kind in (write.BODY, write.BEFORE, write.BEHIND):
        assert seen[f"calling gate.resolve {kind}"] > 50
        assert seen[f"calling gate.reject {kind}"] > 20
    for op in ("agent.cancel", "agent.steer", "agent.followup", "agent.inject", "undo", "tool.register", "burst"):
        assert seen[f"calling {op}"] > 20, op
    for count in (1, 2, 3, 4, 5):
        assert seen[f"{count} started"] > 20
    assert seen["cancelled"] > 200
    assert seen["apart"] > 100


# ---------------------------------------------------------------------- what is expected


def test_a_place_is_filled_and_a_result_waits() -> None:
    """A later body that ends frees its place; the result waits for the earlier one."""
    _, step = applied(*calling(2, "c1:read", "c2:read", "c3:read"), write.returns("c2"))
    assert titles(step) == ["log tool/call", "gate tool/execute"]
    assert not step.expect.apart
    assert step.expect.open == (write.BODY, write.BODY)


def test_what_starts_stands_apart_from_what_is_committed() -> None:
    """The first body's end does both, and no clause says in which order; a barrier does."""
    started = calling(2, "c1:read", "c2:read", "c3:read")
    _, step = applied(*started, write.returns("c1"))
    assert sorted(titles(step)) == ["gate tool/execute", "live tools/result", "log tool/call", "log tool/result"]
    assert step.expect.apart == STARTS
    _, step = applied(*calling(1, "c1:read", "c2:read"), write.returns("c1"))
    assert not step.expect.apart
    _, step = applied(*calling(2, "c1:read", "c2:write"), write.returns("c1"))
    assert not step.expect.apart


def test_which_clause_answers_for_a_call_that_waits() -> None:
    """The barrier, the cap, the classifier, the policy that is asked: whatever keeps it from starting."""
    for cap, calls, ends, clause in (
        (2, ("c1:read", "c2:write"), (), "SCHED-EXCL-01"),
        (1, ("c1:read", "c2:read"), (), "SCHED-CAP-01"),
        (2, ("c1:read", "c2:read", "c3:read"), (), "SCHED-PAR-01"),
        (2, ("c1:read", "c2:ask"), (), "SCHED-PAR-02"),
        (2, ("c1:read", "c2:nobody"), (), "MODE-CLASS-01"),
        (2, ("c1:read", "c2:read"), (write.returns("c2"),), "SCHED-COMMIT-01"),
    ):
        _, step = applied(*calling(cap, *calls), *ends)
        assert step.expect.after[0] == clause, calls
    _, step = applied(*calling(2, "c1:read", "c2:read", "c3:read"), write.swap("read", "none"), write.returns("c2"))
    assert step.expect.after[0] == "SCHED-CLASS-01"
    _, step = applied(*calling(2, "c1:read", "c2:read", "c3:read"), cancel(), write.returns("c2"))
    assert step.expect.after[0] == "SCHED-ABORT-02"


# ---------------------------------------------------------------------- when a command makes sense


def test_an_example_begins_with_its_world() -> None:
    """Nothing comes before it, and it comes once."""
    model = SchedulingModel()
    assert not any(model.legal(command) for command in (followup("a"), inspect(), write.unregister("read")))
    model, _ = applied(write.world(2))
    assert not model.legal(write.world(2))
    assert not model.legal(burst(write.world(), followup("a")))


def test_only_what_waits_is_answered() -> None:
    """A gate of the kind that the call is at; the stream while it streams."""
    model, _ = applied(*calling(2, "c1:read", "c2:ask"))
    assert model.legal(write.returns("c1"))
    assert model.legal(write.allow("c2"))
    assert not model.legal(write.returns("c2"))
    assert not model.legal(write.allow("c1"))
    assert not model.legal(write.returns("c3"))
    assert not model.legal(end())
    assert not model.legal(write.asks("c4:read"))


def test_an_answer_is_streamed_as_the_grammar_says() -> None:
    """Calls one after the other, text in front, nothing behind the finish; ids of calls do not come back."""
    model, _ = applied(write.world(), followup("a"), write.called(0, "c1:read"))
    assert model.legal(write.called(1, "c2:read"))
    for senseless in (write.called(0, "c2:read"), write.called(2, "c2:read"), write.called(1, "c1:read"), text("x")):
        assert not model.legal(senseless)
    assert not model.legal(write.called(1, "c2:other"))
    assert not model.legal(write.called(1, write.Asked("c2", "read", "{")))
    model, _ = applied(write.world(), followup("a"), finish("stop"))
    assert not model.legal(text("x"))
    assert not model.legal(fail())
    model, _ = applied(*calling(None, "c1:read"), write.returns("c1"))
    assert not model.legal(write.asks("c1:read"))
    assert not model.legal(steer("c1"))


def test_what_no_clause_decides_is_not_sent() -> None:
    """Which of a commit and a policy that would hold it up comes first; what joins the pool late; late reviews."""
    model, _ = applied(*calling(3, "c1:ask", "c2:ask", "c3:ask"), write.allow("c1"))
    assert not model.legal(write.returns("c1")), "c1 would be committed, and policy asked about c3 behind c2"
    model, _ = applied(*calling(1, "c1:read", "c2:ask"))
    assert model.legal(write.returns("c1")), "with one place the order is plain"
    model, _ = applied(*calling(2, "c1:read", "c2:read", "c3:read"), write.swap("read", "none"))
    assert not model.legal(write.swap("read", "safe")), "c3 has become exclusive"
    assert model.legal(write.swap("read", "unsafe"))
    model, _ = applied(*calling(None, "c1:write"), write.returns("c1"))
    assert not model.legal(burst(write.accept("c1"), cancel()))
    assert not model.legal(write.block("c1", "c1"))
    model, _ = applied(*calling(None, "c1:read", "c2:read"))
    assert not model.legal(burst(write.returns("c1"), write.returns("c2")))
    model, _ = applied(write.world())
    assert not model.legal(burst(followup("a"), write.unregister("read"))), "the prompt may be assembled already"
    assert model.legal(burst(write.unregister("read"), followup("a")))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ({"do": "agent.dance", "args": {}}, "no command of this contract"),
        ({"do": "inbox.clear", "args": {"agent": "a"}}, "no command of this contract"),
        (write.world(0), "positive integer"),
        ({"do": "world.open", "args": {"config": {"without": ["loop"]}}}, "maxParallelToolCalls"),
        ({"do": "undo", "args": {"of": "policy"}}, "takes read, write, ask away"),
        (write.register("tell", "safe"), "registers read, write, ask"),
        ({"do": "gate.reject", "args": {**write.gate(write.BODY, "c1"), "error": 1}}, "no error of the scheduling"),
        ({"do": "gate.resolve", "args": write.gate(write.BODY, "c1")}, "returns a `value`"),
        ({"do": "gate.resolve", "args": {**write.gate(write.BEFORE, "c2"), "value": 1}}, "no answer of policy"),
    ],
)
def test_what_is_no_command_is_an_error(command: JsonMap, message: str) -> None:
    """A saved example with a slip in it is told so, with what is known."""
    model, _ = applied(*calling(None, "c1:read", "c2:ask"))
    with pytest.raises(CommandError, match=message):
        model.legal(command)


@pytest.mark.parametrize("value", [{"kind": "accept", "value": 1}, {"kind": "block", "feedback": []}, 1])
def test_what_is_no_review_is_an_error(value: Json) -> None:
    """Other content and blocking are reviews; what the pipeline's own contract tells of is none here."""
    model, _ = applied(*calling(None, "c1:write"), write.returns("c1"))
    with pytest.raises(CommandError, match=r"no review|one block of text"):
        model.legal({"do": "gate.resolve", "args": {**write.gate(write.BEHIND, "c1"), "value": value}})


# ---------------------------------------------------------------------- less, and plainer


def test_simpler_commands() -> None:
    """Answers lose calls and what is odd of them, ends become plain; what is plain stays."""
    model = SchedulingModel()
    odd = write.asks("c1:read", write.Asked("c2", "ask", "[1]"), kind="stop")
    assert model.simpler(odd) == [
        write.asks(write.Asked("c2", "ask", "[1]"), kind="stop"),
        write.asks("c1:read", kind="stop"),
        write.asks("c1:read", "c2:ask", kind="stop"),
        write.asks("c1:read", write.Asked("c2", "ask", "[1]")),
    ]
    assert model.simpler(write.asks("c1:read")) == [burst(finish("tool-calls"), end())]
    more = burst(*_items(write.asks("c1:read")), cancel())
    assert model.simpler(more) == [burst(finish("tool-calls"), end(), cancel()), write.asks("c1:read")]
    assert model.simpler(write.throws("c1", "coded")) == [write.returns("c1"), write.throws("c1")]
    assert model.simpler(write.throws("c1", "plain", write.BEFORE)) == [write.allow("c1")]
    assert model.simpler(write.deny("c1")) == [write.allow("c1")]
    assert model.simpler(write.block("c1", "b")) == [write.accept("c1")]
    assert model.simpler(write.world(3)) == [write.world()]
    for plain in (write.world(), write.returns("c1"), write.allow("c1"), write.unregister("read")):
        assert model.simpler(plain) == []


def test_tidied_names_reach_into_answers_and_gates() -> None:
    """Messages and calls keep one name each, wherever they stand."""
    tidy = SchedulingModel().tidied(
        [followup("zz"), write.asks("k9:read", "k7:write"), write.returns("k7"), write.block("k7", "yy"), steer("zz")]
    )
    assert tidy == [
        followup("m1"),
        write.asks("c1:read", "c2:write"),
        write.returns("c2"),
        write.block("c2", "m2"),
        steer("m1"),
    ]


def _items(command: JsonMap) -> list[JsonMap]:
    return [{"do": item["op"], "args": item["args"]} for item in items_of(read_command(command)[1])]
