"""Lockstep, version 1: the two messages of the wire and the greeting.

One command, then silence: the adapter executes a command, lets the implementation run until nothing more can
happen without another command, and only then replies with everything that happened, in order, and with every
gate at which the implementation now waits for the suite.
"""

from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from dshconform.protocol.json_value import Json, JsonMap

PROTOCOL_VERSION: Final = 1
"""The number that both sides name in their greeting."""

Row = JsonMap
"""One observation; its `on` member says which (`dshconform.protocol.observations` has a struct for each)."""


class Command(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One operation for the adapter to execute."""

    id: int
    """Counts the commands of a connection, from 1 on."""
    op: str
    """The name of the operation, a line of the command tables."""
    args: JsonMap = {}
    """The arguments of the operation, as its line types them."""


class ErrorForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An error of the implementation, in the one form that it has everywhere.

    `type` is the class (the specification's name where it has one), `code` is always there and null where the
    implementation has none, `is_` the suite's name when it is the very error that the suite made.
    """

    type: str
    message: str
    """The text, as the implementation words it."""
    code: Json
    cause: Json | UnsetType = UNSET
    """What it was made from: an error in the same form, or `{"value": …}`."""
    failure: Json | UnsetType = UNSET
    """What an LlmError knows of the provider's failure."""
    violations: list[Json] | UnsetType = UNSET
    """What did not fit, each in words, where arguments or values were refused."""
    members: list[Json] | UnsetType = UNSET
    """The errors that an aggregate holds, in the same form."""
    is_: str | UnsetType = msgspec.field(default=UNSET, name="is")


class Thrown(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that was thrown and is no error."""

    value: Json


class Reply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one command led to.

    Exactly one of `result`, `error` and `fault` is present. `observed` holds all rows since the command was
    read; `late` those made between the previous reply and this command; `open` the gates that wait, in order of
    opening.
    """

    id: int
    """The number of the command that it answers."""
    result: Json | UnsetType = UNSET
    error: JsonMap | UnsetType = UNSET
    fault: str | UnsetType = UNSET
    observed: list[Row] = []
    late: list[Row] | UnsetType = UNSET
    open: list[str] = []


class ImplementationInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who answers behind the adapter."""

    name: str
    """What its authors call it."""
    version: str
    """The version that answers, for reports."""
    language: str
    """What it is written in."""
    homepage: str | None = None
    """Where a reader finds it."""


class Hello(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of `hello`: what is not declared here is skipped and counted as not run."""

    protocol: int
    """The version of the protocol that the adapter speaks."""
    implementation: ImplementationInfo
    """What the adapter drives."""
    profiles: list[str]
    """The profiles of the specification that it has."""
    features: list[str] = []
    """The optional parts of the protocol that the adapter has."""
