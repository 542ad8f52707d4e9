"""The gates that are open, and their symbolic names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Reply, Row
from dshconform.trace.rows import compact

_OBJECT: Final = (dict, Mapping)  # the first alone costs a fifth of asking an abstract class
_SELECTORS: Final = frozenset({"kind", "agent", "session", "call", "part", "at"})
_CARRIED: Final[Mapping[str, str]] = {"call": "callId", "session": "session"}
"""The members of a selector that are found in the payload."""


class GateNotFound(Exception):
    """No open gate, or more than one, fits a symbolic name."""


class BadSelector(ValueError):
    """A symbolic name that no gate can have."""


@dataclass(slots=True)
class OpenGates:
    """Which gates wait, as the replies told."""

    _rows: dict[str, Row] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)

    def update(self, reply: Reply) -> None:
        """Take in one reply; the link has checked that rows and `open` agree."""
        for row in reply.observed:
            if row["on"] == "gate":
                self._rows[str(row["gate"])] = row
        self._open = list(reply.open)

    @property
    def kinds(self) -> list[str]:
        """The kinds of the open gates, in order of opening."""
        return [str(self._rows[gate]["kind"]) for gate in self._open]

    def find(self, selector: JsonMap) -> str:
        """Answer the adapter's id of the only open gate that fits.

        Args:
            selector: `kind`, `agent`, `session` (of a call that is about one), `call` (a tool call's id), `part` (the
                function) and `at` (the place among those that fit, from 0), each optional.

        Raises:
            GateNotFound: None fits, or several do.
        """
        fitting = [gate for gate in self._open if _fits(self._rows[gate], selector)]
        place = selector.get("at")
        if isinstance(place, int):
            fitting = fitting[place : place + 1]
        if len(fitting) == 1:
            return fitting[0]
        how_many = "no open gate is" if not fitting else f"{len(fitting)} open gates are"
        among = ", ".join(self.kinds) or "none"
        raise GateNotFound(f"{how_many} {compact(selector)} (open: {among})")

    def resolve(self, value: Json) -> Json:
        """Replace every symbolic gate inside the arguments of a command.

        Args:
            value: Arguments, or a part of them.

        Returns:
            The same with the gates' own names.

        Raises:
            GateNotFound: A gate does not resolve.
        """
        if isinstance(value, str):
            return value
        if isinstance(value, _OBJECT):
            return {key: item if isinstance(item, str) else self._member(key, item) for key, item in value.items()}
        if isinstance(value, Sequence):
            return [self.resolve(item) for item in value]
        return value

    def _member(self, key: str, item: Json) -> Json:
        return self.find(item) if key == "gate" and isinstance(item, _OBJECT) else self.resolve(item)


def check_selectors(value: Json) -> None:
    """Check every symbolic name of a gate inside the arguments of a command.

    Args:
        value: Arguments, or a part of them.

    Raises:
        BadSelector: One has a member by which no gate can be named.
    """
    if isinstance(value, _OBJECT):
        for key, item in value.items():
            if key == "gate" and isinstance(item, _OBJECT):
                unknown = min(item.keys() - _SELECTORS, default=None)
                if unknown is not None:
                    raise BadSelector(f"a gate has no {unknown!r}: name it by {', '.join(sorted(_SELECTORS))}")
            check_selectors(item)
    elif isinstance(value, list | tuple):
        for item in value:
            check_selectors(item)


def _fits(row: Row, selector: JsonMap) -> bool:
    for key, wanted in selector.items():
        if key == "at":
            continue
        if key in _CARRIED:
            payload = row.get("payload")
            found = payload.get(_CARRIED[key]) if isinstance(payload, Mapping) else None
        else:
            found = row.get(key)
        if found != wanted:
            return False
    return True
