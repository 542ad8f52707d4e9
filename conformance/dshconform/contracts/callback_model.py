"""What the models of contracts with callbacks have in common: their world, and cells that callbacks visit too."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from dshconform.contracts.agent_model import AgentModel, Alphabet
from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.inbox_rows import AGENT, MODEL, ROUTE
from dshconform.contracts.wake_agent import WakeAgent
from dshconform.contracts.wake_calls import WakeCalls
from dshconform.protocol.json_value import JsonMap
from dshconform.running.step import Step

A = TypeVar("A", bound=WakeAgent)

Tours: TypeAlias = Callable[[frozenset[str]], Sequence[Sequence[JsonMap]]]
"""The prologues that visit every cell, by the variants that are followed."""


@dataclass(frozen=True, slots=True)
class CallbackContract(Generic[A]):
    """A contract with callbacks.

    Args:
        alphabet: Its commands.
        cell_of: The cell of a command that visited some moments, acts and windows.
        tours: The prologues that visit every cell.
        furnish: What is there before the model is, each as a command.
    """

    alphabet: Alphabet[A]
    cell_of: Callable[[Sequence[tuple[str, str, str]]], str | None]
    tours: Tours
    furnish: Sequence[JsonMap] = ()


class CallbackModel(AgentModel[A]):
    """The abstract state of one agent, and of what is done to it from outside and inside its callbacks.

    Args:
        agent: In its first state.
        calls: What commands do to it.
        contract: The contract.
    """

    def __init__(self, agent: A, calls: WakeCalls, contract: CallbackContract[A]) -> None:
        self._visiting = calls
        self._contract = contract
        super().__init__(agent, calls, contract.alphabet)

    def opening(self) -> list[Step]:
        """A world with one agent and a model that waits for the suite at every item."""
        stream: JsonMap = {"$fn": MODEL, "do": "gate", "abort": "manual"}
        create: JsonMap = {"task": f"create-{AGENT}", "agent": AGENT, "options": ROUTE}
        return [
            Step("world.open", {}),
            *(Step(*read_command(command)) for command in self._contract.furnish),
            Step("model.register", {"as": MODEL, "routes": [ROUTE["provider"]], "stream": stream}),
            Step("agent.create", create),
        ]

    def prologues(self) -> list[list[JsonMap]]:
        """The histories that chance would reach seldom, then the tours of the grid."""
        return [*super().prologues(), *(list(tour) for tour in self._contract.tours(self._visiting.switches))]

    def cell(self, command: JsonMap) -> str | None:
        """The last cell that a legal command visits, callbacks included."""
        op, args = read_command(command)
        return None if op == "listen" else self._contract.cell_of(self._visiting.visits(op, args))

    def apply(self, command: JsonMap) -> list[Step]:
        """Advance by a legal command; the steps are the command and a look at the agent."""
        steps = super().apply(command)
        self.departed += self._agent.departed
        return steps
