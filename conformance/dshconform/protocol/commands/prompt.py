"""The commands of the profile `prompt`: what is contributed to prompts, and their assembly."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from dshconform.protocol.commands.arguments import Placed, Scoped, Which
from dshconform.protocol.commands.operation import Operation
from dshconform.protocol.json_value import Json
from dshconform.protocol.names import Name


class Contribution(Placed, frozen=True, kw_only=True):
    """`as` names the disposer."""

    as_: Name = msgspec.field(name="as")


class PromptContext(Contribution, frozen=True, kw_only=True):
    """The text, or a function that answers it for each assembly."""

    name: Json
    """The name of the contribution, raw."""
    order: Json
    """Its place among the others, the smallest first; raw, for refusals."""
    text: Json


class PromptSection(PromptContext, frozen=True, kw_only=True):
    """The same, and whether the section is the whole system text."""

    complete: Json | UnsetType = UNSET


class PromptVariable(Contribution, frozen=True, kw_only=True):
    """The value, or a function that answers it for each assembly; nothing (`undefined`) is no value."""

    name: Json
    """The variable's name, raw."""
    value: Json


class PromptTools(Contribution, frozen=True, kw_only=True):
    """`{schemas, knownNames?}`, or a function that answers it for each assembly."""

    provide: Json


class PromptAssemble(Scoped, frozen=True, kw_only=True):
    """The assemble context: the scope, the agent that the assembly is for, and a signal."""

    task: Name | UnsetType = UNSET
    """The name of the operation, in the row that says what was assembled."""
    agent: Which | UnsetType = UNSET
    signal: Json | UnsetType = UNSET


PROMPT: Final[Mapping[str, Operation]] = {
    "prompt.section": Operation(PromptSection, "nothing", kinds={"text": "prompt/section"}),
    "prompt.context": Operation(PromptContext, "nothing", kinds={"text": "prompt/context"}),
    "prompt.variable": Operation(PromptVariable, "nothing", kinds={"value": "prompt/variable"}),
    "prompt.tools": Operation(PromptTools, "nothing", kinds={"provide": "prompt/tools"}),
    "prompt.suppress": Operation(Contribution, "nothing"),
    "prompt.assemble": Operation(PromptAssemble, "the assembly", asynchronous=True),
}
"""Every operation of the profile, in the order of the protocol page."""
