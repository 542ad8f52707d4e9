from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dshconform.links.link import Link


@pytest.fixture
def link() -> "Iterator[Link]":
    """The reference, in process."""
    # not earlier: typeguard instruments what is imported after its plugin
    from dshconform.adapters.reference.adapter import ReferenceAdapter
    from dshconform.links.in_process import InProcessLink

    with InProcessLink(ReferenceAdapter()) as opened:
        yield opened
