"""A list of pending messages in which one is found by its id without walking it."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from dshcore.json import JsonObject

_APART: Final = 2**32


class Pending:
    """Messages in the order in which they wait, each id once.

    Every message has a key, and the keys ascend along the list: so a message's place is found among them by bisection.
    The keys stand far apart, and what comes between two messages gets one between theirs; where no room is left, all
    get new ones.
    """

    __slots__ = ("_key_of", "_keys", "_messages")

    def __init__(self) -> None:
        self._messages: list[JsonObject] = []
        self._keys: list[int] = []
        self._key_of: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[JsonObject]:
        return iter(self._messages)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._key_of

    def part(self, start: int, count: int) -> tuple[JsonObject, ...]:
        """Return so many messages from a place on.

        Args:
            start: The place of the first.
            count: How many.
        """
        return tuple(self._messages[start : start + count])

    def place(self, message_id: str) -> int | None:
        """Return where the message of an id stands; none if it does not.

        Args:
            message_id: The id that is looked for.
        """
        key = self._key_of.get(message_id)
        return None if key is None else bisect_left(self._keys, key)

    def splice(self, start: int, count: int, inserted: Sequence[JsonObject]) -> None:
        """Put messages in the place of others.

        Args:
            start: Where, within the list.
            count: How many to take out from there, no more than there are.
            inserted: What to put there; their ids are not in the list, but for those of what is taken out.
        """
        end = start + count
        keys = self._keys_between(start, end, len(inserted))
        for message in self._messages[start:end]:
            del self._key_of[message["id"]]
        self._messages[start:end] = inserted
        self._keys[start:end] = keys
        for message, key in zip(inserted, keys, strict=True):
            self._key_of[message["id"]] = key

    def _keys_between(self, start: int, end: int, number: int) -> Sequence[int]:
        """Make keys for messages that will stand between those before `start` and those from `end` on."""
        if end == len(self._keys):
            first = self._keys[start - 1] + _APART if start else 0
            return range(first, first + number * _APART, _APART)
        if start == 0:
            return range(self._keys[end] - number * _APART, self._keys[end], _APART)
        gap = (self._keys[end] - self._keys[start - 1]) // (number + 1)
        if gap == 0:
            self._renumber()
            return self._keys_between(start, end, number)
        first = self._keys[start - 1] + gap
        return range(first, first + number * gap, gap)

    def _renumber(self) -> None:
        apart = _APART * (len(self._keys) + 1)
        self._keys = list(range(0, len(self._keys) * apart, apart))
        self._key_of = {message["id"]: key for message, key in zip(self._messages, self._keys, strict=True)}
