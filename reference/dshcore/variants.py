"""Open unions: readings of JSON that are told apart by a tag, where anybody may add a variant.

The record is JSON; a variant is a *reading* of it, a frozen struct of the members that its consumer knows. What
nobody registered stays JSON, untouched, in an `Unknown`. A reading is never written back.

    class Block(Variant, frozen=True, tag_field="type"): ...
    class Text(Block, frozen=True, tag="text"):
        text: str
    BLOCKS = OpenUnion[Block]("type", Text)

    match BLOCKS.read(block):
        case Text(text=text): …
        case _: …                   # an open union always has a default arm

Spec:
    PATTERN-EXT-01, PATTERN-EXT-02
"""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from dshcore.errors import DshError
from dshcore.json import JsonObject


class Variant(msgspec.Struct, frozen=True):
    """Base of every reading."""


class Unknown(Variant, frozen=True):
    """A value whose tag nobody registered, as it is.

    Attributes:
        json: The whole value.
    """

    tag: str
    json: JsonObject


class Unreadable(DshError):
    """A value whose tag is known, with members of a wrong shape."""

    default_code = "UNREADABLE"


V = TypeVar("V", bound=Variant)


class OpenUnion(Generic[V]):
    """The variants of one map, by tag.

    Args:
        tag_field: The member that holds the tag.
        known: The variants that the owner of the map defines.
    """

    def __init__(self, tag_field: str, *known: type[V]) -> None:
        self.tag_field = tag_field
        self._types: dict[str, type[V]] = {}
        for variant in known:
            self.register(variant)

    def register(self, variant: type[V]) -> Callable[[], None]:
        """Add a variant.

        Args:
            variant: A struct with a tag.

        Returns:
            A function that takes it out again; calling it once more does nothing.

        Raises:
            ValueError: The tag is taken, or the struct has none in this map's member.
        """
        config = variant.__struct_config__
        tag = config.tag
        if not isinstance(tag, str) or config.tag_field != self.tag_field:
            raise ValueError(f'{variant.__name__} has no tag "{self.tag_field}": name it with tag and tag_field')
        if tag in self._types:
            raise ValueError(f'variant "{tag}" is already registered, by {self._types[tag].__name__}')
        self._types[tag] = variant
        registered = True

        def unregister() -> None:
            nonlocal registered
            if registered:
                registered = False
                del self._types[tag]

        return unregister

    def read(self, value: JsonObject) -> V | Unknown:
        """Return the reading of a value: the variant of its tag, or `Unknown`.

        Raises:
            Unreadable: The tag is known, and a member is missing or of another type.
        """
        tag = value.get(self.tag_field)
        variant = self._types.get(tag) if isinstance(tag, str) else None
        if variant is None:
            return Unknown(tag if isinstance(tag, str) else "", value)
        try:
            return msgspec.convert(value, variant)
        except msgspec.ValidationError as error:
            raise Unreadable(f'malformed "{tag}" ({variant.__name__}): {error}') from error
