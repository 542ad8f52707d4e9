from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reference.toolbox import Toolbox
    from tests.reference.world import World


@pytest.fixture
def tools(world: "World") -> "Toolbox":
    """The tools of a world with an agent."""
    from tests.reference.toolbox import Toolbox  # not earlier: typeguard instruments what is imported after its plugin

    world.create()
    return Toolbox(world)


@pytest.fixture
def two_places() -> "Iterator[World]":
    """A world in which two bodies may run at once."""
    from tests.reference.world import World  # not earlier: see above

    made = World(max_parallel_tool_calls=2)
    made.create()
    yield made
    made.close()
