from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reference.stage import Stage
    from tests.reference.world import World

    from dshcore.settling import SettlingLoop


@pytest.fixture
def world() -> "Iterator[World]":
    from tests.reference.world import World  # not earlier: typeguard instruments what is imported after its plugin

    made = World()
    yield made
    made.close()


@pytest.fixture
def loop() -> "Iterator[SettlingLoop]":
    """A loop that is stepped by the test: nothing runs and no time passes unless it says so."""
    from dshcore.settling import SettlingLoop  # not earlier: see above

    loop = SettlingLoop()
    yield loop
    loop.finish()


@pytest.fixture
def stage(loop: "SettlingLoop") -> "Stage":
    """A bare application on that loop."""
    from tests.reference.stage import Stage  # not earlier: see above

    return Stage(loop)
