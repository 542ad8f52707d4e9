"""The small types that messages share."""

from typing import Annotated, TypeAlias

from msgspec import Meta

Name: TypeAlias = Annotated[str, Meta(min_length=1)]
"""A name that the suite or the adapter gave to something; never empty."""

Count: TypeAlias = Annotated[int, Meta(ge=1)]
"""How many times, counted from 1."""

Index: TypeAlias = Annotated[int, Meta(ge=0)]
"""Which one, counted from 0."""

Place: TypeAlias = Annotated[str, Meta(pattern=r"^(do\.|abort\.)?[0-9]+(\.[0-9]+)*$")]
"""An item's place in a burst, run or script: `0`, nested `1.0`, in `gate.do` `do.0`, in `onAbort` `abort.0`."""

Path: TypeAlias = str
"""Member names and list indexes joined by dots: `messages.0.id`. The empty path is the whole."""
