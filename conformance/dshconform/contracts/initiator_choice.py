"""Which command of the initiator contract comes next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dshconform.contracts import initiator_commands as write
from dshconform.contracts.initiator_calls import FAILING
from dshconform.contracts.initiator_commands import BODIES, CURRENT, PRE_STEP, REQUIRE
from dshconform.contracts.initiator_state import AbstractInitiators, Gate
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import JsonMap

GATES: Final = 6
"""Calls that wait at a time, about."""

_READ: Final = write.at(None, CURRENT, REQUIRE)
_THEMES: Final[Sequence[tuple[int, str]]] = (
    *((8, "bound"), (4, "nest"), (3, "start"), (2, "work"), (6, "wake"), (2, "inject"), (3, "cancel")),
    *((3, "create"), (3, "maintain"), (6, "end"), (3, "read"), (3, "close")),
)


@dataclass(slots=True)
class Standing:
    """What an example keeps from its beginning to its end; called, it chooses a command, which may not be legal.

    Args:
        made: How many names it has given.
    """

    made: int = 0

    def __call__(self, source: Source, state: AbstractInitiators) -> JsonMap:
        """Choose a command.

        Args:
            source: Where choices come from.
            state: The state, as it is.
        """
        theme = source.weighted(_THEMES)
        if state.gates and (theme == "end" or (len(state.gates) >= GATES and source.below(2))):
            return _ending(source, source.choose(state.gates))
        if theme == "close" and len(state.used) > _LATE and state.closing is None:
            return self._close(source, state)
        where = source.choose((None, *(gate.spec for gate in state.gates)))
        return write.at(where, *self._act(source, state, theme))

    def fresh(self, kind: str) -> str:
        """A name that nothing has.

        Args:
            kind: What it begins with.
        """
        self.made += 1
        return f"{kind}{self.made}"

    def _act(self, source: Source, state: AbstractInitiators, theme: str) -> Sequence[JsonMap]:
        agent = source.choose(tuple(state.agents))
        inside = source.choose((agent, agent, None))
        name, task, waits = self.fresh("f"), self.fresh("t"), source.below(2) == 0
        match theme:
            case "bound":
                return write.bounded(inside, name, source.choose(("waits", *BODIES)), task), CURRENT
            case "nest":
                other = source.choose((*state.agents, None))
                return write.nesting(inside, name, other, source.choose(("returns", "throws"))), CURRENT
            case "start":
                return write.starting(inside, name, task), CURRENT
            case "work":
                return write.work(task), CURRENT
            case "wake":
                return write.wake(agent, self.fresh("m")), CURRENT
            case "inject":
                return write.inject(agent, self.fresh("m")), CURRENT
            case "cancel":
                return write.cancel(agent), CURRENT
            case "create":
                return write.create(self.fresh("c"), name, task, waits=waits), CURRENT
            case "maintain":
                return write.maintain(agent, name, task, waits=waits), CURRENT
            case _:
                return CURRENT, REQUIRE

    def _close(self, source: Source, state: AbstractInitiators) -> JsonMap:
        """Close the registry; as long as somebody is busy, one that is comes to an end instead."""
        busy = [gate for gate in state.gates if gate.agent is not None]
        if busy:
            return _ending(source, busy[0])
        where = source.choose((None, *(gate.spec for gate in state.gates if gate.place.within is not None)))
        return write.at(
            where, write.unload(self.fresh("t")), write.bounded(None, self.fresh("f"), "returns", self.fresh("t"))
        )


_LATE: Final = 40
"""Names that an example has given before it closes the registry, behind which little can be done."""


def _ending(source: Source, gate: Gate) -> JsonMap:
    if gate.kind == PRE_STEP:
        return write.go_on(str(gate.agent))
    if gate.kind in FAILING and source.below(3) == 0:
        return write.reject(gate.spec)
    return write.resolve(gate.kind, gate.spec)
