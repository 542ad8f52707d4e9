"""The operations of the profile `llm` on the published packages: what they answer, and what is the suite's fault."""

import json
import subprocess
from typing import Any

import pytest
from tests.conformance.adapters.dsh_node.llm_session import REQUEST
from tests.conformance.adapters.dsh_node.talk import SPEAKS, ask, followup

from dshconform.adapters.dsh_node.install import Installation
from dshconform.links.subprocess import SubprocessLink

pytestmark = pytest.mark.node

CONFIG = {"provider": "q", "model": "m1"}


@pytest.fixture
def llm(dsh_node: SubprocessLink) -> SubprocessLink:
    """A world with a model on the route `q`."""
    dsh_node.call("model.register", {"as": "m", "routes": ["q"], "stream": SPEAKS})
    return dsh_node


def outcome(link: SubprocessLink, op: str, args: dict[str, Any]) -> Any:
    """What the task of a command came to."""
    [row] = [row for row in ask(link, op, {"task": "t", **args}).observed if row["on"] == "task"]
    return row.get("value", row.get("error"))


def test_stream_is_pulled_chunk_by_chunk(llm: SubprocessLink) -> None:
    """To its end, and behind it there is nothing."""
    llm.call("llm.stream", {"stream": "s", "request": REQUEST})
    pulled = [outcome(llm, "llm.pull", {"stream": "s"}) for _ in range(5)]
    assert [item["chunk"]["type"] for item in pulled[:4]] == ["block-start", "text-delta", "block-end", "finish"]
    assert pulled[4] == {"end": True}
    assert outcome(llm, "llm.close", {"stream": "s"}) is None


def test_prepared_call_is_kept_itself(llm: SubprocessLink) -> None:
    """It is shown without its operation, and held with it, whether it is awaited or followed as a task."""
    prepare = {"op": "llm.prepare", "args": {"call": "c", "config": CONFIG}, "await": True, "keep": "k"}
    shown = ask(llm, "run", {"task": "r", "do": [prepare]})
    [row] = [row for row in shown.observed if row["on"] == "return" and row["op"] == "llm.prepare"]
    assert set(row["result"]) == {"config", "adapterDefaults", "retryPolicy"}
    assert ask(llm, "value.get", {"of": "k", "path": "stream"}).result == {"$value": "function"}
    item = {"op": "llm.prepare", "args": {"task": "t", "call": "c", "config": CONFIG}, "keep": "l"}
    ask(llm, "burst", {"do": [item]})
    assert ask(llm, "value.get", {"of": "l", "path": "stream"}).result == {"$value": "function"}


def test_selection_is_installed_once_and_changed(llm: SubprocessLink) -> None:
    """From then on the agent's requests go where it says."""
    llm.call("agent.create", {"task": "c", "agent": "a", "options": CONFIG})
    llm.call("model.select", {"agent": "a", "as": "sel", "selection": {"provider": "q", "model": "m2"}})
    rows = ask(llm, "agent.followup", followup("A")).observed
    assert [row["payload"]["model"] for row in rows if row["on"] == "script"] == ["m2"]
    llm.call("model.select", {"agent": "a", "selection": None})
    assert llm.call("undo", {"of": "sel"}).result == "nothing"


def test_names_that_stand_for_nothing(installation: Installation) -> None:
    """They are the suite's fault, and named."""
    commands: list[tuple[str, dict[str, Any], str | None]] = [
        ("world.open", {}, None),
        ("effect", {"as": "e", "undo": {"$fn": "undo"}}, None),
        ("agent.create", {"task": "c", "agent": "a"}, None),
        ("model.replace", {"of": "nothing", "routes": []}, 'there is no registration "nothing"'),
        ("model.replace", {"of": "e", "routes": []}, '"e" is no registration of a model'),
        ("llm.stream", {"stream": "s", "call": "nothing", "request": REQUEST}, 'there is no prepared call "nothing"'),
        ("llm.pull", {"task": "t", "stream": "nothing"}, 'there is no stream "nothing"'),
        ("llm.close", {"task": "t", "stream": "nothing"}, 'there is no stream "nothing"'),
        ("model.select", {"agent": "a", "selection": None}, "no model selection is installed: give it a name with as"),
    ]
    lines = [json.dumps({"id": n, "op": op, "args": args}) for n, (op, args, _) in enumerate(commands)]
    told = subprocess.run(
        installation.command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True, timeout=60
    )
    assert [json.loads(line).get("fault") for line in told.stdout.splitlines()] == [fault for *_, fault in commands]
