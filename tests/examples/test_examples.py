"""The examples run as they stand, with nothing but the package."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from runpy import run_path

import pytest

from dshcore.cancel_signal import CancelSignal
from dshcore.spine import compose
from dshcore.tools import TOOLS, TOOLS_PRE_EXECUTE, Deny, ToolCallRequest, ToolResult

REPOSITORY = Path(__file__).parents[2]


def run(name: str, typed: str = "") -> list[str]:
    """The lines that an example prints when this is typed; warnings are errors, and standard error stays empty."""
    command = [sys.executable, "-W", "error", f"examples/{name}"]
    ended = subprocess.run(
        command, cwd=REPOSITORY, input=typed, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.splitlines()


def test_the_embedded_agent_calls_its_tool_and_answers() -> None:
    """One turn of two steps, and what the model made of the result."""
    *log, said = run("embedding.py")
    types = [line.partition(" ")[2] for line in log]
    kept = [kind for kind in types if kind.startswith(("turn/", "step/", "tool/"))]
    assert kept == [
        *("turn/start", "step/start", "tool/call", "tool/result", "step/end"),
        *("step/start", "step/end", "turn/end"),
    ]
    assert said == "The tool says: hello Ann (c1)"


def test_the_asking_tool_waits_for_a_person() -> None:
    """An answer is the value; a wrong one, wrong arguments and a cancelled call are failures."""
    assert run("asking_tool.py") == [
        "asked: Who are you?",
        "answered: Ann",
        "asked: Which? tea / coffee",
        "answered: tea",
        "asked: Which? tea / coffee",
        "failed: the user answered 'water' (NOT_A_CHOICE)",
        'failed: invalid arguments: "question" must be a string (INVALID_ARGS)',
        "asked: Which? tea / coffee",
        "failed: tool call aborted (ABORTED)",
    ]


def test_the_composite_tool_makes_one_result_of_several_calls() -> None:
    """Each inner call is told before the outer one, and a failed one does not fail it."""
    assert run("composite_tool.py") == [
        "read c1.0 for c1: done",
        "read c1.1 for c1: done",
        "read c1.2 for c1: failed",
        "count_words c1: done",
        "({'path': 'a.txt', 'words': 3}, {'path': 'b.txt', 'words': 2})",
    ]


def test_the_policy_plugin_decides() -> None:
    """Asked and granted, asked and rejected, guarded, reviewed, and not there at all."""
    assert run("policy_plugin.py") == [
        "writer read: notes says ***",
        "writer asks: write changes files",
        "writer write: wrote 5 characters to notes",
        "writer asks: write changes files",
        'writer write: Error: the user rejected tool "write"',
        "writer read: Error: stay inside of the workspace",
        'reader write: Error: unknown tool "write"',
    ]


def test_the_policy_plugin_asks_about_nothing_that_others_deny() -> None:
    """Its policy hears what comes after it first, so a grant overrides nobody."""
    example = run_path(str(REPOSITORY / "examples/policy_plugin.py"))

    async def freeze(*_: object) -> Deny:
        return Deny("frozen repository")

    async def denied() -> ToolResult:
        root = compose()
        root[TOOLS].register(root, example["write"])
        example["Policy"](root)
        root.on(TOOLS_PRE_EXECUTE, freeze)
        call = ToolCallRequest(call_id="c", name="write", arguments={"path": "p", "text": "t"}, signal=CancelSignal())
        return await root[TOOLS].execute(call)

    result = asyncio.run(denied())
    assert result.is_error
    assert result.error.message == "frozen repository"


def test_the_asking_tool_is_stopped_by_its_program() -> None:
    """Also while its call is cancelled: the task ends as cancelled, and there is no result."""
    example = run_path(str(REPOSITORY / "examples/asking_tool.py"))

    async def stopped() -> bool:
        root, gone, asked = compose(), CancelSignal(), asyncio.Event()

        class Silent:
            async def answer(self, question: str, choices: Sequence[str]) -> str:
                asked.set()
                await asyncio.Event().wait()
                return f"{question} {choices}"

        root.provide(example["PERSON"], Silent())
        root[TOOLS].register(root, example["asking_tool"](root))
        task: asyncio.Task[ToolResult] = asyncio.ensure_future(example["call"](root, {"question": "q"}, gone))
        await asked.wait()
        gone.abort("gone")
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(stopped())


def test_the_chat_answers_line_by_line() -> None:
    """Until an empty line; what comes behind it is not read."""
    *answers, end, count = run("chat.py", "hello\nhow are you\n\nnobody hears this\n")
    assert answers == [
        "you> model> You said 'hello'; that makes 1.",
        "you> model> You said 'how are you'; that makes 2.",
    ]
    assert end == "you> "
    assert re.fullmatch(r"\d+ events logged", count)


def test_the_plugin_reads_its_own_event() -> None:
    """With the plugin the event has a reading, without it it is left alone."""
    with_it, without_it = run("plugin.py")
    seq = with_it.partition(":")[0]
    assert with_it == f"{seq}: a note, 'the door sticks'"
    assert without_it == f"{seq}: notes/kept, which nobody here knows"


def test_the_owned_agent_leaves_first() -> None:
    """It does a part of the work, is no root, and goes with its owner."""
    assert run("owned.py") == [
        "chief delegates to helper, which it owns: True",
        "My helper says: 42",
        "alive: chief helper",
        "roots: chief",
        "helper has left",
        "chief has left",
    ]


@pytest.mark.parametrize("example", sorted(path.name for path in (REPOSITORY / "examples").glob("*.py")))
def test_every_example_is_linked_from_the_readme(example: str) -> None:
    """Nobody finds it otherwise."""
    assert f"(examples/{example})" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
