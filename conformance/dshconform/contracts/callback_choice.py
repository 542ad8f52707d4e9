"""What contracts with scripts as callbacks choose alike: by habits, drawn once for an example, and with few ids."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from dshconform.contracts import inbox_commands as inbox
from dshconform.contracts.source import Source
from dshconform.contracts.wake_agent import WakeAgent
from dshconform.contracts.wake_calls import ARMED
from dshconform.protocol.json_value import JsonMap

A = TypeVar("A", bound=WakeAgent)

IDS: Final = ("a", "b", "c", "d", "e", "f")
"""Few, so that an id comes back."""


@dataclass(frozen=True, slots=True)
class Choices(Generic[A]):
    """What a contract chooses from.

    Args:
        habits: Each weighs the families of commands, `listen` and `burst` among them.
        families: How a command of a family is chosen; `deliver` is one.
        burst: What follows the delivery that a burst begins with, by weight.
        senseless: The families of which nothing is legal now, beside those that this module knows.
        listen: How a listener is chosen; the number makes its name.
    """

    habits: Sequence[Mapping[str, int]]
    families: Mapping[str, Callable[[Source, A], JsonMap]]
    burst: Sequence[tuple[int, str]]
    senseless: Callable[[A], Sequence[str]]
    listen: Callable[[Source, A, int], JsonMap]


@dataclass(slots=True)
class Standing(Generic[A]):
    """What an example keeps from its beginning to its end; called, it chooses a command.

    Args:
        source: The habit is the first choice read from it.
        choices: What it chooses from.
        made: How many listeners there were so far; each has a name of its own.
    """

    source: Source
    choices: Choices[A]
    made: int = 0
    habit: Sequence[tuple[int, str]] = field(init=False)

    def __post_init__(self) -> None:
        self.habit = [(weight, family) for family, weight in self.source.choose(self.choices.habits).items()]

    def __call__(self, source: Source, agent: A) -> JsonMap:
        """Choose a command; it may be one that is not legal.

        Args:
            source: Where choices come from.
            agent: As it is.
        """
        choices = self.choices
        senseless = {
            *choices.senseless(agent),
            *(("wait",) if agent.waiter else ()),
            *(("listen",) if len(agent.armed) == ARMED else ()),
        }
        family = source.weighted([one for one in self.habit if one[1] not in senseless])
        if family == "listen":
            self.made += 1
            return choices.listen(source, agent, self.made)
        if family == "burst":
            items = [source.weighted(choices.burst) for _ in range(1 + source.below(2))]
            first = choices.families["deliver"](source, agent)
            return inbox.burst(first, *(choices.families[item](source, agent) for item in items))
        return choices.families[family](source, agent)


def deliver(source: Source, agent: WakeAgent, operations: Sequence[tuple[int, str]]) -> JsonMap:
    """Choose a delivery, most often of an id that is free.

    Args:
        source: Where choices come from.
        agent: As it is.
        operations: By weight: presets, `quiet` (for a turn of its own, not waking) and `waking` (for the next step).

    Returns:
        The command.
    """
    taken = _pending(agent)
    free = [identity for identity in IDS if identity not in taken]
    identity = source.choose(free if free and source.below(8) else IDS)
    op = source.weighted(operations)
    if op == "quiet":
        return inbox.send(identity, "next-turn", wakeup=False)
    return inbox.send(identity, "next-step", wakeup=True) if op == "waking" else inbox.preset(op, identity)


def cancel(source: Source, agent: WakeAgent, causes: Sequence[tuple[int, JsonMap]]) -> JsonMap:
    """Choose a cancel; `disposed` comes only where it is the first cause or the same again.

    Args:
        source: Where choices come from.
        agent: As it is.
        causes: The others, by weight; `disposed` weighs two.

    Returns:
        The command.
    """
    disposed = inbox.CAUSES[3] if agent.cause is None or agent.disposed else inbox.CAUSES[1]
    return inbox.cancel(source.weighted([*causes, (2, disposed)]), keep=source.choose((None, True)))


def remove(source: Source, agent: WakeAgent) -> JsonMap:
    """Choose a message to remove, most often one that is pending.

    Args:
        source: Where choices come from.
        agent: As it is.

    Returns:
        The command.
    """
    pending = _pending(agent)
    return inbox.remove(source.choose(pending if pending and source.below(8) else IDS))


def _pending(agent: WakeAgent) -> list[str]:
    return [str(message["id"]) for held in agent.lists.values() for message in held]
