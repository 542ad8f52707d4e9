"""Any JSON value, as a type."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
else:  # a recursive alias cannot be checked at run time: one level is enough there
    Json: TypeAlias = bool | int | float | str | Sequence | Mapping | None

JsonMap: TypeAlias = Mapping[str, Json]
"""A JSON object."""
