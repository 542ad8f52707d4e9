"""The commands of the tools: what narrows and guards them, how calls are shown, and the schema language."""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from dshconform.protocol.commands.arguments import Arguments, Placed, Scoped
from dshconform.protocol.commands.operation import Operation
from dshconform.protocol.functions import FunctionSpec
from dshconform.protocol.json_value import Json
from dshconform.protocol.names import Name


class ToolRestrict(Placed, frozen=True, kw_only=True):
    """What the scope of `in` may inherit; `as` names the disposer."""

    as_: Name = msgspec.field(name="as")
    allow: Json | UnsetType = UNSET
    """The names that the scope may inherit, raw; all unless given."""
    deny: Json | UnsetType = UNSET
    """The names that it may not, raw."""


class ToolGuard(Placed, frozen=True, kw_only=True):
    """A guard of all calls, or of those of the scope of `in`; `as` names the disposer."""

    as_: Name = msgspec.field(name="as")
    fn: FunctionSpec
    """Asked before each call runs."""


class ToolPresent(Scoped, frozen=True, kw_only=True):
    """The tool that the scope resolves, the arguments of a call, and for a view of its result that as it was logged."""

    name: Json
    """The name of the tool, raw."""
    arguments: Json
    result: Json | UnsetType = UNSET


class ApprovalProvide(Placed, frozen=True, kw_only=True):
    """The one who is asked for approvals; `as` names the disposer."""

    as_: Name = msgspec.field(name="as")
    fn: FunctionSpec
    """Answers the requests."""


class SchemaCompile(Arguments, frozen=True, kw_only=True):
    """A specification in the schema language: of one value, or of parameters."""

    what: Literal["value", "parameters"]
    """Whether it is the specification of one value or of parameters."""
    spec: Json
    """The specification, raw."""


class SchemaAssert(Arguments, frozen=True, kw_only=True):
    """A raw schema, and what it must be: `supported`, or `object` (supported, and rooted in an object)."""

    what: Literal["supported", "object"]
    """What the schema must be."""
    schema: Json


class SchemaValidate(Arguments, frozen=True, kw_only=True):
    """A value and what it must fit: a raw schema (`root` is what the value is called), or `spec` as arguments must."""

    schema: Json | UnsetType = UNSET
    root: Json | UnsetType = UNSET
    spec: Json | UnsetType = UNSET
    value: Json


class SettingsWrite(Arguments, frozen=True, kw_only=True):
    """A section of the user's settings, and what is stored there; null clears it."""

    task: Name | UnsetType = UNSET
    """The name of the operation, in the row that says how it ended."""
    section: Name
    value: Json
    """What the section shall be, raw."""


TOOLS: Final[Mapping[str, Operation]] = {
    "tool.restrict": Operation(ToolRestrict, "nothing"),
    "tool.guard": Operation(ToolGuard, "nothing", kinds={"fn": "tool/guard"}),
    "tool.present": Operation(ToolPresent, "the view of the call, or with `result` that of the result; or nothing"),
    "approval.provide": Operation(ApprovalProvide, "nothing", feature="approval", kinds={"fn": "tool/approval"}),
    "schema.compile": Operation(SchemaCompile, "the raw schema"),
    "schema.assert": Operation(SchemaAssert, "nothing"),
    "schema.validate": Operation(SchemaValidate, "the violations"),
    "settings.write": Operation(SettingsWrite, "nothing", asynchronous=True, feature="settings"),
}
"""Every operation of the tools beyond the core, in the order of the protocol page."""
