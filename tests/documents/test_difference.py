"""The difference that README.md shows is what the suite tells of an implementation with that fault."""

import re

from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.contracts.inbox import InboxModel
from dshconform.contracts.machine import MachineCheck
from dshconform.faults import FAULTS
from dshconform.links.in_process import InProcessLink
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.report.failure_text import failure_lines
from dshconform.running.check import Failure, RunContext
from dshconform.running.ledger import Ledger
from dshconform.scenarios.macros import message
from dshconform.spec import load_specification
from tests.conformance.machines import played
from tests.documents.blocks import CHECKOUT

USER: Json = {"kind": "user"}
COMMANDS: tuple[JsonMap, ...] = (
    {"op": "agent.steer", "args": {"agent": "a", "message": message("m1")}},
    {"op": "agent.cancel", "args": {"agent": "a", "cause": USER}},
    {"op": "agent.followup", "args": {"agent": "a", "message": message("m2")}},
    {"op": "agent.cancel", "args": {"agent": "a", "cause": USER}},
    {"op": "agent.inject", "args": {"agent": "a", "message": message("m2")}},
    {"op": "stream.end", "args": {"gate": {"kind": "model/stream"}}},
)


def test_the_readme_shows_what_the_suite_tells() -> None:
    """The commands, minimised no further, where the rows part, and both traces."""
    [fault] = [fault for fault in FAULTS if fault.id == "latch-survives-a-clearing-cancel"]
    failures: list[Failure] = []
    with InProcessLink(ReferenceAdapter()) as link, fault.plant():
        example = played(InboxModel(), link, COMMANDS)
        assert example.difference is not None
        context = RunContext(link=link, ledger=Ledger(), seed=1, examples=0, progress=lambda _: None)
        MachineCheck(InboxModel, commands=15).tell(example, example.difference, context, failures)
    [failure] = failures
    told = "".join(f"{line}\n" for line in failure_lines(failure, load_specification().clauses, None))
    [shown] = re.findall(r"(?ms)^```text\n(.*?)^```$", (CHECKOUT / "README.md").read_text(encoding="utf-8"))
    assert shown == told
