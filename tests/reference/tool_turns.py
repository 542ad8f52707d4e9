"""Turns in which the model calls tools, and what is told of them."""

from typing import Any

from tests.reference.toolbox import calls
from tests.reference.world import World, text


def tool_rows(rows: list[str]) -> list[str]:
    """The rows about tools, and what ends the turn."""
    return [row for row in rows if row.startswith(("tool", "> body", "turn/end", "splice next-step", "agent/error"))]


def run(world: World, *wanted: str, arguments: str = "{}") -> list[str]:
    """Let the model call tools and then say something; the rows about tools."""
    world.model.follow(calls(*wanted, arguments=arguments), text("done"))
    world.followup("A")
    return tool_rows(world.take())


def result_events(world: World) -> list[Any]:
    """The results in the log."""
    return [event for event in world.session().events if event["type"] == "tool/result"]
