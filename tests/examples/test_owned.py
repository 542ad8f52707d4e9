"""The tool of the example with two agents heeds its cancellation, however long the helper takes."""

import asyncio
import importlib.util
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType

from dshcore.agent import AGENTS, CreateAgentOptions
from dshcore.json import JsonObject
from dshcore.llm import LLM, GenerateOptions, user_message
from dshcore.spine import compose
from dshcore.tools import TOOLS, define_tool

EXAMPLE = Path(__file__).parents[2] / "examples" / "owned.py"


def example() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("owned", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_disposing_of_the_owner_ends_a_helper_that_waits() -> None:
    """The chief's teardown waits for its tool, and the tool hands the cancellation on to the helper."""
    owned = example()
    asked = asyncio.Event()

    class Slow(owned.ScriptedModel):  # type: ignore[name-defined, misc]
        """The helper's answer does not come."""

        async def stream(self, request: GenerateOptions) -> AsyncIterator[JsonObject]:
            if request.session_id == "helper":
                ended = asyncio.Event()
                assert request.signal is not None
                request.signal.on_abort(ended.set)
                asked.set()
                await ended.wait()
                request.signal.raise_if_aborted()
            async for chunk in super().stream(request):
                yield chunk

    async def main() -> list[str]:
        root = compose()
        root[LLM].register(root, ["scripted"], Slow())
        root[TOOLS].register(root, define_tool(owned.delegation(root)))
        handle = await root[AGENTS].create(root, CreateAgentOptions(session_id="chief", agent_options=owned.OPTIONS))
        handle.agent.followup(user_message("What is the answer?"))
        await asked.wait()
        await handle.dispose()
        left: list[str] = [agent.id for agent in root[AGENTS].list()]
        await root.dispose()
        return left

    assert asyncio.run(main()) == []
