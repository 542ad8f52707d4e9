"""What the grids of one agent's contracts have in common: windows of cancellation, deliveries, cancels, the product.

A cell says at what phase something is done, what, and in which window: `streaming / steer / cancelled keep`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar

from dshconform.contracts.grid import Act, Fresh, Place, spelled
from dshconform.contracts.inbox_agent import AbstractAgent
from dshconform.contracts.inbox_commands import (
    CAUSES,
    TARGETS,
    burst,
    cancel,
    end,
    fail,
    finish,
    followup,
    inject,
    inspect,
    keep_inbox,
    kind_of,
    read_command,
    send,
    steer,
    text,
)
from dshconform.protocol.json_value import JsonMap

A = TypeVar("A", bound=AbstractAgent)

Approach: TypeAlias = Callable[[Fresh], Sequence[JsonMap]]
"""Commands that lead from rest into a state, given names for its messages."""


@dataclass(frozen=True, slots=True)
class Stage(Generic[A]):
    """A phase: how it is reached from rest, its windows with what leads there, and what can be done in each."""

    approach: Approach
    """The commands that lead there."""
    windows: Mapping[str, Approach]
    acts: Mapping[str, Act[A]]
    """What can be done in each of its windows, by the name of the act."""


class Grid(Generic[A]):
    """The product of phases, acts and windows, less what cannot be.

    Args:
        stages: The phases.
        phase: The phase of an agent, as the grid calls it.
        window: Its window.
        named: What a command is called that is no delivery, no cancel and no plain burst; none where it is one of
            those, or the grid says nothing of it.
        rest: The next command on the way to an idle agent without anything pending; none there.
    """

    def __init__(
        self,
        stages: Mapping[str, Stage[A]],
        phase: Callable[[A], str],
        window: Callable[[A], str],
        named: Callable[[A, str, JsonMap], str | None],
        rest: Callable[[A, Fresh], JsonMap | None],
    ) -> None:
        self._phase, self._window, self._named = phase, window, named
        self.rest: Final = rest
        self.places: Final = tuple(_places(stages))
        """Each window of each phase, with the cells of its acts."""
        self.cells: Final = tuple(cell for place in self.places for cell in place.acts)
        """All cells, in the order of the phases."""

    def cell(self, agent: A, command: JsonMap) -> str | None:
        """The cell that a command visits, if it visits one.

        Args:
            agent: In the state before the command.
            command: A legal command.
        """
        op, args = read_command(command)
        act = self._named(agent, op, args) or common_act(op, args)
        return None if act is None else spelled(self._phase(agent), act, self._window(agent))


def _places(stages: Mapping[str, Stage[A]]) -> Iterator[Place[A]]:
    for phase, stage in stages.items():
        for window, leads in stage.windows.items():
            acts = {
                spelled(phase, name, window): act
                for name, act in stage.acts.items()
                if not (name in _DISPOSING and window.startswith(_LATE))
            }
            yield Place(both(stage.approach, leads), acts)


def both(first: Approach, then: Approach) -> Approach:
    """One approach behind the other.

    Args:
        first: The commands that come first.
        then: Those that follow; both take names from the same source.
    """
    return lambda fresh: [*first(fresh), *then(fresh)]


# ---------------------------------------------------------------------- windows

_LIVE: Final = "live"
_DISPOSED: Final = "disposed"
LATCHED: Final = "latched"
"""The window of a wake that is remembered."""

SIGNALS: Final[Mapping[str, Approach]] = {
    _LIVE: lambda _: [],
    "cancelled": lambda _: [cancel()],
    "cancelled keep": lambda _: [keep_inbox()],
    LATCHED: lambda fresh: [cancel(), steer(next(fresh))],
    "latch dropped": lambda fresh: [cancel(), steer(next(fresh)), cancel()],
    _DISPOSED: lambda _: [cancel(CAUSES[-1])],
}
"""The windows of a turn, each with what leads there from a live one."""

_LATE: Final = tuple(name for name in SIGNALS if name not in {_LIVE, _DISPOSED})

IDLE: Final[Mapping[str, Approach]] = {"empty": lambda _: [], "pending": lambda fresh: [inject(next(fresh))]}
"""The windows of an idle agent."""


def signal_of(agent: AbstractAgent) -> str:
    """The window of a turn.

    Its signal is live or aborted. Then a wake is remembered, or one was dropped and none is remembered; otherwise every
    cancel so far kept the inbox, or one did not.

    Args:
        agent: Before the command.
    """
    if agent.cause is None:
        return _LIVE
    if agent.disposed:
        return _DISPOSED
    if agent.latch:
        return LATCHED
    if agent.latch_dropped:
        return "latch dropped"
    return "cancelled keep" if agent.kept else "cancelled"


def window_of(agent: AbstractAgent) -> str:
    """The window of an agent: of its turn, or whether anything is pending while it is idle."""
    if agent.phase != "idle":
        return signal_of(agent)
    return "pending" if agent.pending else "empty"


# ---------------------------------------------------------------------- acts


def _cancel_act(args: JsonMap) -> str:
    return f"cancel {kind_of(args.get('cause'))}{' keep' if args.get('keepInbox') is True else ''}"


def _send_act(args: JsonMap) -> str:
    if args.get("target") not in TARGETS:
        return "send nowhere"
    return "send waking" if args.get("wakeup") is True else "send quiet"


_COMMON: Final[Mapping[str, Callable[[JsonMap], str]]] = {
    "agent.followup": lambda _: "followup",
    "agent.steer": lambda _: "steer",
    "agent.inject": lambda _: "inject",
    "agent.send": _send_act,
    "agent.cancel": _cancel_act,
    "burst": lambda _: "burst",
}

DELIVERIES: Final[Mapping[str, Act[AbstractAgent]]] = {
    "inject": lambda _, fresh: inject(next(fresh)),
    "send quiet": lambda _, fresh: send(next(fresh), "next-turn", wakeup=False),
    "followup": lambda _, fresh: followup(next(fresh)),
    "steer": lambda _, fresh: steer(next(fresh)),
    "send waking": lambda _, fresh: send(next(fresh), "next-step", wakeup=True),
    "burst": lambda _, fresh: burst(inject(next(fresh)), inspect()),
}
"""The ways to give the agent a message, each with a fresh name."""
STREAM: Final[Mapping[str, Act[AbstractAgent]]] = {
    "text": lambda *_: text("x"),
    "finish": lambda *_: finish("stop"),
    "fail": lambda *_: fail(),
    "end": lambda *_: end(),
}
"""What the model streams."""


def _always(command: JsonMap) -> Act[AbstractAgent]:
    return lambda *_: command


CANCELS: Final[Mapping[str, Act[AbstractAgent]]] = {
    _cancel_act(read_command(command)[1]): _always(command)
    for keep in (True, None)
    for command in (cancel(cause, keep=keep) for cause in CAUSES)
}
"""Every cause, keeping the inbox or not."""

_DISPOSING: Final = frozenset(name for name in CANCELS if name.startswith("cancel disposed"))
"""Left open behind another cause (sheet 70, phase machine)."""


def common_act(op: str, args: JsonMap) -> str | None:
    """What a delivery, a cancel or a burst is called.

    Args:
        op: The operation.
        args: Its arguments.

    Returns:
        The name of the act; none where it is none of these.
    """
    name = _COMMON.get(op)
    return None if name is None else name(args)


def stream_act(op: str, args: JsonMap) -> str | None:
    """What an item of the model's stream is called.

    Args:
        op: The operation.
        args: Its arguments.

    Returns:
        The name of the act; none where it is nothing of the stream.
    """
    if op != "stream.chunk":
        return {"stream.end": "end", "stream.fail": "fail"}.get(op)
    chunk = args.get("chunk")
    return "finish" if isinstance(chunk, Mapping) and chunk.get("type") == "finish" else "text"
