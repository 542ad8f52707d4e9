"""The answers to gates: the only commands that make no `return` row."""

from collections.abc import Mapping
from typing import Final

from dshconform.adapters.reference import actions
from dshconform.adapters.reference.calls import Gate
from dshconform.adapters.reference.commands import Arguments, Operation
from dshconform.adapters.reference.endings import PASS, Fail
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.places import Place
from dshconform.adapters.reference.scripts import read_script
from dshconform.adapters.reference.streams import SuiteStream
from dshconform.adapters.reference.values import Scope
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import JsonMap


def _resolve(world: World, args: Arguments) -> None:
    """End the call with a value, or with nothing."""
    gate = _call_gate(world, args)
    gate.call.end(actions.answer(gate.call, args.values, _scope(world, gate)))


def _reject(world: World, args: Arguments) -> None:
    """End the call with an error."""
    gate = _call_gate(world, args)
    gate.call.end(Fail(actions.error(gate.call, args.values, _scope(world, gate))))


def _call_next(world: World, args: Arguments) -> None:
    """Call the `next()` of the call."""
    gate = _call_gate(world, args)
    gate.context.copy().run(actions.call_next, gate.call, args.values)


def _do(world: World, args: Arguments) -> list[JsonMap]:
    """Run actions inside the waiting call."""
    gate = _gate(world, args)
    script = read_script(args.items("do"), "gate.do")
    outcomes: list[JsonMap] = []

    def run() -> None:
        place = Place("do", gate.call)
        for index, action in enumerate(script):
            if actions.waits(gate.call, action):
                raise Fault(f"gate.do, item {index}: what runs inside a waiting call cannot wait")
            before = len(gate.call.outcomes)
            if actions.step(gate.call, action, place.inside(index)) is not None:
                raise Fault(f"gate.do, item {index}: a waiting call is ended by gate.resolve and gate.reject only")
            outcomes.extend(gate.call.outcomes[before:])

    gate.context.copy().run(run)
    return outcomes


def _chunk(world: World, args: Arguments) -> None:
    """Give a stream its next item."""
    gate, stream = _stream_gate(world, args)
    stream.give(args.raw("chunk", _scope(world, gate)))


def _end(world: World, args: Arguments) -> None:
    """End a stream."""
    _, stream = _stream_gate(world, args)
    stream.finish(PASS)


def _fail(world: World, args: Arguments) -> None:
    """Fail a stream."""
    gate, stream = _stream_gate(world, args)
    stream.finish(Fail(actions.error(gate.call, args.values, _scope(world, gate))))


ANSWERS: Final[Mapping[str, Operation]] = {
    "gate.resolve": Operation(_resolve, ("gate",), ("value",), silent=True),
    "gate.reject": Operation(_reject, ("gate", "error"), silent=True),
    "gate.next": Operation(_call_next, ("gate",), ("args", "keep"), silent=True),
    "gate.do": Operation(_do, ("gate", "do"), silent=True),
    "stream.chunk": Operation(_chunk, ("gate", "chunk"), silent=True),
    "stream.end": Operation(_end, ("gate",), silent=True),
    "stream.fail": Operation(_fail, ("gate", "error"), silent=True),
}
"""Every answer to a gate."""


def _scope(world: World, gate: Gate) -> Scope:
    """What an answer says is read in the place of the call that waits."""
    return world.scope(gate.call.place)


def _gate(world: World, args: Arguments) -> Gate:
    gate = world.gates.get(args.text("gate"))
    if gate is None:
        raise args.wrong("gate", "must be a gate that waits")
    return gate


def _call_gate(world: World, args: Arguments) -> Gate:
    gate = _gate(world, args)
    if gate.stream is not None:
        raise args.wrong("gate", "is a stream, answered by stream.chunk, stream.end and stream.fail")
    return gate


def _stream_gate(world: World, args: Arguments) -> tuple[Gate, SuiteStream]:
    gate = _gate(world, args)
    if gate.stream is None:
        raise args.wrong("gate", "is no stream: it is answered by gate.resolve and gate.reject")
    return gate, gate.stream
