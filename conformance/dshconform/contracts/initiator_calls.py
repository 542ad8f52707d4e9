"""Which commands of the initiator contract make sense in a state, and which cell of the grid each visits."""

from collections.abc import Sequence
from typing import Final

from dshconform.contracts.grid import spelled
from dshconform.contracts.initiator_commands import PRE_STEP, SETUP, body_of, items_of, names_in, waits
from dshconform.contracts.initiator_state import AbstractInitiators, Gate, Place
from dshconform.contracts.model import CommandError
from dshconform.contracts.session_state import members_of
from dshconform.protocol.json_value import JsonMap

AGENTS: Final = 5
"""Agents of one example, at most."""

_WORKS: Final = ("work", "causeless work")
_READS: Final = frozenset({"initiator.current", "initiator.require"})
_ENDS: Final = frozenset({"gate.resolve", "gate.reject"})
FAILING: Final = frozenset({"boundary", "maintenance"})
"""Calls that may fail without failing what called them."""

_ACTS: Final = _READS | {
    *("initiator.run", "run", "agent.followup", "agent.inject", "agent.cancel", "agent.create", "agent.maintain"),
    "world.unload",
}


def legal(state: AbstractInitiators, op: str, args: JsonMap) -> bool:
    """Whether the clauses say what a command does now.

    Args:
        state: What is so before the command.
        op: The operation.
        args: Its arguments.

    Raises:
        CommandError: It is no command of this contract.
    """
    if op not in _ENDS | {"burst", "gate.do"}:
        raise CommandError(f"{op!r} is no command of this contract: burst, gate.do, gate.reject, gate.resolve")
    items = items_of(op, args)
    if is_ending(items):
        return _may_end(state, items)
    for what, given in items:
        if what not in _ACTS:
            raise CommandError(f"{what!r} is done at no place of this contract: {', '.join(sorted(_ACTS))}")
        if what == "initiator.run":
            body_of(members_of(given["fn"]))
    place = state.place(args.get("gate"))
    if place is None or not items:
        return False
    names = [name for what, given in items for name in names_in(what, given)]
    if len(set(names)) < len(names) or not state.used.isdisjoint(names):
        return False
    (first, given), rest = items[0], items[1:]
    if first == "world.unload":
        return _may_close(state, place, rest)
    return _may_act(state, first, given) and all(what in _READS for what, _ in rest)


def is_ending(items: Sequence[tuple[str, JsonMap]]) -> bool:
    """Whether a command ends a call that waits.

    Args:
        items: What the command does, one after the other.
    """
    return bool(items) and (items[0][0] in _ENDS or items[0][0] == "gate.next")


def _may_end(state: AbstractInitiators, items: Sequence[tuple[str, JsonMap]]) -> bool:
    op, args = items[-1]
    gate = state.gate(args.get("gate"))
    if gate is None:
        return False
    if gate.kind == PRE_STEP or len(items) > 1:
        return gate.kind == PRE_STEP and len(items) > 1 and items[0][1] == {"gate": gate.spec}
    return gate.kind in FAILING if op == "gate.reject" else ("value" in args) == (gate.kind != SETUP)


def _may_close(state: AbstractInitiators, place: Place, rest: Sequence[tuple[str, JsonMap]]) -> bool:
    """Whether the registry can be closed: nobody is busy, and whom it waits for is clear.

    Where it waits for nobody, the clauses do not say whether reads of the same stretch come before its end.
    """
    if state.closing is not None or place.within is None:
        return False
    if any(agent.busy for agent in state.agents.values()) or any(gate.kind == SETUP for gate in state.gates):
        return False
    reads = any(what in _READS for what, _ in rest)
    return (state.held(place.within) or not reads) and all(what in _READS | {"initiator.run"} for what, _ in rest)


def _may_act(state: AbstractInitiators, op: str, args: JsonMap) -> bool:
    if state.closing is not None:
        return op in _READS or (op in {"initiator.run", "run"} and not state.closed)
    match op:
        case "agent.create":
            created = len(state.agents) + sum(gate.kind == SETUP for gate in state.gates)
            return args["agent"] not in state.agents and created < AGENTS
        case "agent.followup" | "agent.inject" | "agent.cancel" | "agent.maintain":
            agent = state.agents.get(str(args["agent"]))
            if agent is None:
                return False
            running = agent.busy not in {None, "maintenance"}
            if op == "agent.cancel":
                return running and not agent.cancelled
            late = op == "agent.followup" and running and agent.cancelled and not agent.latched
            return agent.busy is None or late  # a second one would lead to a second turn
        case "initiator.run":
            return args["agent"] is None or args["agent"] in state.agents
        case _:
            return True


# ---------------------------------------------------------------------- cells


def cell(state: AbstractInitiators, op: str, args: JsonMap) -> str | None:
    """The cell that a legal command visits: `nested boundary / opens, throws`, `closing / work / reads`.

    Args:
        state: What is so before the command.
        op: The operation.
        args: Its arguments.
    """
    items = items_of(op, args)
    if is_ending(items):
        gate = state.gate(items[-1][1]["gate"])
        assert gate is not None
        return _cell_of_ending(state, gate, items[-1][0].partition(".")[2])
    place = state.place(args.get("gate"))
    assert place is not None
    first, given = items[0]
    act = _act_of(first, given)
    if state.closing is None:
        cancelled = first == "agent.followup" and state.agents[str(given["agent"])].busy is not None
        return spelled("cancelled", "wakes") if cancelled else spelled(place.name, act)
    known = place.within is not None or place.name in _WORKS
    if first == "run" or not known:
        return None
    told = act.partition(",")[0]  # a boundary that does not open has no body
    return spelled("closed" if state.closed else "closing", place.name, told)


def _act_of(op: str, args: JsonMap) -> str:
    """What the grid calls what is done at a place."""
    match op:
        case "initiator.run":
            what = "clears" if args["agent"] is None else "opens"
            return f"{what}, {body_of(members_of(args['fn']))}"
        case "agent.create":
            return "creates, waits" if waits(members_of(args["setup"])) else "creates"
        case "agent.maintain":
            return "maintains, waits" if waits(members_of(args["fn"])) else "maintains"
        case _:
            return _NAMES.get(op, "reads")


_NAMES: Final = {
    "run": "starts work",
    "agent.followup": "wakes",
    "agent.inject": "injects",
    "agent.cancel": "cancels",
    "world.unload": "closes",
}


def _cell_of_ending(state: AbstractInitiators, gate: Gate, how: str) -> str:
    agent = state.agents.get(gate.agent or "")
    cancelled = ", cancelled" if agent is not None and agent.cancelled else ""
    latched = ", woken" if agent is not None and agent.latched else ""
    return spelled("ends", f"{gate.kind}{cancelled}{latched}", how)
