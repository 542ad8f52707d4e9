"""What tests of prompts have in common."""

import asyncio
from typing import Any

from tests.reference.world import World

from dshcore.system_prompt import SYSTEM_PROMPT, AssembleContext, Assembly


def assemble(world: World, scope: object | None = None, **context: Any) -> Assembly:
    """Answer what a prompt is made of."""
    prompts = world.root[SYSTEM_PROMPT]
    task: asyncio.Task[Assembly] = world.start(lambda: prompts.assemble(AssembleContext(scope=scope, **context)))
    return task.result()
