from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reference.toolbox import Toolbox
    from tests.reference.world import World


@pytest.fixture
def tools(world: "World") -> "Toolbox":
    from tests.reference.toolbox import Toolbox  # not earlier: typeguard instruments what is imported after its plugin

    return Toolbox(world)
