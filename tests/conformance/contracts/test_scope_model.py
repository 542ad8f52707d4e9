"""The scope model: it reaches what it cites, the reference follows it, and each planted fault is found."""

import random
from collections import Counter
from itertools import pairwise

import pytest
from typeguard import suppress_type_checks

from dshconform.contracts import scope_commands as write
from dshconform.contracts.inbox_commands import burst
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.model import CommandError
from dshconform.contracts.scope import ScopeModel
from dshconform.contracts.scope_rows import Strands
from dshconform.contracts.source import Source
from dshconform.faults import ALL_FAULTS, Fault
from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap
from dshconform.running.step import Step
from dshconform.spec import Level, load_specification
from tests.conformance.machines import (
    apply_all,
    assert_choices_stay_in_the_grid,
    assert_finds,
    assert_prologues_reach_every_clause,
    assert_prologues_visit_the_grid,
    run,
)

CHECK = MachineCheck(ScopeModel, commands=0)
FAULTS = tuple(fault for fault in ALL_FAULTS if fault.clause in ScopeModel.clauses)


def applied(*commands: JsonMap) -> tuple[ScopeModel, list[Step]]:
    """A model behind some commands, and the last one's steps."""
    model = ScopeModel()
    return model, apply_all(model, commands)


def rows(steps: list[Step]) -> list[str]:
    """What must be seen, in short."""
    return [row.title for row in steps[0].expect.rows or ()]


def heard(model: ScopeModel, to: str | None) -> list[str]:
    """Who hears an event."""
    steps = model.apply(write.dispatch("emit", to))
    return [str(row.pattern["part"]) for row in steps[0].expect.rows or () if row.title == "script ping"]


def heard_by(*names: str) -> list[str]:
    """The same, as the rows say it: their order is the affair of one clause."""
    return [str({"$by": ("EVT-ON-01",), "is": name}) for name in names]


# ---------------------------------------------------------------------- the model and the reference


@pytest.mark.long
def test_every_cited_clause_is_reached_whatever_the_seed(link: Link) -> None:
    """The prologues alone evaluate each clause that the model cites, and the model lists what it cites."""
    assert_prologues_reach_every_clause(ScopeModel, link)


def test_the_grid_is_reached_by_construction() -> None:
    """The prologues alone visit each cell, whatever the seed; choices lead to no other."""
    assert_prologues_visit_the_grid(ScopeModel)
    assert_choices_stay_in_the_grid(ScopeModel, examples=60)


def test_the_cited_clauses_bind_whoever_declares_the_profile() -> None:
    """Of the clauses of scopes that can be seen without a session, none is left out."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in ScopeModel.clauses]
    assert len(set(ScopeModel.clauses)) == len(clauses)
    assert {clause.profile for clause in clauses} == {"context"}
    assert {clause.level for clause in clauses} == {Level.MUST}
    sheet = [clause for clause in specification.clauses.values() if clause.profile == "context"]
    of_scopes = {clause.id for clause in sheet if clause.id.partition("-")[0] in {"SCOPE", "BIND", "LAYER"}}
    assert of_scopes <= set(ScopeModel.clauses)


@pytest.mark.long
def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Prologues and random examples behind them."""
    outcome = run(MachineCheck(ScopeModel, commands=10), link, examples=130, seed=7)
    assert outcome.failures == []
    assert outcome.suite_fault is None
    assert set(ScopeModel.clauses) <= set(outcome.held)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_is_found_by_the_clause_that_it_violates(fault: Fault, link: Link) -> None:
    """One failure at least blames that clause; it is minimised, and its document shows it again."""
    assert_finds(CHECK, fault, link, commands=5)


def test_every_cited_clause_has_a_fault_that_the_machine_finds() -> None:
    """Those of the test above."""
    assert {fault.clause for fault in FAULTS} == set(ScopeModel.clauses)


# ---------------------------------------------------------------------- what is chosen


@suppress_type_checks
def test_whatever_is_chosen_is_legal_and_everything_comes() -> None:
    """In each state, in each mode, and with each doing of the listeners."""
    seen: Counter[str] = Counter()
    for number in range(150):
        source, model = Source(random.Random(number).randbytes(400)), ScopeModel()
        while not source.exhausted:
            command = model.propose(source)
            assert model.legal(command)
            seen.update((model.cell(command) or "nothing").split(" / "))
            model.apply(command)
    for part in {part for cell in ScopeModel.cells for part in cell.split(" / ")}:
        assert seen[part] > 2, part
    assert seen["root"] < seen.total() / 10  # what stands in for what is not legal looks at the root


# ---------------------------------------------------------------------- who hears, and who sees


def test_an_event_goes_up_the_chain() -> None:
    """SCOPE-EVT-01 to -04: to what is in no scope, and to those around the key."""
    listeners = [write.listen(name.lower(), name) for name in write.SCOPES]
    model, _ = applied(*listeners, write.listen("plain", "root"), write.listen("all", "D", everywhere=True))
    assert heard(model, "to-c") == heard_by("a", "b", "c", "plain", "all")
    assert heard(model, "to-a") == heard_by("a", "plain", "all")
    assert heard(model, "to-none") == heard_by("plain", "all")
    assert heard(model, None) == heard_by("a", "b", "c", "d", "plain", "all")
    assert heard(model, "no-c") == heard_by("all")
    assert heard(model, "strict-c") == heard_by("b", "all")
    model.apply(write.rebind("link-c", "d"))
    assert heard(model, "to-c") == heard_by("a", "c", "d", "plain", "all")
    assert heard(model, "strict-c") == heard_by("all")


def test_the_nearest_entry_of_a_name_hides_the_others_in_their_place() -> None:
    """What ends uncovers what it hid; a re-link shows other entries."""
    model, _ = applied(
        *(write.add("g", "x", "root"), write.add("h", "y", "root"), write.add("b", "z", "B")),
        *(write.add("c", "y", "C"), write.add("d", "x", "D")),
    )
    assert model.world.view("c") == ["x", "y", "z"]
    assert model.world.view("a") == model.world.view(None) == ["x", "y"]
    for command in (write.undo("g", "t1"), write.undo("h", "t2")):
        model.apply(command)
    assert model.world.view("c") == ["z", "y"]
    model.apply(write.rebind("link-c", "d"))
    assert model.world.view("c") == ["x", "y"]
    model.apply(write.close("D", "t3"))
    assert model.world.view("c") == ["y"]


def test_undos_come_behind_the_command_and_who_waits_comes_last() -> None:
    """What ends in a listener is undone when the dispatch is over."""
    model, steps = applied(
        *(write.effect("e", "C"), write.effect("g", "C", gated=True)),
        *(write.listen("ends", "B", write.close("C", "t")), write.listen("l", "C"), write.dispatch("emit", "to-c")),
    )
    told = ["script ping", "return scope.close", "script ping", "return dispatch", "gate undo", "script undo"]
    assert rows(steps) == told
    assert rows(model.apply(write.release("g"))) == ["task t"]


def test_a_plugin_that_ends_while_it_loads_is_undone_when_its_body_has_ended() -> None:
    """FIBER-DISP-06: until then its entries are seen, and its listeners heard."""
    loading = (write.mount("p", "B", "gated"), write.add("n", "x", "p"), write.listen("l", "p"), write.end("p", "t"))
    model, _ = applied(*loading)
    assert model.world.view("c") == ["x"]
    assert heard(model, "to-c") == heard_by("l")
    assert rows(model.apply(write.release("body p"))) == ["task t"]
    assert model.world.view("c") == []
    assert heard(model, "to-c") == []


def test_a_composite_waits_for_the_scope_that_it_has_adopted_and_for_no_other() -> None:
    """SCOPE-DISP-05: by its disposer, not by a function that closes it."""
    for adopted, told in (
        ("scope", ["script undo", "gate undo", "return undo"]),
        ("wrapper", ["script undo", "script undo", "return scope.close", "script undo", "return undo", "gate undo"]),
    ):
        assert adopted in {"scope", "wrapper"}
        made = write.composite("c", write.MINTER, "scope" if adopted == "scope" else "wrapper")
        _, steps = applied(made, write.undo("c", "t"))
        assert sorted(rows(steps)) == sorted(told)


def test_rows_without_an_order_stand_in_strands_of_their_own() -> None:
    """Undos of different owners; an undo and who waits for its owner have an order."""
    strands = Strands(owners={"e": "A", "f": "B"}, behind={"t": frozenset({"A"})})
    e, f, task = strands(
        [
            {"on": "script", "kind": "undo", "part": {"$by": "FIBER-DISP-03", "is": "e"}},
            {"on": "script", "kind": "undo", "part": "f"},
            {"on": "task", "task": "t"},
        ]
    )
    assert set(e).isdisjoint(f)
    assert set(f).isdisjoint(task)
    assert not set(e).isdisjoint(task)


# ---------------------------------------------------------------------- when a command makes sense


@pytest.mark.parametrize(
    ("legal", "commands"),
    [
        pytest.param(False, [write.add("n", "x", "B"), write.add("m", "x", "B")], id="a name that is taken"),
        pytest.param(True, [write.add("n", "x", "B"), write.add("m", "x", "C")], id="a name that is hidden"),
        pytest.param(False, [write.mint("s", "e", "root"), write.add("n", "x", "s")], id="no service is found"),
        pytest.param(False, [write.mount("p", "B", "waiting"), write.add("n", "x", "p")], id="not loaded"),
        pytest.param(True, [write.close("B", "t"), write.add("n", "x", "B")], id="a scope that has ended"),
        pytest.param(False, [write.close("B", "t"), write.mint("s", "e", "B", "a")], id="is the key bound, or not"),
        pytest.param(False, [write.release("e")], id="nothing waits"),
        pytest.param(False, [write.effect("e", "B"), write.effect("e", "B")], id="a name is used once"),
        pytest.param(False, [write.listen("l", "nowhere")], id="no such context"),
        pytest.param(
            False,
            [
                *(
                    write.listen("l", "A", write.end(write.MINTER, "t")),
                    write.listen("m", "A", write.mint("s", "a", "A")),
                ),
                write.dispatch("emit"),
            ],
            id="a scope whose minter is about to end",
        ),
        pytest.param(
            False,
            [
                *(write.listen("l", "A", write.close("B", "t")), write.listen("m", "A", write.look("c"))),
                write.dispatch("serial"),
            ],
            id="undos between two listeners",
        ),
        pytest.param(False, [write.listen("l", "A", write.REJECTS), write.dispatch("waterfall")], id="a later failure"),
        pytest.param(
            False, [burst(write.close("A", "t"), write.dispatch("serial"))], id="in the same stretch, or the next one"
        ),
        pytest.param(False, [burst(write.mint("s", "e", "root"), write.add("n", "x", "s"))], id="found at once"),
        pytest.param(True, [burst(write.mint("s", "e", "A"), write.add("n", "x", "s"))], id="used at once"),
        pytest.param(False, [burst(write.close("A", "t"), write.effect("e", "B"))], id="another one's"),
    ],
)
def test_only_what_the_clauses_decide_is_legal(legal: bool, commands: list[JsonMap]) -> None:
    """What the specification leaves open, and what makes no sense, is never asked."""
    model, _ = applied(*commands[:-1])
    assert model.legal(commands[-1]) is legal


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ({"do": "agent.dance", "args": {}}, "no command of this contract"),
        (write.add("n", "x", "B", "elsewhere"), "an entry goes to table or outer, not to 'elsewhere'"),
        ({"do": "listen", "args": {"as": "l", "event": "pong", "fn": {"$fn": "l"}}}, "hear ping, not 'pong'"),
        (write.listen("l", "B", write.bind("x", "e", "a")), "no listener of this contract does 'scope.bind'"),
        ({"do": "dispatch", "args": {"mode": "bail", "event": "ping"}}, "'bail' is no mode of dispatch"),
        ({"do": "dispatch", "args": {"mode": "emit", "event": "ping", "to": "you"}}, "not to 'you'"),
        (burst(write.tag("A")), "a burst of the scope contract has two commands"),
        (
            {"do": "effect", "args": {**write.composite("c", "A", "scope")["args"], "in": "B"}},  # type: ignore[dict-item]
            "a composite of the scope contract",
        ),
    ],
)
def test_what_is_no_command_is_an_error(command: JsonMap, told: str) -> None:
    """A saved example with a slip in it is told so, with what is known."""
    with pytest.raises(CommandError, match=told):
        ScopeModel().legal(command)


# ---------------------------------------------------------------------- minimising


@suppress_type_checks
def test_simpler_commands_are_commands() -> None:
    """What a minimiser tries is a command of the contract, and gets simpler for a while only."""
    model = ScopeModel()
    for prologue in model.prologues():
        for command in prologue:
            chain = [command]
            while options := model.simpler(chain[-1]):
                assert len(chain) < 8
                for option in options:
                    model.legal(option)
                chain.append(options[0])
            assert all(one != other for one, other in pairwise(chain))


def test_simpler_commands() -> None:
    """A burst becomes its commands; effects do not wait, listeners hear, and everything goes through the root."""
    model = ScopeModel()
    pair = write.close("B", "t"), write.effect("e", "B")
    assert model.simpler(burst(*pair)) == list(pair)
    assert model.simpler(write.effect("e", "B", gated=True)) == [
        write.effect("e", "root", gated=True),
        write.effect("e", "B"),
    ]
    acting = write.listen("l", "root", write.look("c"), once=True)
    assert model.simpler(acting) == [write.listen("l", "root", write.look("c")), write.listen("l", "root", once=True)]
    assert model.simpler(write.composite("c", "B", "entry")) == [write.composite("c", "root", "entry")]
    assert model.simpler(write.listen("l", "root", twin="k")) == [write.listen("l", "root")]
    assert model.simpler(write.tag("root")) == model.simpler(write.listen("l", "root")) == []
    commands = [write.tag("A"), write.tag("B")]
    assert model.tidied(commands) == commands
