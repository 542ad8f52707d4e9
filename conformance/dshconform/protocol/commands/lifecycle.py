"""The commands of the profile `lifecycle`: resuming, registry and factory, initiators, parts that come and go."""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from dshconform.protocol.commands.arguments import Arguments, Placed, Which
from dshconform.protocol.commands.operation import Operation
from dshconform.protocol.functions import FunctionSpec
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.names import Name


class AgentResume(Placed, frozen=True, kw_only=True):
    """`agent` is the stored id, `handle` the suite's name for the agent (by default the id)."""

    task: Name | UnsetType = UNSET
    """The name of the operation, in the row that says how it ended."""
    agent: Name
    handle: Name | UnsetType = UNSET
    options: Json | UnsetType = UNSET
    """The agent's options, raw."""
    signal: Json | UnsetType = UNSET
    """Ends the resuming when it fires, raw."""
    setup: FunctionSpec | UnsetType = UNSET
    """Composes the agent's scope before the agent is there."""


class RegistryOwns(Placed, frozen=True, kw_only=True):
    """The id that is asked for, and the agent that may own it."""

    id: Json
    owner: Which
    """The agent that may own it."""


class RegistryStub(Arguments, frozen=True, kw_only=True):
    """The suite's name for the stub, its id, and the session that it says is its own."""

    agent: Name
    """The suite's name for the stub."""
    id: Json
    session: Which


class OfRegistry(Placed, frozen=True, kw_only=True):
    """An operation of the registry on one agent."""

    agent: Which


class RegistryEnter(OfRegistry, frozen=True, kw_only=True):
    """The agent, and the one that owns it, if any; `as` names the detach."""

    as_: Name = msgspec.field(name="as")
    owner: Which | UnsetType = UNSET
    """The agent that owns the one entered."""


class RegistryRegister(OfRegistry, frozen=True, kw_only=True):
    """The agent; `as` names the disposer."""

    as_: Name = msgspec.field(name="as")


class RegistrySetFactory(Placed, frozen=True, kw_only=True):
    """What creates and what resumes; `as` names the disposer."""

    as_: Name = msgspec.field(name="as")
    create: FunctionSpec
    """Asked for new agents."""
    resume: FunctionSpec
    """Asked for stored ones."""


class InitiatorRun(Placed, frozen=True, kw_only=True):
    """The agent (none, to hide an inherited one), and what runs inside the boundary.

    `task` follows what the function answers, if that is an awaitable.
    """

    agent: Which | None
    fn: FunctionSpec
    """Runs inside the boundary."""
    task: Name | UnsetType = UNSET


class WorldPart(Arguments, frozen=True, kw_only=True):
    """A part of the composition."""

    task: Name | UnsetType = UNSET
    """The name of the operation, in the row that says how it ended."""
    part: Literal["loop", "agents", "sessions", "llm", "tools", "prompt", "persistence"]


class WorldLoad(WorldPart, frozen=True, kw_only=True):
    """A part to mount, and what of the world's configuration is for it; of `persistence`, what that has inside."""

    config: JsonMap | UnsetType = UNSET


class CtxValue(Placed, frozen=True, kw_only=True):
    """The name of a value that is attached to contexts, or of an accessor."""

    name: Name


STORE_KINDS: Final[Mapping[str, str]] = {
    "load": "store/load",
    "list": "store/list",
    "release": "store/release",
}
"""The functions of a stub of the persistence, by their members."""

LIFECYCLE: Final[Mapping[str, Operation]] = {
    "agent.resume": Operation(AgentResume, "the agent", asynchronous=True, kinds={"setup": "setup"}),
    "registry.owns": Operation(RegistryOwns, "true or false"),
    "registry.stub": Operation(RegistryStub, "nothing"),
    "registry.enter": Operation(RegistryEnter, "nothing"),
    "registry.announce": Operation(OfRegistry, "nothing"),
    "registry.register": Operation(RegistryRegister, "nothing"),
    "registry.setFactory": Operation(RegistrySetFactory, "nothing", kinds={"create": "factory", "resume": "factory"}),
    "initiator.current": Operation(Placed, "the agent, or null"),
    "initiator.require": Operation(Placed, "the agent"),
    "initiator.run": Operation(InitiatorRun, "what the function answers", may_await=True, kinds={"fn": "boundary"}),
    "world.load": Operation(
        WorldLoad, "nothing", asynchronous=True, kinds={f"config.{name}": kind for name, kind in STORE_KINDS.items()}
    ),
    "world.unload": Operation(WorldPart, "nothing", asynchronous=True),
    "ctx.value": Operation(CtxValue, "the value"),
}
"""Every operation of the profile, in the order of the protocol page."""
