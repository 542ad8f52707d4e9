"""Every line that went over a wire, in a file that survives the run when something went wrong.

One JSON object per line: `{"at": seconds since the start, "way": "sent" | "received" | "stderr" | "note", "text": …}`.
Bytes that are no UTF-8 are written as backslash escapes, so the file is text whatever the adapter wrote.
"""

import contextlib
import tempfile
import time
from pathlib import Path
from typing import BinaryIO, Final, Literal, TypeAlias

import msgspec

Way: TypeAlias = Literal["sent", "received", "stderr", "note"]
"""Where a line comes from: sent to the adapter, received from it, its standard error, or noted by the link."""

_ENCODE = msgspec.json.Encoder().encode
_BUFFER: Final = 256 * 1024


class WireLog:
    """A wire log under way: `keep` or `discard` ends it.

    Long runs stay bounded: beyond `limit` bytes the file becomes the older half (`….older`, replacing the one before
    it) and a new one is begun, so that at least the last `limit` bytes are there.

    Args:
        path: Where to write; a file in the folder for temporary files if not given. Missing folders are made.
        limit: How large a file may grow, in bytes.
    """

    def __init__(self, path: Path | None = None, *, limit: int = 64 * 1024 * 1024) -> None:
        if path is None:
            handle, name = tempfile.mkstemp(prefix="dshconform-", suffix=".wire.jsonl")
            self._file: BinaryIO = open(handle, "wb", buffering=_BUFFER)  # noqa: SIM115, PTH123 - closed by `_end`
            path = Path(name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("wb", buffering=_BUFFER)
        self.path: Final = path
        self.older: Final = path.with_name(path.name + ".older")
        """The file with the older half, where there is one."""
        self._limit = limit
        self._size = 0
        self._start = time.monotonic()
        self.older.unlink(missing_ok=True)

    def write(self, way: Way, text: bytes | str) -> None:
        """Adds one line; after the end it does nothing.

        Args:
            way: Where the line comes from.
            text: The line without its end; bytes that are no UTF-8 are kept as escapes.
        """
        if self._file.closed:
            return
        if isinstance(text, bytes):
            text = text.decode(errors="backslashreplace")
        try:
            line = _record(time.monotonic() - self._start, way, text)
        except UnicodeEncodeError:  # a lone surrogate
            line = _record(time.monotonic() - self._start, way, text.encode(errors="backslashreplace").decode())
        self._file.write(line)
        self._size += len(line)
        if self._size > self._limit:
            self._file.close()
            self.path.replace(self.older)
            self._file = self.path.open("wb", buffering=_BUFFER)
            self._size = 0

    def keep(self) -> Path:
        """Ends the log and leaves the file.

        Returns:
            Where it is.
        """
        self._file.close()
        return self.path

    def discard(self) -> None:
        """Ends the log and removes the file."""
        self._file.close()
        for path in (self.path, self.older):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()


def _record(at: float, way: Way, text: str) -> bytes:
    return _ENCODE({"at": round(at, 6), "way": way, "text": text}) + b"\n"
