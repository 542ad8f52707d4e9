"""The page of sequences: fresh, one arrow for each row, and beside it the clauses that demand the row."""

import re

import gen_sequences as script
import pytest

from dshconform.protocol.messages import Reply, Row
from dshconform.running.step import Step
from dshconform.running.world import Exchange
from dshconform.scenarios.load import Scenario, read_scenario
from dshconform.spec import load_specification

PAGE = script.page(script.chosen())


def scenario(*steps: str, opening: str = "model: [gate, {$text: hi}]") -> Scenario:
    lines = ["scenario: small", "title: Small", "about: A small one.", "contract: turn", opening, "steps:", *steps]
    return read_scenario("\n".join(lines), "small.yaml")


def drawn(*steps: str, opening: str = "model: [gate, {$text: hi}]") -> tuple[list[str], list[str]]:
    """The lines of the diagram and of the table, without their heads."""
    trace = script.Trace(script.run(scenario(*steps, opening=opening)))
    lines = [line.strip() for line in trace.diagram()]
    return [line for line in lines[2:] if not line.startswith("participant")], list(trace.table())[2:]


def test_the_published_page_is_fresh() -> None:
    """The page in the repository says what the reference does."""
    assert script.TARGET.read_text(encoding="utf-8") == PAGE


def test_every_chosen_scenario_has_a_diagram_and_a_table() -> None:
    """A heading with the scenario's id, a diagram that numbers its arrows, and clauses that exist."""
    assert re.findall(r"^## .* \{: #(\S+) \}$", PAGE, flags=re.MULTILINE) == list(script.CHOSEN)
    assert PAGE.count("```mermaid\nsequenceDiagram\n    autonumber\n") == len(script.CHOSEN)
    cited = re.findall(r"^\| \d+(?: to \d+)? \| .* \| (.*) \|$", PAGE, flags=re.MULTILINE)
    assert len(cited) > 5 * len(script.CHOSEN)
    assert {clause for row in cited for clause in row.split(", ")} <= load_specification().clauses.keys()


def test_calls_rows_and_answers_are_arrows_in_their_order() -> None:
    """What happens inside a call stands between its two ends; the model is called before it waits."""
    lines, _ = drawn("  - {do: agent.followup, args: {agent: a, message: {$message: A}}}")
    assert lines == [
        "C->>+A: agent.followup(A)",
        "A->>L: agent/inbox/spliced next-turn +A",
        "A-)H: agent/inbox/inserted A",
        "A-)H: agent/status running",
        "A->>L: turn/start 1",
        "A->>L: agent/inbox/spliced next-turn -1",
        "A-)H: agent/inbox/claimed A",
        "A-->>-C: returns",
        "A->>L: step/start 1.1",
        "A->>L: user/message A",
        "A->>L: request/header initial",
        "A->>L: request/context",
        "A->>M: model/stream",
        "Note over M: waits",
    ]


def test_arrows_are_numbered_as_mermaid_does() -> None:
    """Notes are not counted; neighbours of the same clauses stand in one line, and what is not demanded in none."""
    _, table = drawn(
        "  - do: agent.followup",
        "    args: {agent: a, message: {$message: A}}",
        "    by: AGENT-SEND-04",
        "    only: [log turn/*, live agent/inbox/inserted]",
        "    observed: [{live: agent/inbox/inserted, by: INBOX-NOTE-01}, {log: turn/start, by: [LOOP-OPEN-01]}]",
        "    open: [model/stream]",
        "  - do: agent.steer",
        "    args: {agent: a, message: {$message: S}}",
        "    by: AGENT-SEND-05",
        "    only: [log, live]",
        "    observed: [{log: agent/inbox/spliced}, {live: agent/inbox/inserted}]",
    )
    assert table == [
        "| 1 | `agent.followup(A)` | AGENT-SEND-04 |",
        "| 3 | `agent/inbox/inserted A` | INBOX-NOTE-01 |",
        "| 5 | `turn/start 1` | LOOP-OPEN-01 |",
        "| 15 to 16 | `agent/inbox/spliced next-step +S` … `agent/inbox/inserted S` | AGENT-SEND-05 |",
    ]


def test_an_answer_of_the_suite_comes_from_whom_it_is_about() -> None:
    """A gate of the model is opened by the model; a cancel tells it by its signal."""
    lines, _ = drawn(
        "  - {do: agent.followup, args: {agent: a, message: {$message: A}}}",
        "  - {do: agent.cancel, args: {agent: a, cause: {kind: user}, keepInbox: true}}",
        "  - {do: stream.end, args: {gate: {kind: model/stream}}}",
        opening="model: [gate]\nabort: manual",
    )
    cancelled = lines[lines.index("C->>+A: agent.cancel(user, keepInbox)") :]
    assert cancelled[1] == "A-xM: signal aborted: user"
    assert "M->>A: stream.end()" in cancelled
    assert cancelled[-2:] == ["A->>L: turn/end aborted", "A-)H: agent/status idle"]


def test_marks_of_mermaid_are_written_out() -> None:
    """A text with a semicolon or a hash would end the line, and one with angle brackets be taken for a tag."""
    assert script.arrow("A->>L", "a#b; <c>").text == "A->>L: a#35;b#59; #60;c#62;"


def test_what_the_reference_does_not_do_is_not_drawn() -> None:
    """A diagram of a failing scenario would teach something wrong."""
    wrong = scenario(
        "  - do: agent.followup",
        "    args: {agent: a, message: {$message: A}}",
        "    by: LOOP-OPEN-01",
        "    only: [log turn/start]",
        "    observed: [{log: turn/start, data: {turn: 2}}]",
    )
    with pytest.raises(ValueError, match="small cannot be drawn, the reference does something else"):
        script.run(wrong)


def test_a_row_without_an_arrow_is_an_error() -> None:
    """Nothing is passed over in silence."""
    row: Row = {"on": "report", "level": "warn", "text": "odd"}
    with pytest.raises(ValueError, match="a row `report` cannot be drawn yet"):
        script.Trace([Exchange(Step("agent.send", {}), {}, Reply(id=1, result=None, observed=[row]))])
