"""Tools in a module whose annotations are texts until they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NotRequired, Required, TypedDict

from dshcore.tools import ToolRun, define_tool


class Found(TypedDict):
    path: Annotated[str, "Where."]
    line: NotRequired[int]
    mark: Annotated[NotRequired[str], "doc"]


class Options(TypedDict, total=False):
    depth: Required[int]
    kind: str


class More(Options):
    name: str


@define_tool
async def look(found: Sequence[Found], options: Options, more: More, run: ToolRun) -> str:
    return f"{found} {options} {more} {run}"


def test_a_member_is_required_as_it_says_itself() -> None:
    """Whatever Python makes of a qualifier that is a text; a member without one is what its record says."""
    node = look.parameters["properties"]
    assert isinstance(node, dict)
    assert node["found"]["items"]["required"] == ("path",)
    assert node["found"]["items"]["properties"]["mark"] == {"type": "string", "description": "doc"}
    assert node["options"]["required"] == ("depth",)
    assert node["more"]["required"] == ("depth", "name")
    assert look.parameters["required"] == ("found", "options", "more")
