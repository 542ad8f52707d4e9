"""Scenario files are read strictly, and their shorthands mean what the module says."""

import pytest

from dshconform.scenarios.load import ScenarioError, bundled, read_scenario
from dshconform.spec.specification import load_specification

TEXT = """
scenario: x
title: X
contract: turn
steps:
  - do: agent.followup
    args: {agent: a, message: {$message: A}}
    by: A-A-01
    observed:
      - {log: turn/start, data: {turn: {$by: A-A-02, is: 1}}}
      - {$chunks: hi, turn: 1, step: 1, by: A-A-03}
"""


def test_a_scenario_is_read() -> None:
    """Messages are whole messages, chunks whole rows, and rows without `by` are demanded by their step."""
    scenario = read_scenario(TEXT, "x.yaml")
    assert (scenario.id, scenario.contract, scenario.profile, scenario.features) == ("x", "turn", "core", ())
    step = scenario.steps[0]
    assert step.args["message"] == {
        "id": "A",
        "role": "user",
        "content": [{"type": "text", "text": "A"}],
        "source": {"kind": "user"},
    }
    assert step.expect.rows is not None
    assert [row.clauses for row in step.expect.rows] == [("A-A-01",)] + [("A-A-03",)] * 4
    assert scenario.clauses == ("A-A-01", "A-A-02", "A-A-03")


def test_a_model_makes_the_world() -> None:
    """With `model`, the world, the model and the agents stand before the steps."""
    scenario = read_scenario(TEXT.replace("steps:", "model: [{$text: hi}, gate]\nagents: [a, b]\nsteps:"), "x.yaml")
    assert [step.op for step in scenario.steps] == [
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
        ("    by: A-A-01\n", "", "step 1: `log assistant/chunk`|is demanded by no clause|no clause"),
        ("log: turn/start", "logg: turn/start", "step 1: .* is no row"),
        ("$message: A", "$message: 1", "step 1: \\$message needs a text, not 1"),
        ("contract: turn", "contract: turn\nonly: [logs]", "unknown kind of row 'logs'"),
        ("contract: turn", "contract: turn\nmodel: hi", "`model` must be `gate` or a list"),
        ("contract: turn", "contract: turn\nmodel: [{$txt: hi}]", "is no model script"),
        ("steps:", "steps: []\nabout: x\nmore:", "unknown member 'more'"),
        ("do: agent.followup", "do: agent.folowup", "step 1: .*agent.folowup"),
        ("{agent: a, message", "{agnt: a, message", "step 1: .*agnt"),
        ("title: X", "title: X\ntitle: Y", "the key 'title' stands twice"),
    ],
)
def test_a_wrong_file_is_an_error(old: str, new: str, message: str) -> None:
    """The error names the file, the step and what is wrong."""
    text = TEXT.replace(old, new, 1)
    if old == "    by: A-A-01\n":
        text = text.replace("{turn: {$by: A-A-02, is: 1}}", "{turn: 1}")
    with pytest.raises(ScenarioError, match=message):
        read_scenario(text, "x.yaml")


def test_the_bundled_scenarios_cite_clauses_that_exist() -> None:
    """Every scenario has its own id and cites known clauses of level must or should."""
    specification = load_specification()
    scenarios = bundled()
    assert len({scenario.id for scenario in scenarios}) == len(scenarios) >= 12
    for scenario in scenarios:
        for clause in scenario.clauses:
            assert specification.clause(clause).level in {"must", "should"}, (scenario.id, clause)
