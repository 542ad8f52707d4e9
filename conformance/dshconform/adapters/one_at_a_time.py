"""A lock between processes, so that two runs do not install the same thing at once."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt
    import time

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _lock(file: IO[bytes]) -> None:
        while not _try_lock(file):
            time.sleep(0.2)  # this platform has no wait without an end

    def _unlock(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def one_at_a_time(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a lock that no other process holds, waiting for it if need be.

    The operating system lets go of it when the process ends, however it ends. The file stays: removing it would let
    two processes hold locks on two files of one name.

    Args:
        path: The lock's file, created if it is missing.
        waiting: Is called once when another process holds the lock.

    Yields:
        Nothing; the lock is held inside.
    """
    with path.open("ab") as file:
        if not _try_lock(file):
            waiting()
            _lock(file)
        try:
            yield
        finally:
            _unlock(file)
