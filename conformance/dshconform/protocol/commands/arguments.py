"""What the arguments of the operations are made of."""

from typing import Annotated, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dshconform.protocol.json_value import Json
from dshconform.protocol.names import Name
from dshconform.protocol.values import FieldRef


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of one command."""


Which: TypeAlias = Name | FieldRef
"""An agent or a session by its name; inside a function also the one that a field of the call holds."""


class AgentPlace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The context, or the scope, of one agent."""

    agent: Which


In: TypeAlias = Name | AgentPlace
"""Through which context a command goes: `root` (the default), or an agent's."""

Target: TypeAlias = Annotated[Json, Meta(description="`next-turn` or `next-step`; any other value is for refusals.")]
"""The list of an inbox that a message goes to."""


class Placed(Arguments, frozen=True, kw_only=True):
    """Arguments of a command that registers, creates or looks something up, through the context `in`."""

    in_: In | UnsetType = msgspec.field(default=UNSET, name="in")


class OfAgent(Arguments, frozen=True, kw_only=True):
    """Arguments of an operation of an agent."""

    agent: Which


class Scoped(Placed, frozen=True, kw_only=True):
    """The scope that is asked; without it, none."""

    scope: In | UnsetType = UNSET
