from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # typeguard wants to see the package imported first by a test
    from dshconform.adapters.dsh_node.install import Installation
    from dshconform.links.subprocess import SubprocessLink


@pytest.fixture(scope="session")
def installation() -> "Installation":
    """The published packages, installed from npm if they are not in the cache yet."""
    from dshconform.adapters.dsh_node.install import install

    return install()


@pytest.fixture(scope="session")
def dsh_node_process(
    installation: "Installation", tmp_path_factory: pytest.TempPathFactory
) -> Iterator["SubprocessLink"]:
    """One process for all tests: a world costs milliseconds, a process much more."""
    from dshconform.links.subprocess import SubprocessLink

    log = tmp_path_factory.mktemp("dsh-node") / "wire.jsonl"
    with SubprocessLink(installation.command, wire_log=log) as link:
        yield link


@pytest.fixture
def dsh_node(dsh_node_process: "SubprocessLink") -> "SubprocessLink":
    """A link to the adapter, with a fresh world."""
    dsh_node_process.call("world.open")
    return dsh_node_process
