"""Brings the published packages, this folder's adapter and a Node to run them into the user's cache.

Modules of Node find packages only from the folder they stand in, so the adapter is copied to where npm installs what
it imports. The folder's name has a hash of everything that goes into it: other files are another installation, and
nothing in an existing one is ever changed. npm works in a folder of another name, which gets its own name when all is
done, so an interrupted installation is never taken for a finished one.
"""

import hashlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import platformdirs

from dshconform.adapters.dsh_node.one_at_a_time import one_at_a_time

Progress: TypeAlias = Callable[[str], None]
"""Is told in one line what takes long."""

_SOURCE: Final = Path(__file__).parent
_ADAPTER: Final = "adapter.mjs"
_MINIMUM_PYTHON: Final = (3, 11)
_MINIMUM_NODE: Final = (22, 19)
_NEEDS_NODE: Final = "install Node.js 22.19 or newer (which brings npm) and put it on PATH"
_NPM_CI: Final = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
_MOST_SECONDS: Final = 900
_MOST_LINES: Final = 6
"""So much of what npm said stands in an error."""
_UNREACHABLE: Final = re.compile(
    r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT)\b"
)


class InstallError(Exception):
    """The packages cannot be installed on this machine.

    Args:
        message: What is missing or went wrong.
        remedy: What the user can do about it.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(f"{message}\n  remedy: {remedy}")
        self.message: Final = message
        self.remedy: Final = remedy


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Files that npm completes to something that can be run.

    Args:
        name: What it is called in the cache, before the hash.
        title: What it is called to the user.
        folder: Where its files are.
        patterns: Which ones they are.
    """

    name: str
    title: str
    folder: Path
    patterns: tuple[str, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """The files, in the order of their names."""
        return tuple(sorted(file for pattern in self.patterns for file in self.folder.glob(pattern)))

    @property
    def cache_name(self) -> str:
        """The name of the installed bundle: it changes with every name and every byte of the files."""
        digest = hashlib.sha256()
        for file in self.files:
            content = file.read_bytes()
            digest.update(f"{file.name}\0{len(content)}\0".encode())
            digest.update(content)
        return f"{self.name}-{digest.hexdigest()[:16]}"


_NPM_FILES: Final = ("package.json", "package-lock.json", ".npmrc")

PACKAGES: Final = Bundle(name="dsh-node", title="the dsh packages", folder=_SOURCE, patterns=("*.mjs", *_NPM_FILES))
"""The adapter and the packages that it drives."""

RUNTIME: Final = Bundle(name="node", title="Node.js", folder=_SOURCE / "node_runtime", patterns=_NPM_FILES)
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
    cache = platformdirs.user_cache_path("dshconform", appauthor=False) if cache is None else cache
    packages = _provide(PACKAGES, cache, progress, _has_packages)
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
        folder = _provide(RUNTIME, cache, progress, lambda made: _packaged_node(made) is not None)
    except InstallError as error:
        found = (
            f"Node.js {'.'.join(map(str, version))} on PATH is too old" if version else "there is no Node.js on PATH"
        )
        raise InstallError(f"{found}, and no other can be had: {error.message}", _NEEDS_NODE) from error
    node = _packaged_node(folder)
    if node is None or _node_version(node) < _MINIMUM_NODE:
        raise InstallError(f"the Node.js in {folder} does not run on this machine", _NEEDS_NODE)
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


def _provide(bundle: Bundle, cache: Path, progress: Progress, complete: Callable[[Path], bool]) -> Path:
    """Answer the folder of an installed bundle, installing it if it is not there."""
    target = cache / bundle.cache_name
    if target.is_dir():
        return target
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError(f"npm is not on PATH; it is needed once, to install {bundle.title}", _NEEDS_NODE)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(
            cache / f"{target.name}.lock", lambda: progress(f"waiting for another run to install {bundle.title} …")
        ):
            if not target.is_dir():  # the run that was waited for has not done it
                progress(f"installing {bundle.title} (once, into {target}) …")
                _build(bundle, target, npm, complete)
    except OSError as error:
        raise InstallError(
            f"{bundle.title} cannot be installed into {cache}: {error}",
            "make room, or make the folder writable; XDG_CACHE_HOME names another one",
        ) from error
    return target


def _build(bundle: Bundle, target: Path, npm: str, complete: Callable[[Path], bool]) -> None:
    """Install into a folder of another name, and name it when it is complete."""
    unfinished = f"{target.name}.unfinished-"
    for left in target.parent.glob(f"{unfinished}*"):  # by a run that was interrupted: the lock says it is over
        shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=unfinished, dir=target.parent))
    try:
        for file in bundle.files:
            shutil.copyfile(file, folder / file.name)
        _run_npm(npm, folder, bundle)
        if not complete(folder):
            where = f"{platform.system()} on {platform.machine()}"
            raise InstallError(f"npm has no {bundle.title.removeprefix('the ')} for {where}", _NEEDS_NODE)
        folder.rename(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # after the rename there is none of that name


def _run_npm(npm: str, folder: Path, bundle: Bundle) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - npm with constant arguments
            [npm, *_NPM_CI], cwd=folder, capture_output=True, text=True, check=False, timeout=_MOST_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise InstallError(
            f"npm did not finish installing {bundle.title} within {_MOST_SECONDS} seconds",
            "check the network and try again; what npm has downloaded is kept",
        ) from error
    if done.returncode == 0:
        return
    unreachable = _UNREACHABLE.search(done.stderr)
    if unreachable is not None:
        raise InstallError(
            f"npm cannot reach its registry ({unreachable[0]}), so {bundle.title} cannot be installed",
            "check the network and npm's settings (`npm ping`), and try again; once installed, no network is needed",
        )
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    raise InstallError(
        f"npm failed to install {bundle.title} (exit status {done.returncode}): " + " / ".join(said[:_MOST_LINES]),
        f"see the log that npm names, or run `npm {' '.join(_NPM_CI[:2])}` in a copy of {bundle.folder}",
    )
