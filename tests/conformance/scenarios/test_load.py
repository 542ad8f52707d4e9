"""Scenario files are read strictly, and their shorthands mean what the module says."""

import json

import pytest

from dshconform.scenarios.load import Scenario, ScenarioError, build_scenario, bundled, read_scenario
from dshconform.spec.clause import Level, Profile
from dshconform.spec.specification import load_specification

TEXT = """
scenario: x
title: X
contract: turn
steps:
  - do: agent.followup
    args: {agent: a, message: {$message: A}}
    by: LOOP-OPEN-01
    observed:
      - {log: turn/start, data: {turn: {$by: LOOP-OPEN-02, is: 1}}}
      - {$chunks: hi, turn: 1, step: 1, by: LOOP-OPEN-03}
"""


def test_a_scenario_is_read() -> None:
    """Messages are whole messages, chunks whole rows, and rows without `by` are demanded by their step."""
    scenario = read_scenario(TEXT, "x.yaml")
    assert (scenario.id, scenario.contract, scenario.profile, scenario.features) == ("x", "turn", "core", ())
    [steps] = scenario.worlds
    step = steps[0]
    assert step.args["message"] == {
        "id": "A",
        "role": "user",
        "content": [{"type": "text", "text": "A"}],
        "source": {"kind": "user"},
    }
    assert step.expect.rows is not None
    assert [row.clauses for row in step.expect.rows] == [("LOOP-OPEN-01",)] + [("LOOP-OPEN-03",)] * 4
    assert scenario.clauses == ("LOOP-OPEN-01", "LOOP-OPEN-02", "LOOP-OPEN-03")


def test_a_model_makes_the_world() -> None:
    """With `model`, the world, the model and the agents stand before the steps."""
    scenario = read_scenario(TEXT.replace("steps:", "model: [{$text: hi}, gate]\nagents: [a, b]\nsteps:"), "x.yaml")
    assert [step.op for step in scenario.worlds[0]] == [
        "world.open",
        "model.register",
        "agent.create",
        "agent.create",
        "agent.followup",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("scenario: x\n", "", "x.yaml: `scenario` must be a text"),
        ("title: X", "titel: X", "x.yaml: unknown member 'titel'"),
        ("- do:", "- op:", "x.yaml: step 1: a step is an object with `do`"),
        ("    by: LOOP-OPEN-01\n", "", "step 1: `log assistant/chunk`|is demanded by no clause|no clause"),
        ("log: turn/start", "logg: turn/start", "step 1: .* is no row"),
        ("$message: A", "$message: 1", "step 1: \\$message needs a text, not 1"),
        ("contract: turn", "contract: turn\nonly: [logs]", "`only` has 'logs', which is not a kind of row"),
        (
            "contract: turn",
            "contract: turn\nonly: [live]",
            "`log turn/start` is expected, but `only` leaves such rows out",
        ),
        ("contract: turn", "contract: turn\nmodel: hi", "`model` must be `gate` or a list"),
        ("contract: turn", "contract: turn\nagents: [a]", "`agents` needs `model` beside it"),
        ("contract: turn", "contract: turn\nsweep: {ticks: 3}", "a `sweep` needs the feature `ticks`"),
        ("contract: turn", "contract: turn\nfeatures: [ticks]\nsweep: 3", "`sweep` must be {ticks: N}"),
        ("contract: turn", "contract: turn\nmodel: [{$txt: hi}]", "is no model script"),
        ("steps:", "steps: []\nabout: x\nmore:", "unknown member 'more'"),
        ("do: agent.followup", "do: agent.folowup", "step 1: .*agent.folowup"),
        ("{agent: a, message", "{agnt: a, message", "step 1: .*agnt"),
        ("title: X", "title: X\ntitle: Y", "the key 'title' stands twice"),
        ("by: LOOP-OPEN-01", "by: LOOP-OPN-01", "step 1: no clause 'LOOP-OPN-01' .*; near misses: LOOP-OPEN-01"),
        ("$by: LOOP-OPEN-02", "$by: LOOP-OPN-02", "step 1: no clause 'LOOP-OPN-02'"),
        ("is: 1", "is: {$type: strng}", "step 1: unknown \\$type 'strng'"),
        ("is: 1", "is: {$regex: x}", "step 1: unknown special form '\\$regex'"),
        (
            "steps:",
            "steps:\n  - {do: stream.end, args: {gate: {knd: x}}}",
            "step 1: a gate has no 'knd': name it by agent, at, call, kind, part, session",
        ),
        (
            "steps:",
            "steps:\n  - {do: burst, args: {do: [{op: stream.end, args: {gate: {knd: x}}}]}}",
            "step 1: a gate has no 'knd'",
        ),
    ],
)
def test_a_wrong_file_is_an_error(old: str, new: str, message: str) -> None:
    """The error names the file, the step and what is wrong."""
    text = TEXT.replace(old, new, 1)
    if old == "    by: LOOP-OPEN-01\n":
        text = text.replace("{turn: {$by: LOOP-OPEN-02, is: 1}}", "{turn: 1}")
    with pytest.raises(ScenarioError, match=message):
        read_scenario(text, "x.yaml")


def test_what_stands_before_the_steps() -> None:
    """The world has its configuration, tools are registered under their names, agents get their options."""
    members = "model: gate\nabort: manual\nworld: {maxParallelToolCalls: 2}\ntools: [{$tool: echo}]"
    members += "\nagents: {a: {maxTokens: 5}}"
    opened = read_scenario(TEXT.replace("steps:", f"{members}\nsteps:"), "x.yaml").worlds[0][:4]
    assert [step.op for step in opened] == ["world.open", "tool.register", "model.register", "agent.create"]
    assert opened[0].args == {"config": {"maxParallelToolCalls": 2}}
    assert opened[1].args["as"] == "echo"
    assert opened[2].args["stream"] == {"$fn": "model", "calls": [[{"do": "gate"}]], "abort": "manual"}
    assert opened[3].args["options"] == {"provider": "mock", "model": "m1", "maxTokens": 5}


def test_a_group_of_rows_keeps_what_the_step_compares() -> None:
    """Of the rows that a shorthand stands for, those stay that `only` names; its own rows must be among them."""
    text = TEXT.replace("contract: turn", "contract: turn\nonly: [log turn/*]")
    group = "- {$turn: 1, prompt: A, answer: hi}"
    rows = (
        read_scenario(text.replace("- {$chunks: hi, turn: 1, step: 1, by: LOOP-OPEN-03}", group), "x.yaml")
        .worlds[0][0]
        .expect.rows
    )
    assert rows is not None
    assert [row.title for row in rows] == ["log turn/start", "log turn/start", "log turn/end"]


SWEPT = """
scenario: x
title: X
contract: turn
features: [ticks]
sweep: {ticks: 3}
steps:
  - {do: run, args: {task: r, do: [{do: pause, ticks: {$tick: true}}]}, by: LOOP-OPEN-01, result: null}
"""


def test_a_sweep_is_one_world_for_each_moment() -> None:
    """`$tick` counts from 1; the document of one world runs that world alone."""
    scenario = read_scenario(SWEPT, "x.yaml")
    pauses = [steps[0].args["do"] for steps in scenario.worlds]
    assert pauses == [[{"do": "pause", "ticks": tick}] for tick in (1, 2, 3)]
    narrowed = build_scenario(scenario.document_of(1), "x.yaml")
    assert narrowed.worlds == (scenario.worlds[1],)


@pytest.fixture(scope="module")
def all_scenarios() -> list[Scenario]:
    return bundled()


def test_the_bundled_scenarios_cite_clauses_that_exist(all_scenarios: list[Scenario]) -> None:
    """Every scenario has its own id and cites known clauses of level must or should."""
    specification = load_specification()
    assert len({scenario.id for scenario in all_scenarios}) == len(all_scenarios) >= 100
    for scenario in all_scenarios:
        for clause in scenario.clauses:
            assert specification.clause(clause).level in {"must", "should"}, (scenario.id, clause)


def test_every_clause_of_the_agent_page_that_can_be_seen_has_a_scenario(all_scenarios: list[Scenario]) -> None:
    """Each `must` of the profiles core and tools on the page of the agent is demanded by a scenario."""
    cited = {clause for scenario in all_scenarios for clause in scenario.clauses}
    clauses = load_specification().select(levels=[Level.MUST], profiles=[Profile.CORE, Profile.TOOLS])
    wanted = {clause.id for clause in clauses if clause.page == "70-agent-and-loop.md"}
    assert wanted
    assert wanted - cited == set()


def test_scenarios_declare_the_features_that_they_use(all_scenarios: list[Scenario]) -> None:
    """Pauses need `ticks`, kept values need `values`; a scenario that uses one says so."""
    for scenario in all_scenarios:
        words = json.dumps(scenario.document)
        used = {feature for feature, marks in _MARKS.items() if any(mark in words for mark in marks)}
        assert used <= set(scenario.features), scenario.id


_MARKS = {
    "ticks": ('"do": "pause"', '"do": "defer"'),
    "values": ('"do": "value.', '"op": "value.', '"keep"', '"$kept"'),
    "diagnostics": ('"report"', '"unhandled"'),
}
