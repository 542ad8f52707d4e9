from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conformance.adapters.reference.suite import Suite


@pytest.fixture
def suite() -> Iterator["Suite"]:
    from tests.conformance.adapters.reference.suite import Suite

    suite = Suite()
    yield suite
    suite.link.close()
