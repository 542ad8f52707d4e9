"""The alphabet of the tool cancellation contract: that of the cancellation contract, with answers that call tools."""

from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.contracts import cancellation_commands
from dshconform.contracts.callbacks import Listeners, Place
from dshconform.contracts.inbox_commands import burst, items_of, read_command
from dshconform.contracts.scheduling_commands import BEFORE, BEHIND, BODY, asks_for_call, called_kind, register
from dshconform.contracts.scheduling_commands import simpler as simpler_call
from dshconform.protocol.json_value import JsonMap

PLACES: Final[Mapping[str, Place]] = {
    **cancellation_commands.PLACES,
    "call observer": Place("session/event", {"event.type": "tool/call"}),
    "policy listener": Place(BEFORE, {}, given=True),
    "review listener": Place(BEHIND, {}, given=True),
    "result listener": Place("tools/result", {}, given=True),
    "result observer": Place("session/event", {"event.type": "tool/result"}),
}
"""Every place of listeners, those of the cancellation contract among them."""

LISTENERS: Final = Listeners(PLACES)
"""Reads and writes the listeners of the contract."""
listen: Final = LISTENERS.listen
"""Writes one."""

TOOLS: Final = ("read", "tell")
"""The tools. Their calls are exclusive and their bodies wait; that of `tell` has deferred a context before."""

REGISTER: Final = burst(*(register(name, "none") for name in TOOLS))
"""Registers them."""

DENY: Final[JsonMap] = {"do": "return", "value": {"kind": "deny", "reason": "not today"}}
"""Policy refuses the call."""
BREAK: Final[JsonMap] = {"do": "throw", "error": {"$error": {"message": "broken"}}}
"""Policy fails."""
ENDINGS: Final[Mapping[str, Sequence[JsonMap]]] = {
    **cancellation_commands.ENDINGS,
    "policy listener": [DENY, BREAK],
    "review listener": [BREAK],
}
"""How the script of a hook can end, other than by passing or by waiting."""

BODY_ENDS: Final = frozenset({"gate.resolve", "gate.reject"})
"""What ends a body."""


def simpler(written: JsonMap) -> list[JsonMap]:
    """Commands that say less than this one.

    Args:
        written: The command.
    """
    op, args = read_command(written)
    if op == "listen":
        return LISTENERS.simpler(args)
    ends_a_body = op in BODY_ENDS and called_kind(args)[0] == BODY
    asks = op == "burst" and any(asks_for_call(read_command(item)[1]) for item in items_of(args))
    return simpler_call(written) if ends_a_body or asks else cancellation_commands.simpler(written)
