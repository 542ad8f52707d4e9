"""Completes a folder with what npm brings, in the user's cache.

The folder's name has a hash of everything that goes into it: other files are another installation, and nothing in an
existing one is ever changed. npm works in a folder of another name, which gets its own name when all is done, so an
interrupted installation is never taken for a finished one.
"""

import hashlib
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import platformdirs

from dshconform.adapters.one_at_a_time import one_at_a_time

Progress: TypeAlias = Callable[[str], None]
"""Is told in one line what takes long."""

NPM_FILES: Final = ("package.json", "package-lock.json", ".npmrc")
"""What npm reads in a folder: what is wanted, exactly what that is, and that no host is noted."""

NEEDS_NODE: Final = "install Node.js 22.19 or newer (which brings npm) and put it on PATH"
"""The remedy where npm is missing, or the Node that it needs."""

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


def user_cache() -> Path:
    """The folder of the user's cache that bundles are installed into."""
    return platformdirs.user_cache_path("dshconform", appauthor=False)


def provide(bundle: Bundle, cache: Path, progress: Progress, complete: Callable[[Path], bool]) -> Path:
    """Install a bundle that is not installed yet.

    Several processes may call it at the same time: one installs, the others wait for it.

    Args:
        bundle: The bundle.
        cache: The folder to install into.
        progress: Is told what takes long.
        complete: Whether a folder has what npm was to bring; npm succeeds without a package that is optional.

    Returns:
        The folder of the installed bundle.

    Raises:
        InstallError: npm is missing or failed, its registry cannot be reached, or the cache cannot be written.
    """
    target = cache / bundle.cache_name
    if target.is_dir():
        return target
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError(f"npm is not on PATH; it is needed once, to install {bundle.title}", NEEDS_NODE)
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
            raise InstallError(f"npm has no {bundle.title.removeprefix('the ')} for {where}", NEEDS_NODE)
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
