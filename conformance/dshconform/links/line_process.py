"""A process that is spoken to line by line over its standard streams, and whatever can go wrong with one.

Everything is read in one thread by a selector with a deadline. The three pipes are served together, so neither a large
command, nor a large reply, nor a talkative standard error can make the two sides wait for each other. The process leads
a group of its own, which ends as a whole.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import IO, Final

from dshconform.links.link import Broken, Limits, brief
from dshconform.links.wire_log import WireLog

_CHUNK: Final = 64 * 1024
_ROUND: Final = 0.25
"""Seconds after which a silent process is looked after: a child of its own may hold its output open beyond its end."""
_ENDING: Final = 0.5
"""Seconds between the end of a process's output and its own end that still make one event."""
_ERROR_LINES: Final = 20
_ERROR_WIDTH: Final = 4096


class LineProcess:
    """A running process. `exchange` and `end` answer a `Broken` where it breaks what it promised.

    Args:
        command: The program and its arguments.
        limits: What it may use.
        log: Receives every line.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        limits: Limits,
        log: WireLog,
    ) -> None:
        if sys.platform == "win32":
            message = "adapters run as subprocesses on POSIX systems only: use the in-process link, or WSL"
            raise OSError(message)
        self._limits = limits
        self._log = log
        self._process = subprocess.Popen(  # noqa: S603 - running the named command is what this is for
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._in = _own(self._process.stdin)
        self._out = _own(self._process.stdout)
        self._err = _own(self._process.stderr)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)
        self._selector.register(self._err, selectors.EVENT_READ)
        self._unsent = memoryview(b"")
        self._received = bytearray()
        self._searched = 0  # so much of it is known to hold no line end
        self._error_text = bytearray()
        self._error_lines: deque[str] = deque(maxlen=_ERROR_LINES)
        self._ending: str | None = None  # how it ended, once it has

    def exchange(self, line: bytes, title: str) -> bytes | Broken:
        """Writes one line and reads one.

        Args:
            line: The line, with its end.
            title: What it is, for messages.

        Returns:
            The line that came back, without its end.
        """
        deadline = time.monotonic() + self._limits.seconds_per_reply
        self._log.write("sent", line[:-1])
        self._unsent = memoryview(line)
        self._write()
        while (found := self._take_line()) is None:
            if len(self._received) > self._limits.bytes_per_reply:
                return self._too_long(title)
            if self._out.closed or self._ending is not None:
                return self._died(title)
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return self._silent(title)
            if not self._serve(min(remaining, _ROUND)) and self._has_ended():
                self._read_rest()
        return self._too_long(title) if len(found) > self._limits.bytes_per_reply else found

    def has_output(self) -> bool:
        """Whether something was written for which nobody has asked yet."""
        self._serve(0)
        return bool(self._received)

    def read_strays(self, quiet: float) -> list[bytes]:
        """Reads on without asking for anything, until the output ends or the limits are passed.

        Args:
            quiet: After how many seconds of silence to stop, too.

        Returns:
            The lines, the last one perhaps incomplete.
        """
        silent = time.monotonic() + quiet
        lines: list[bytes] = []
        while True:
            while len(lines) <= self._limits.stray_lines and (line := self._take_line()) is not None:
                lines.append(line)
                silent = time.monotonic() + quiet
            remaining = silent - time.monotonic()
            if (
                len(lines) > self._limits.stray_lines
                or len(self._received) > self._limits.bytes_per_reply
                or self._out.closed
                or self._ending is not None
                or remaining <= 0
            ):
                break
            if not self._serve(min(remaining, _ROUND)) and self._has_ended():
                self._read_rest()
        if self._received and len(lines) <= self._limits.stray_lines:
            lines.append(bytes(self._received))
        return lines

    def close_input(self) -> None:
        """Tells the process that nothing more will come."""
        if not self._in.closed:
            self._drop(self._in)

    def end(self) -> Broken | None:
        """Waits for the process to end by itself, its input being closed.

        Returns:
            What was wrong with its end.
        """
        seconds = self._limits.seconds_to_end
        if not self._wait(seconds):
            return Broken(
                "no-exit",
                f"the process went on for {seconds:g} s after the end of its input{self._error_tail()}",
                "end when standard input ends; close what keeps the process alive (timers, threads, servers)",
            )
        if self._ending != "exit status 0":
            return Broken(
                "died",
                f"the process ended with {self._ending} after the end of its input{self._error_tail()}",
                "end with exit status 0 when standard input ends",
            )
        return None

    def kill(self) -> None:
        """Ends the process and its group at once, and gives back everything that it held."""
        # The leader is not reaped before this line, so its number cannot belong to another group.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        for pipe in (self._in, self._out, self._err):
            if not pipe.closed:
                self._drop(pipe)
        self._selector.close()

    def _serve(self, seconds: float) -> bool:
        """Moves what can be moved within that time; whether anything could."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            if key.fileobj is self._in:
                self._write()
            elif key.fileobj is self._out:
                self._received += self._read(self._out)
            else:
                self._take_error_text(self._read(self._err))
        return bool(ready)

    def _read(self, pipe: IO[bytes]) -> bytes:
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return b""
        if not data:
            self._drop(pipe)
        return data

    def _write(self) -> None:
        if self._in.closed:
            return
        try:
            self._unsent = self._unsent[os.write(self._in.fileno(), self._unsent) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:  # it does not read any more: how it ends is told by its output
            self._unsent = memoryview(b"")
            self._drop(self._in)
            return
        waits = self._in in self._selector.get_map()
        if self._unsent and not waits:
            self._selector.register(self._in, selectors.EVENT_WRITE)
        elif waits and not self._unsent:
            self._selector.unregister(self._in)

    def _drop(self, pipe: IO[bytes]) -> None:
        if pipe in self._selector.get_map():
            self._selector.unregister(pipe)
        pipe.close()

    def _take_line(self) -> bytes | None:
        end = self._received.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._received)
            return None
        line = bytes(memoryview(self._received)[:end])
        del self._received[: end + 1]
        self._searched = 0
        self._log.write("received", line)
        return line

    def _take_error_text(self, text: bytes) -> None:
        self._error_text += text
        *lines, rest = self._error_text.split(b"\n")
        if len(rest) > _ERROR_WIDTH or (rest and self._err.closed):
            lines.append(rest)
            rest = bytearray()
        self._error_text = rest
        for line in lines:
            self._log.write("stderr", bytes(line))
            self._error_lines.append(line[:_ERROR_WIDTH].decode(errors="backslashreplace").rstrip())

    def _has_ended(self) -> bool:
        if self._ending is None:
            try:
                how = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                self._ending = "an unknown exit status"
                return True
            if how is None:
                return False
            if how.si_code == os.CLD_EXITED:
                self._ending = f"exit status {how.si_status}"
            else:
                self._ending = f"signal {how.si_status} ({_signal_name(how.si_status)})"
        return True

    def _wait(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        pause = 0.001
        while not self._has_ended():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            self._serve(min(pause, remaining))
            pause = min(2 * pause, 0.02)
        self._read_rest()
        return True

    def _read_rest(self) -> None:
        """Reads what an ended process has left in its pipes; what children of it go on writing is nobody's reply."""
        for _ in range(1 + self._limits.bytes_per_reply // _CHUNK):
            if (self._out.closed and self._err.closed) or not self._serve(0):
                return

    def _too_long(self, title: str) -> Broken:
        self._log.write("received", bytes(self._received[:_ERROR_WIDTH]))
        return Broken(
            "flood",
            f"the reply to {title} is longer than {self._limits.bytes_per_reply} bytes, the limit for one line",
            "look for a loop of the implementation that never comes to rest, or raise the limit",
        )

    def _silent(self, title: str) -> Broken:
        state = "the process is still running"
        if self._has_ended():
            state = f"the process has ended with {self._ending}"
        elif self._in.closed:
            state += " and has closed its standard input"
        if self._received:
            state += f"; it wrote a line without an end: {brief(self._received.decode(errors='backslashreplace'))!r}"
        return Broken(
            "no-reply",
            f"no reply to {title} within {self._limits.seconds_per_reply:g} s; {state}{self._error_tail()}",
            "reply once the implementation has come to rest, flush after every line, and bound the settling",
        )

    def _died(self, title: str) -> Broken:
        if self._wait(_ENDING):
            how = f"the process ended with {self._ending}"
        else:
            how = "the process closed its standard output and went on"
        if self._received:
            how += f", in the middle of a line: {brief(self._received.decode(errors='backslashreplace'))!r}"
            self._log.write("received", bytes(self._received))
        return Broken(
            "died",
            f"{how} while {title} waited for its reply{self._error_tail()}",
            "run the command by hand and send it the lines of the wire log; answer errors with `error`",
        )

    def _error_tail(self) -> str:
        lines = [*self._error_lines]
        if self._error_text:
            lines.append(self._error_text.decode(errors="backslashreplace"))
        if not lines:
            return "; it wrote nothing to standard error"
        return "; the last lines of its standard error:\n" + "\n".join(f"    {line}" for line in lines)


def _own(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    os.set_blocking(pipe.fileno(), False)
    return pipe


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
