"""Creations of agent `a`, and what they announce."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.reference.world import World

from dshcore.agent import AGENTS, AgentOptions, CreateAgentOptions
from dshcore.context import Context

PUBLISHED = ["session/created a", "agent/created a", "agent/session-start a startup"]


class Commit:
    """What a setup answers: its commit does something."""

    def __init__(self, do: Callable[[], object]) -> None:
        self._do = do

    def commit(self) -> object:
        return self._do()


def options(**given: Any) -> CreateAgentOptions:
    """Options of agent `a`, over the mock model."""
    return CreateAgentOptions(session_id="a", agent_options=AgentOptions(provider="mock", model="m1"), **given)


def begin(world: World, owner: Context | None = None, **given: Any) -> "asyncio.Task[Any]":
    """Begin a creation of agent a, and settle."""
    return world.start(lambda: world.root[AGENTS].create(world.root if owner is None else owner, options(**given)))
