"""A link to an adapter in a process of its own: one JSON object per line in each direction."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from dshconform.links.greeting import HELLO_ARGS, read_greeting
from dshconform.links.line_process import LineProcess
from dshconform.links.link import NO_ARGS, AdapterFault, Broken, Limits, brief
from dshconform.links.promises import Promises
from dshconform.links.wire_log import WireLog
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Command, Hello, Reply
from dshconform.protocol.observations import MALFORMED_REMEDY, MalformedReplyError, NotJsonError, read_reply

_ONE_LINE: Final = "write one line of JSON for each command and nothing else; logs belong on standard error"
_QUIET: Final = 0.2
"""Seconds of silence after which stray output counts as complete."""


class SubprocessLink:
    """A `Link` to an adapter that is started as a subprocess.

    Every reply is checked against the types of the protocol before it is handed on.

    Args:
        command: The program and its arguments.
        limits: What the adapter may use.
        wire_log: Where every line is written, with its direction; by default a file in the folder for temporary
            files. It stays after a fault, which names it.
        keep_wire_log: Whether it stays after success too.

    Raises:
        AdapterFault: The adapter cannot be started, or did not answer `hello` as it should.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        wire_log: Path | None = None,
        keep_wire_log: bool = False,
    ) -> None:
        self._limits = limits
        self._keep_wire_log = keep_wire_log
        self._log = WireLog(wire_log)
        self._promises = Promises()
        self._last = Command(id=0, op="the start")
        self._fault: AdapterFault | None = None
        self._closed = False
        try:
            self._process = LineProcess(command, limits=limits, log=self._log)
        except OSError as error:
            message = f"the adapter {' '.join(command)!r} cannot be started: {error}"
            path = self._keep_log(message)
            remedy = "check that the program exists and can be executed"
            raise AdapterFault("died", message, remedy, path) from error
        try:
            greeting = read_greeting(self.call("hello", HELLO_ARGS))
        except BaseException as error:
            self._abandon(error)
            raise
        if isinstance(greeting, Broken):
            raise self.accuse(greeting)
        self._hello = greeting

    @property
    def hello(self) -> Hello:
        """What the adapter declared of itself."""
        return self._hello

    @property
    def wire_log(self) -> Path:
        """The file with every line so far (complete once the link is closed)."""
        return self._log.path

    def call(self, op: str, args: JsonMap = NO_ARGS) -> Reply:
        """Sends one command and waits for its reply; see `Link.call`.

        Args:
            op: The name of the operation.
            args: Its arguments.

        Returns:
            The reply, of a command that was executed.

        Raises:
            AdapterFault: The adapter broke the protocol, or answered with `fault`.
            ValueError: The arguments are no JSON.
            RuntimeError: The link is closed.
        """
        if self._fault is not None:
            raise self._fault
        if self._closed:
            message = f"the link is closed: {op!r} cannot be sent; open a new one"
            raise RuntimeError(message)
        command = Command(id=self._last.id + 1, op=op, args=args)
        line = _line(command)
        if self._process.has_output():
            raise self.accuse(self._unasked(self._process.read_strays(_QUIET)))
        answer = self._process.exchange(line, _title(command))
        reply = answer if isinstance(answer, Broken) else self._judge(command, answer)
        if isinstance(reply, Broken):
            raise self.accuse(reply)
        self._last = command
        return reply

    def close(self) -> None:
        """Ends the adapter by ending its input; the second time it does nothing. See `Link.close`."""
        if self._closed:
            return
        self._closed = True
        self._process.close_input()
        strays = self._process.read_strays(self._limits.seconds_to_end)
        broken = self._unasked(strays) if strays else self._process.end()
        if broken is not None:
            raise self.accuse(broken)
        self._leave()

    def _abandon(self, error: BaseException) -> None:
        if not self._closed:
            self._closed = True
            self._log.write("note", f"left by {type(error).__name__}: {error}")
            self._leave()

    def _leave(self) -> None:
        self._process.kill()
        if self._keep_wire_log:
            self._log.keep()
        else:
            self._log.discard()

    def _judge(self, command: Command, line: bytes) -> Reply | Broken:
        try:
            reply = read_reply(line)
        except NotJsonError as error:
            return Broken("garbage", f"{_text(line)} came for {_title(command)}: no JSON ({error})", _ONE_LINE)
        except MalformedReplyError as error:
            return Broken("malformed", f"the reply to {_title(command)}: {error}", MALFORMED_REMEDY)
        if 0 < reply.id < command.id:  # it was on its way before the command was sent
            return self._unasked([line, *self._process.read_strays(_QUIET)])
        return self._promises.broken_by(command, reply) or reply

    def _unasked(self, lines: Sequence[bytes]) -> Broken:
        """Names what came without a command, by the same name whatever the pace it came at."""
        after = f"without a command, after the reply to {_title(self._last)}"
        if len(lines[-1]) > self._limits.bytes_per_reply:
            return Broken("flood", f"more than {self._limits.bytes_per_reply} bytes came {after}", _ONE_LINE)
        message = f"output came {after}; its first line: {_text(lines[0])}"
        try:
            json.loads(lines[0])
        except (ValueError, RecursionError):
            return Broken("garbage", message, _ONE_LINE)
        if len(lines) > self._limits.stray_lines:
            return Broken("flood", f"more than {self._limits.stray_lines} lines came {after}", _ONE_LINE)
        return Broken("duplicate-reply", message, _ONE_LINE)

    def accuse(self, broken: Broken) -> AdapterFault:
        """Ends the link for a broken promise; see `Link.accuse`.

        Returns:
            The fault, to be raised, with the file of every line exchanged.
        """
        self._closed = True
        self._process.kill()
        path = self._keep_log(broken.message)
        self._fault = broken.fault(path)
        return self._fault

    def _keep_log(self, why: str) -> Path:
        self._log.write("note", why)
        return self._log.keep()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:  # what ended the block matters more than how the adapter ends
            self._abandon(error)


def _line(command: Command) -> bytes:
    try:
        text = _ENCODE({"id": command.id, "op": command.op, "args": command.args})
    except (ValueError, TypeError, RecursionError) as error:
        message = f"the arguments of {command.op!r} cannot be sent as JSON: {error}"
        raise ValueError(message) from error
    return text.encode() + b"\n"


def _plain(value: object) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    message = f"{value!r} is no JSON value"
    raise TypeError(message)


# Not msgspec's: it writes NaN as null without a word, and cannot write lone surrogates.
_ENCODE: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain).encode


def _title(command: Command) -> str:
    return f"command {command.id} ({command.op})"


def _text(line: bytes) -> str:
    return brief(repr(line.decode(errors="backslashreplace")))
