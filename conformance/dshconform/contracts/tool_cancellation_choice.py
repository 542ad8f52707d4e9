"""Which command of the tool cancellation contract comes next: as in the cancellation contract, with calls of tools."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dshconform.contracts import callback_choice
from dshconform.contracts.cancellation_agent import CancellationAgent
from dshconform.contracts.cancellation_choice import CHOICES, scripted
from dshconform.contracts.scheduling_commands import asks, returns, throws
from dshconform.contracts.source import Source
from dshconform.contracts.tool_cancellation_agent import ToolCancellationAgent
from dshconform.contracts.tool_cancellation_commands import ENDINGS, LISTENERS, TOOLS
from dshconform.contracts.wake_calls import ARMED
from dshconform.protocol.json_value import JsonMap

_PLACES: Final[Sequence[str]] = (
    *("answer observer", "call observer", "policy listener", "review listener"),
    *("result listener", "result observer", "step end observer"),
)


@dataclass(slots=True)
class Standing(callback_choice.Standing[CancellationAgent]):
    """What an example keeps from its beginning to its end; called, it chooses a command.

    Args:
        called: How many calls there were so far; each has an id of its own.
    """

    called: int = 0

    def __call__(self, source: Source, agent: CancellationAgent) -> JsonMap:
        """Choose a command; it may be one that is not legal.

        Args:
            source: Where choices come from.
            agent: As it is.
        """
        assert isinstance(agent, ToolCancellationAgent)
        act = source.weighted([(6, "other"), (5, "calls"), (2, "listen")])
        if act == "listen" and len(agent.armed) < ARMED:
            self.made += 1
            place = source.choose(_PLACES)
            script = [scripted(source, agent) for _ in range(1 + source.below(2))]
            ending = source.choose((None, *ENDINGS.get(place, ())))
            return LISTENERS.listen(f"{place} {self.made}", place, *script, ending=ending)
        if act == "calls" and agent.phase == "calling":
            call = str(agent.call["id"])
            return returns(call) if source.below(4) else throws(call, source.choose(("plain", "coded")))
        if act == "calls" and agent.phase == "streaming" and not agent.asking and agent.finish is None:
            calls = [f"{self._identity()}:{source.choose(TOOLS)}" for _ in range(1 + source.below(3))]
            return asks(*calls, begin=2)
        return callback_choice.Standing.__call__(self, source, agent)

    def _identity(self) -> str:
        self.called += 1
        return f"k{self.called}"


def standing(source: Source) -> Standing:
    """Begin an example.

    Args:
        source: Its habit is the first choice read from it.

    Returns:
        What chooses its commands.
    """
    return Standing(source, CHOICES)
