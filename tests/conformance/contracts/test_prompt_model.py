"""The prompt model: its grid is reached, the reference follows it, and each planted fault is found by its clause."""

import random
from collections import Counter
from itertools import pairwise
from typing import Final

import pytest
from typeguard import suppress_type_checks

from dshconform.contracts import prompt_commands as write
from dshconform.contracts.inbox_commands import burst
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.model import CommandError
from dshconform.contracts.prompt import PromptModel
from dshconform.contracts.prompt_text import Unrenderable, joined, rendered, rules_of, snapshot_text
from dshconform.contracts.source import Source
from dshconform.faults import Fault
from dshconform.faults.assemblies import ASSEMBLY_FAULTS
from dshconform.faults.prompts import PROMPT_FAULTS
from dshconform.faults.rendered_prompts import RENDERING_FAULTS
from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap
from dshconform.running.step import Step
from dshconform.spec import Level, load_specification
from tests.conformance.machines import apply_all, assert_finds, assert_prologues_reach_every_clause, run, titles

CHECK = MachineCheck(PromptModel, commands=4)
OPEN: Final = write.open_world()
NEAR: Final = write.assemble("near")
UNSEEN: Final = {"schemas-are-shared", "hidden-providers-are-asked", "suppression-is-a-switch"}
"""What only shows to those who keep a value, which takes the feature `values`, and what is asked in vain: the machine
blames that on the call of the assembly (PROMPT-ASM-01), and scenarios on the clause itself."""
FAULTS: Final = [
    fault
    for fault in (*PROMPT_FAULTS, *ASSEMBLY_FAULTS, *RENDERING_FAULTS)
    if fault.clause in PromptModel.clauses and fault.id not in UNSEEN
]


def applied(*commands: JsonMap) -> tuple[PromptModel, Step]:
    """A model behind some commands, the first of which opens its world, and the last one's step."""
    model = PromptModel()
    return model, apply_all(model, (OPEN, *commands))[0]


# ---------------------------------------------------------------------- the model and the reference


@pytest.mark.long
def test_every_cited_clause_is_reached_whatever_the_seed(link: Link) -> None:
    """The prologues alone evaluate each clause that the model cites, and the model lists what it cites."""
    assert_prologues_reach_every_clause(PromptModel, link)


def test_the_cited_clauses_bind_whoever_declares_the_profile() -> None:
    """Each is a `must` of the core or of prompts; of the latter only what takes a rewritten log is left out."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in PromptModel.clauses]
    assert len(set(PromptModel.clauses)) == len(clauses)
    assert {clause.level for clause in clauses} == {Level.MUST}
    assert {clause.profile for clause in clauses} == {"core", "prompt"}
    of_prompts = {clause.id for clause in specification.clauses.values() if clause.profile == "prompt"}
    assert of_prompts - set(PromptModel.clauses) == {"PROMPT-SNAP-05", "PROMPT-SNAP-06"}
    assert set(PromptModel.variants.values()) <= set(PromptModel.clauses)


@suppress_type_checks
@pytest.mark.parametrize("switches", [frozenset[str](), frozenset(PromptModel.variants)], ids=["clauses", "variants"])
def test_the_prologues_visit_every_cell_of_the_grid_and_no_other(switches: frozenset[str]) -> None:
    """No implementation is needed for that, and no luck."""
    visited: Counter[str] = Counter()
    for prologue in PromptModel(switches).prologues():
        model = PromptModel(switches)
        for command in prologue:
            cell = model.cell(command)
            visited.update([] if cell is None else [cell])
            model.apply(command)
    assert len(set(PromptModel.cells)) == len(PromptModel.cells)
    assert set(visited) == set(PromptModel.cells)


@pytest.mark.long
def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Prologues and random examples behind them."""
    outcome = run(CHECK, link, examples=140, seed=7)
    assert outcome.failures == []
    assert set(PromptModel.clauses) <= set(outcome.held)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_is_found_by_the_clause_that_it_violates(fault: Fault, link: Link) -> None:
    """One failure at least blames that clause; it is minimised, and its document shows it again."""
    assert_finds(CHECK, fault, link, commands=7)


# ---------------------------------------------------------------------- what is chosen


@suppress_type_checks
def test_whatever_is_chosen_is_legal_and_examples_are_not_alike() -> None:
    """Everything is contributed everywhere, changes come at every moment, and assemblies end in every way."""
    seen: Counter[str] = Counter()
    for number in range(300):
        source, model = Source(random.Random(number).randbytes(300)), PromptModel()
        while not source.exhausted:
            command = model.propose(source)
            assert model.legal(command)
            op, args = str(command["do"]), command["args"]
            assert isinstance(args, dict)
            seen[f"{op} {args.get('event', args.get('in', args.get('scope', 'root')))}"] += 1
            seen["nothing"] += command == write.NOTHING
            step = model.apply(command)[0]
            seen.update(f"then {title}" for title in titles(step))
            seen.update(f"{kind} {moment}" for kind, _, _, moment in model.world.visited)
    for kind in write.KINDS:
        for scope in write.SCOPES.values():
            assert seen[f"prompt.{kind} {scope}"] > 5, (kind, scope)
        for moment in ("at rest", "while a listener waits", "in tools", "in sections", "in contexts"):
            assert seen[f"{kind} {moment}"] > 2, (kind, moment)
        assert kind == "variable" or seen[f"{kind} in variables"] > 2, kind
    for then in ("live agent/error", "log request/header", "log user/message", "script system-prompt/change"):
        assert seen[f"then {then}"] > 20, then
    for op in ("agent.followup root", "burst root", "scope.open {'agent': 'a'}", "agent.dispose root"):
        assert seen[op] > 10, op
    assert seen["nothing"] < seen.total() / 20  # what stands in for what is not legal


# ---------------------------------------------------------------------- who sees what


def names(*commands: JsonMap) -> list[str]:
    """The sections that the agent's scope sees, in order."""
    model, _ = applied(*commands)
    return [one.name for one in model.world.layers.effective("near", "section")]


def test_a_section_stands_in_the_place_of_the_one_that_it_hides() -> None:
    """Ties stand by layer and registration; who comes back stands last."""
    layers: list[tuple[write.Scope, str]] = [
        *(("root", "z"), ("root", "a"), ("near", "own"), ("near", "z"), ("far", "f"), ("beside", "b"))
    ]
    tie = [write.section(f"{name} {scope}", scope, name, "x", order=5) for scope, name in layers]
    begins = ["harness:identity", write.PERSONA]
    assert names(*tie) == [*begins, "z", "a", "f", "own", "set up"]
    assert names(*tie, write.undo("z root")) == [*begins, "a", "f", "own", "z", "set up"]
    assert names(*tie, write.section("m", "far", "first", "x", order=-0.5))[1] == "first"


@pytest.mark.parametrize(
    ("legal", "commands"),
    [
        pytest.param(False, [OPEN], id="there is a world"),
        pytest.param(False, [write.undo("nobody")], id="nothing has that name"),
        pytest.param(False, [write.section("set up", "root", "s", "x")], id="a name that is taken"),
        pytest.param(True, [write.undo("set up"), write.undo("set up")], id="undone twice"),
        pytest.param(False, [write.RELEASE], id="nobody waits"),
        pytest.param(False, [write.hold(), write.hold()], id="somebody waits"),
        pytest.param(
            False,
            [
                write.section("s", "root", "s", "x"),
                write.section("t", "root", "s", "x", order={"$value": "NaN"}),
            ],
            id="refused for which of two reasons",
        ),
        pytest.param(
            False,
            [
                write.variable("v", "root", "v", write.provider("f", "x", write.variable("w", "root", "w", "x"))),
                NEAR,
            ],
            id="a variable that a variable contributes",
        ),
        pytest.param(
            True,
            [write.variable("v", "root", "v", write.provider("f", "x", write.section("s", "root", "s", "x"))), NEAR],
            id="a section that it contributes",
        ),
        pytest.param(False, [write.refuse("r"), write.undo("set up")], id="whose failure that is"),
        pytest.param(False, [write.shape("l", "root", "answers"), write.hold()], id="nobody would be left to wait"),
        pytest.param(False, [write.guard("drop"), write.guard("reject")], id="which of two decides"),
        pytest.param(True, [write.guard("remove"), write.guard("reject")], id="both act"),
        pytest.param(False, [write.OPEN_FAR], id="the scope is open"),
        pytest.param(False, [write.END_BESIDE, write.assemble(agent=write.BESIDE)], id="the agent has ended"),
    ],
)
def test_only_what_the_clauses_decide_is_legal(legal: bool, commands: list[JsonMap]) -> None:
    """What the specification leaves open, and what makes no sense, is never asked."""
    model, _ = applied(*commands[:-1])
    assert model.legal(commands[-1]) is legal


def test_an_example_begins_with_its_world() -> None:
    """Nothing else is legal before it, and one that does not load is none."""
    model = PromptModel()
    assert not model.legal(NEAR)
    unloadable = write.open_world(toolOrder=[])
    assert model.legal(unloadable)
    assert [step.op for step in model.apply(unloadable)] == ["world.open"]
    assert not model.legal(NEAR)
    assert model.legal(OPEN)
    assert len(model.apply(OPEN)) > 1
    assert model.legal(NEAR)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ({"do": "agent.dance", "args": {}}, "no command of this contract"),
        ({"do": "prompt.section", "args": {"name": "s"}}, "no contribution to a prompt"),
        ({"do": "prompt.suppress", "args": {"as": "n", "in": "elsewhere"}}, "no scope of the prompt contract"),
        ({"do": "agent.followup", "args": {"agent": "b"}}, "the agent.followup of the prompt contract is"),
        ({"do": "listen", "args": {"as": "l", "event": "agent/status", "fn": {"$fn": "l"}}}, "one of its own"),
        (burst(NEAR, NEAR), "assembles with a listener that waits"),
    ],
)
def test_what_is_no_command_is_an_error(command: JsonMap, message: str) -> None:
    """A saved example with a slip in it is told so, with what is known."""
    model, _ = applied()
    with pytest.raises(CommandError, match=message):
        model.legal(command)


# ---------------------------------------------------------------------- what an assembly leads to


def test_what_a_provider_does_stands_where_it_is_asked() -> None:
    """The change and the return stand between the calls; the section is in the next assembly."""
    late = write.provider("f", write.offer(), write.section("late", "near", "late", "x"))
    section = write.section("s", "root", "s", write.provider("g", "x"))
    model, step = applied(section, write.tools("t", "root", late), NEAR)
    asked = ["script prompt/tools", "live system-prompt/change", "return prompt.section", "script prompt/section"]
    assert titles(step) == [*asked, "return prompt.assemble", "task assembled"]
    assert "late" not in str((step.expect.rows or ())[-1].pattern)
    assert "late" in str((model.apply(NEAR)[0].expect.rows or ())[-1].pattern)


def test_a_snapshot_is_told_when_it_has_changed() -> None:
    """And that there is none any more, once; what was rejected or left out is told again."""
    model, _ = applied()
    told: list[int] = []
    for command in (
        *(write.TURN, write.context("c", "root", "c", "one"), write.TURN, write.TURN),
        *(write.undo("c"), write.TURN, write.TURN, write.context("d", "root", "d", "one")),
        *(write.guard("reject"), write.TURN, write.guard("drop"), write.TURN, write.TURN),
    ):
        assert model.legal(command)
        step = model.apply(command)[0]
        if command == write.TURN:
            told.append(titles(step).count("log user/message"))
    assert told == [1, 2, 1, 2, 1, 0, 1, 2]


def test_a_variant_departs_where_the_layer_is_new() -> None:
    """Whoever has contributed something to the scope before has its tools in the same assembly."""
    (switch,) = PromptModel.variants
    offers = write.provider("f", "x", write.tools("t", "far", write.offer(write.tool("t1"))))
    for before, departed in (([], [switch]), ([write.suppress("n", "far")], [])):
        model = PromptModel(frozenset({switch}))
        for command in (OPEN, *before, write.variable("v", "root", "v", offers)):
            model.apply(command)
        shown = str((model.apply(NEAR)[0].expect.rows or ())[-1].pattern)
        assert model.departed == departed
        assert ("'t1'" in shown) is (not departed)


# ---------------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("text", "told", "rules"),
    [
        ("v={{v}}", "v={{w}} $1", {"PROMPT-INT-01"}),
        ("{{w}}}} {w}", "W}} {w}", {"PROMPT-INT-01", "PROMPT-INT-04"}),
        ("${X:-{{lone", "${X:-{{lone", {"PROMPT-INT-04"}),
        ("{{w}}\n{{", "W\n{{", {"PROMPT-INT-01", "PROMPT-INT-04"}),
        ("{{}", "{{}", {"PROMPT-INT-04"}),
        ("plain", "plain", set()),
    ],
)
def test_references_are_filled_in(text: str, told: str, rules: set[str]) -> None:
    """Values are not looked into; what nothing closes stays."""
    variables = {"v": "{{w}} $1", "w": "W"}
    assert rendered("section", [("s", text)], variables) == [("s", told)]
    assert set(rules_of([("s", text)])) == {*rules, "PROMPT-RENDER-01"}


@pytest.mark.parametrize(
    ("text", "clause", "told"),
    [
        ("{{ v }}", "PROMPT-INT-02", 'malformed prompt variable reference "{{ v }}" in section "s"'),
        ("{{}}}}", "PROMPT-INT-02", 'malformed prompt variable reference "{{}}"'),
        ("x {{{v}}}", "PROMPT-INT-03", 'malformed prompt variable reference at "{{{v}}}…" in section "s"'),
        ("{{v} 12345678901234567890 }}", "PROMPT-INT-03", 'at "{{v} 12345678901…" in'),
        ("{{{😀😀😀😀😀😀xy}}", "PROMPT-INT-03", 'at "{{{😀😀😀😀😀😀x…" in'),
        ("{{nope}}", "PROMPT-INT-05", 'unknown prompt variable "{{nope}}" in section "s"; registered variables: v, n'),
        ("{{n}}", "PROMPT-INT-05", 'prompt variable "{{n}}" has no value for this assembly (section "s")'),
    ],
)
def test_what_cannot_be_rendered_says_where(text: str, clause: str, told: str) -> None:
    """The examples of the sheet."""
    with pytest.raises(Unrenderable) as caught:
        rendered("section", [("s", text)], {"v": "x", "n": None})
    assert told in str(caught.value)
    assert caught.value.clause == clause


def test_texts_are_joined_without_those_that_are_empty() -> None:
    """White space is a text; without any context there is no snapshot."""
    texts = rendered("section", [("a", "A"), ("b", ""), ("c", "{{e}}"), ("d", " ")], {"e": ""})
    assert joined(texts) == "A\n\n "
    assert snapshot_text([]) == ""
    assert snapshot_text([("c", "one")]).endswith("snapshots.\n\none")


# ---------------------------------------------------------------------- minimising


def test_simpler_commands() -> None:
    """Functions do less, then become what they answer; contributions become global, in no order, incomplete."""
    model = PromptModel()
    does = write.provider("f", "x", write.undo("a"), write.undo("b"))
    shorter = model.simpler(write.section("s", "far", "s", does, order=5, complete=True))
    assert write.section("s", "far", "s", write.provider("f", "x", write.undo("b")), order=5, complete=True) in shorter
    assert write.section("s", "far", "s", "x", order=5, complete=True) in shorter
    assert write.section("s", "root", "s", does, order=5) in shorter
    assert write.section("s", "far", "s", does, order=0, complete=True) in shorter
    assert model.simpler(write.section("s", "root", "s", "x")) == []
    assert model.simpler(write.hold("far")) == [write.assemble("far"), write.hold()]
    assert model.simpler(write.open_world(persona="x")) == [OPEN]
    assert model.simpler(OPEN) == model.simpler(write.RELEASE) == model.simpler(write.TURN) == []


def test_simpler_commands_are_commands() -> None:
    """What a minimiser tries is a command of the contract, and gets simpler for a while only."""
    for prologue in PromptModel().prologues():
        for command in prologue:
            chain = [command]
            while options := PromptModel().simpler(chain[-1]):
                assert len(chain) < 12
                chain.append(options[0])
            assert all(one != other for one, other in pairwise(chain))
