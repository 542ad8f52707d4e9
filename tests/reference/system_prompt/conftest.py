from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reference.world import World

    from dshcore.system_prompt import SystemPrompt


@pytest.fixture
def prompts(world: "World") -> "SystemPrompt":
    from dshcore.system_prompt import SYSTEM_PROMPT  # not earlier: typeguard instruments what is imported after it

    return world.root[SYSTEM_PROMPT]
