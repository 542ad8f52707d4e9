"""A composite tool: its body calls other tools, and makes one result of theirs.

Each inner call passes policy, guards and everything else that a call passes, and stops when the outer one is asked to.
Prints who called what, and what the calls came to.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TypedDict

from dshcore.cancel_signal import CancelSignal
from dshcore.json import Json
from dshcore.spine import compose
from dshcore.tools import (
    TOOLS,
    TOOLS_RESULT,
    Content,
    ToolCallRequest,
    ToolDefinition,
    ToolOutcome,
    ToolRegistry,
    ToolRun,
    define_tool,
)

FILES = {"a.txt": "one two three", "b.txt": "four five"}


class Count(TypedDict):
    """How many words a file has."""

    path: str
    words: int


def show_counts(_: Json, counts: Sequence[Count]) -> Content:
    """Make what the model sees of the counts."""
    return [{"type": "text", "text": f"{count['path']}: {count['words']}"} for count in counts]


@define_tool
async def read(path: str) -> str:
    """Reads a file."""
    return FILES[path]


def counting_tool(tools: ToolRegistry) -> ToolDefinition:
    """Make a tool that counts by means of another one."""

    @define_tool(name="count_words", render=show_counts)
    async def count(paths: Sequence[str], run: ToolRun) -> list[Count]:
        """Counts the words of files."""
        counts: list[Count] = []
        for index, path in enumerate(paths):
            call_id = f"{run.call_id}.{index}"
            result = await run.call_inner(
                tools, "read", {"path": path}, call_id=call_id
            )  # a failed call has one as well
            if result.is_error:
                run.signal.raise_if_aborted()
                continue  # what cannot be read has no words; the model sees which files were counted
            assert isinstance(result.value, str)
            counts.append({"path": path, "words": len(result.value.split())})
        return counts

    return count


def tell(outcome: ToolOutcome) -> None:
    """Print what a call came to, and whom it served."""
    execution, result = outcome.execution, outcome.result
    served = "" if execution.parent is None else f" for {execution.root_call_id}"
    print(f"{execution.name} {execution.call_id}{served}: {'failed' if result.is_error else 'done'}")


async def main() -> None:
    """Count two files that are there, and one that is not."""
    root = compose()
    root[TOOLS].register(root, read)
    root[TOOLS].register(root, counting_tool(root[TOOLS]))
    root.on(TOOLS_RESULT, tell)
    paths: Mapping[str, Json] = {"paths": ["a.txt", "b.txt", "missing.txt"]}
    result = await root[TOOLS].execute(
        ToolCallRequest(call_id="c1", name="count_words", arguments=paths, signal=CancelSignal())
    )
    assert not result.is_error
    print(result.value)
    await root.dispose()


if __name__ == "__main__":
    asyncio.run(main())
