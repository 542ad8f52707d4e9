"""The command table of the profile `lifecycle`: which call of `dshcore` each command makes."""

from collections.abc import Awaitable, Mapping
from typing import Any, Final, cast

from dshconform.adapters.reference.commands import Arguments, Operation, Started
from dshconform.adapters.reference.endings import Answer, Fail, Kind, Settled
from dshconform.adapters.reference.functions import function_of
from dshconform.adapters.reference.operations import options_of
from dshconform.adapters.reference.stub_agents import StubAgent, SuiteFactory
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import Json
from dshcore.agent import AGENTS, Agent, AgentRegistry, ResumeAgentOptions
from dshcore.context import Context
from dshcore.session import Session

_BOUNDARY: Final = Kind("boundary")

# --- resuming --------------------------------------------------------------------------------------------------------


def _agent_resume(world: World, args: Arguments) -> Started:
    """Make an agent over a stored session."""
    composition, context = world.composition, _context(world, args)
    agent_id = args.text("agent")
    name = args.text_or("handle", agent_id)
    given = options_of(composition, name, args)
    resuming = context[AGENTS].resume(context, ResumeAgentOptions(resume_session_id=agent_id, **given))
    return Started(composition.named(agent_id, name, resuming))


# --- the registry ----------------------------------------------------------------------------------------------------


def _registry_owns(world: World, args: Arguments) -> bool:
    """Ask whether an agent owns another one."""
    return _registry(world, args).is_owned_by(cast("Any", args.raw("id")), world.composition.agent(args.raw("owner")))


def _registry_stub(world: World, args: Arguments) -> None:
    """Make what is shaped like an agent."""
    composition = world.composition
    session: Session = composition.session(args.raw("session"))
    composition.bind_stub(args.text("agent"), StubAgent(composition.root, str(args.raw("id")), session))


def _registry_enter(world: World, args: Arguments) -> None:
    """Make an agent visible."""
    owner = world.composition.agent(args.raw("owner")) if "owner" in args else None
    world.names.disposers[args.text("as")] = _registry(world, args).enter(_agent(world, args), owner)


def _registry_announce(world: World, args: Arguments) -> None:
    """Announce one that was entered."""
    _registry(world, args).announce(_agent(world, args))


def _registry_register(world: World, args: Arguments) -> None:
    """Do both."""
    context = _context(world, args)
    world.names.disposers[args.text("as")] = _registry(world, args).register(context, _agent(world, args))


def _registry_set_factory(world: World, args: Arguments) -> None:
    """Fill the slot of the factory."""
    factory = SuiteFactory(world, function_of(args, "create"), function_of(args, "resume"))
    world.names.disposers[args.text("as")] = _registry(world, args).set_factory(
        _context(world, args), cast("Any", factory)
    )


# --- the initiator ---------------------------------------------------------------------------------------------------


def _initiator_current(world: World, args: Arguments) -> Json:
    """Read the initiator."""
    return world.composition.refer(_registry(world, args).initiators.current())


def _initiator_require(world: World, args: Arguments) -> Json:
    """Read it where there has to be one."""
    return world.composition.refer(_registry(world, args).initiators.require())


def _initiator_run(world: World, args: Arguments) -> object:
    """Call a function inside a boundary."""
    initiators, function = _registry(world, args).initiators, function_of(args, "fn")

    def work() -> object:
        return function.call(_BOUNDARY, {})

    which = args.raw("agent")
    answer: object = (
        initiators.without(work) if which is None else initiators.within(world.composition.agent(which), work)
    )
    return Started(answer, answer) if isinstance(answer, Awaitable) else answer


# --- parts and values ------------------------------------------------------------------------------------------------


def _world_load(world: World, args: Arguments) -> Started:
    """Mount a part."""
    try:
        world.composition.parts.load(args.text("part"), args.members("config"))
    except Exception as error:  # noqa: BLE001 - an asynchronous operation fails through what it answers
        return Started(Settled(Fail(error)))
    return Started(Settled(Answer(None)))


def _world_unload(world: World, args: Arguments) -> Started:
    """End a part."""
    return Started(world.composition.parts.unload(args.text("part")))


def _ctx_value(world: World, args: Arguments) -> object:
    """Read a value that is attached to a context."""
    return _context(world, args).read(world.composition.owners.service_key(args.text("name")))


LIFECYCLE: Final[Mapping[str, Operation]] = {
    "agent.resume": Operation(_agent_resume, ("task", "agent"), ("handle", "options", "signal", "setup", "in")),
    "registry.owns": Operation(_registry_owns, ("id", "owner"), ("in",)),
    "registry.stub": Operation(_registry_stub, ("agent", "id", "session")),
    "registry.enter": Operation(_registry_enter, ("agent", "as"), ("owner", "in")),
    "registry.announce": Operation(_registry_announce, ("agent",), ("in",)),
    "registry.register": Operation(_registry_register, ("agent", "as"), ("in",)),
    "registry.setFactory": Operation(_registry_set_factory, ("as", "create", "resume"), ("in",)),
    "initiator.current": Operation(_initiator_current, (), ("in",)),
    "initiator.require": Operation(_initiator_require, (), ("in",)),
    "initiator.run": Operation(_initiator_run, ("agent", "fn"), ("task", "in")),
    "world.load": Operation(_world_load, ("task", "part"), ("config",)),
    "world.unload": Operation(_world_unload, ("task", "part")),
    "ctx.value": Operation(_ctx_value, ("name",), ("in",)),
}
"""Every operation of the profile, in the order of the protocol page."""


def _context(world: World, args: Arguments) -> Context:
    return world.composition.context(args.raw_or("in", "root"))


def _registry(world: World, args: Arguments) -> AgentRegistry:
    """The registry as one context sees it; without `in`, the last one that there was."""
    return _context(world, args)[AGENTS] if "in" in args else world.composition.parts.registry


def _agent(world: World, args: Arguments) -> Agent:
    return world.composition.agent(args.raw("agent"))
