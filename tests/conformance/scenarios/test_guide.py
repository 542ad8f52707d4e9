"""What the guide page shows is true."""

import re
from pathlib import Path

import pytest

from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.links.in_process import InProcessLink
from dshconform.running.ledger import Ledger
from dshconform.running.world import new_world
from dshconform.scenarios.load import build_scenario, read_scenario
from dshconform.scenarios.macros import VALUES
from dshconform.scenarios.model_scripts import SCRIPTS
from dshconform.scenarios.row_groups import GROUPS
from dshconform.trace.fits import SPECIAL
from dshconform.yaml_text import read_yaml

PAGE = (Path(__file__).parents[3] / "docs" / "guide" / "writing-scenarios.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?ms)^```yaml[^\n]*\n(.*?)^```$", PAGE)


def test_the_whole_scenario_holds_on_the_reference() -> None:
    """A reader who saves it and replays it sees no difference."""
    scenario = read_scenario(BLOCKS[0], "the page")
    with InProcessLink(ReferenceAdapter()) as link:
        difference, done = new_world(link, Ledger()).perform_all(scenario.worlds[0])
    assert difference is None
    assert done == len(scenario.worlds[0])


def test_the_other_examples_can_be_read() -> None:
    """A list is steps, an object members; put into a scenario, both are accepted."""
    assert len(BLOCKS) == 4
    for block in BLOCKS[1:]:
        part = read_yaml(block, "the page")
        members = {"steps": part} if isinstance(part, list) else part
        assert isinstance(members, dict)
        world = {} if members.get("profile") == "context" else {"model": "gate"}
        whole = {"scenario": "x", "title": "X", "contract": "turn", **world, **members}
        assert build_scenario(whole, "the page").worlds


@pytest.mark.parametrize("word", sorted({*VALUES, *SCRIPTS, *GROUPS, *SPECIAL, "$tick"}))
def test_every_shorthand_and_pattern_is_explained(word: str) -> None:
    """The page knows each of them."""
    assert word in PAGE
