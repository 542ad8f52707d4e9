"""Any JSON value, as a type."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
    """A JSON value, deeply; a mapping or sequence of any class counts as an object or array."""
else:  # a recursive alias cannot be checked at run time: one level is enough there
    Json: TypeAlias = bool | int | float | str | Sequence | Mapping | None

JsonMap: TypeAlias = Mapping[str, Json]
"""A JSON object."""


def same(one: Json, other: Json) -> bool:
    """Whether two JSON values are equal; lists and tuples are both arrays, booleans are no numbers.

    Args:
        one: A JSON value, frozen or not.
        other: What it is compared with.
    """
    if one is other:
        return True
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping)
            and len(one) == len(other)
            and all(key in other and same(value, other[key]) for key, value in one.items())
        )
    if isinstance(one, list | tuple):
        return (
            isinstance(other, list | tuple)
            and len(one) == len(other)
            and all(same(a, b) for a, b in zip(one, other, strict=True))
        )
    return _same_scalar(one, other)


def _same_scalar(wanted: Json, value: Json) -> bool:
    return wanted == value and isinstance(wanted, bool) == isinstance(value, bool)
