"""A link to an adapter in the same process: no serialisation, tens of thousands of commands a second."""

import traceback
from types import TracebackType
from typing import Protocol, Self

from dshconform.links.greeting import HELLO_ARGS, read_greeting
from dshconform.links.link import NO_ARGS, AdapterFault, Broken
from dshconform.links.promises import Promises
from dshconform.protocol.json_value import JsonMap
from dshconform.protocol.messages import Command, Hello, Reply
from dshconform.protocol.observations import MALFORMED_REMEDY, MalformedReplyError, check_reply


class InProcessAdapter(Protocol):
    """What an adapter in the same process offers."""

    def handle(self, command: Command) -> Reply:
        """Executes one command, settles, and tells what happened.

        What it raises is a fault of the adapter: an error of the implementation belongs into the reply.

        Returns:
            The result or the error of the command, with the rows that it led to.
        """
        ...

    def close(self) -> None:
        """Ends the open world, if there is one."""
        ...


class InProcessLink:
    """A `Link` to an `InProcessAdapter`. Rows and results may be frozen JSON (tuples, immutable mappings).

    Args:
        adapter: The adapter; the link closes it.
        typed: Whether every reply is checked against the types of the wire too, as a subprocess's always is. It
            costs more than many a command.

    Raises:
        AdapterFault: The adapter did not answer `hello` as it should.
    """

    def __init__(self, adapter: InProcessAdapter, *, typed: bool = False) -> None:
        self._adapter = adapter
        self._typed = typed
        self._promises = Promises()
        self._last_id = 0
        self._fault: AdapterFault | None = None
        self._closed = False
        try:
            greeting = read_greeting(self.call("hello", HELLO_ARGS))
            if isinstance(greeting, Broken):
                raise self.accuse(greeting)
        except AdapterFault:
            self.close()
            raise
        self._hello = greeting

    @property
    def hello(self) -> Hello:
        """What the adapter declared of itself."""
        return self._hello

    def call(self, op: str, args: JsonMap = NO_ARGS) -> Reply:
        """Sends one command and waits for its reply; see `Link.call`.

        Args:
            op: The name of the operation.
            args: Its arguments.

        Returns:
            The reply, of a command that was executed.

        Raises:
            AdapterFault: The adapter raised, broke the protocol, or answered with `fault`; now or at an earlier
                command.
            RuntimeError: The link is closed.
        """
        if self._fault is not None:
            raise self._fault
        if self._closed:
            message = f"the link is closed: {op!r} cannot be sent; open a new one"
            raise RuntimeError(message)
        self._last_id += 1
        command = Command(id=self._last_id, op=op, args=args)
        try:
            reply = self._adapter.handle(command)
        except Exception as error:
            raise self.accuse(_raised(f"command {command.id} ({op})", error)) from error
        broken = self._promises.broken_by(command, reply)
        if broken is None and self._typed:
            try:
                check_reply(reply)
            except MalformedReplyError as error:
                broken = Broken("malformed", f"the reply to command {command.id} ({op}): {error}", MALFORMED_REMEDY)
        if broken is not None:
            raise self.accuse(broken)
        return reply

    def close(self) -> None:
        """Closes the adapter; the second time it does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            self._adapter.close()
        except Exception as error:
            if self._fault is None:
                raise self.accuse(_raised("its end", error)) from error

    def accuse(self, broken: Broken) -> AdapterFault:
        """Ends the link for a broken promise; see `Link.accuse`.

        Returns:
            The fault, to be raised.
        """
        self._fault = broken.fault()
        return self._fault

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close()
        except AdapterFault as fault:  # what ended the block matters more
            error.add_note(str(fault))


def _raised(at: str, error: Exception) -> Broken:
    text = "".join(traceback.format_exception(error)).rstrip()
    return Broken(
        "died",
        f"the adapter raised at {at}:\n{text}",
        "answer what the implementation raises with `error`; nothing may leave the adapter as an exception",
    )
