"""The first command of every link: what the adapter declares of itself."""

from typing import Final

import msgspec

from dshconform.links.link import Broken
from dshconform.protocol.json_value import JsonMap
from dshconform.protocol.messages import PROTOCOL_VERSION, Hello, Reply

HELLO_ARGS: Final[JsonMap] = {"protocol": PROTOCOL_VERSION}
"""What the suite says in `hello`."""

_REMEDY: Final = (
    'answer `hello` with {"protocol": 1, "implementation": {"name", "version", "language"}, "profiles": ["core"], '
    '"features": []}'
)


def read_greeting(reply: Reply) -> Hello | Broken:
    """Reads what the adapter answered to `hello`.

    Args:
        reply: The reply, whose promises have been checked.

    Returns:
        The declaration, or why it cannot be worked with.
    """
    if reply.error is not msgspec.UNSET:
        return Broken("malformed", f"`hello` was answered with an error: {dict(reply.error)}", _REMEDY)
    try:
        hello = msgspec.convert(reply.result, Hello)
    except msgspec.ValidationError as error:
        return Broken("malformed", f"the result of `hello` is malformed: {error}", _REMEDY)
    if hello.protocol != PROTOCOL_VERSION:
        return Broken(
            "malformed",
            f"the adapter speaks version {hello.protocol} of the protocol, the suite version {PROTOCOL_VERSION}",
            "use an adapter and a suite of the same protocol version",
        )
    return hello
