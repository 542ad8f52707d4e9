"""Every sequence up to a length is run once; the first difference is told as small as it can be."""

from collections.abc import Iterator, Mapping
from itertools import product

import pytest
from typeguard import suppress_type_checks

from dshconform.checks.catalog import EXHAUSTIBLE
from dshconform.contracts import inbox_commands as write
from dshconform.contracts.exhaust import Tally, Tree
from dshconform.contracts.inbox import InboxModel
from dshconform.contracts.model import Exhaustible
from dshconform.contracts.replay import replay_commands
from dshconform.links.in_process import InProcessLink
from dshconform.protocol.json_value import JsonMap
from dshconform.protocol.messages import Command, Reply
from dshconform.running.ledger import Deviation, Ledger
from tests.conformance.contracts.fake_agent import FakeAdapter


class Recording(FakeAdapter):
    """The tiny implementation, and what it was sent, world by world."""

    def __init__(self, *wrong: str) -> None:
        super().__init__(*wrong)
        self.sent: list[list[JsonMap]] = []

    def handle(self, command: Command) -> Reply:
        if command.op == "world.open":
            self.sent.append([])
        elif command.op.startswith(("agent.", "inbox.", "stream.")) and command.op != "agent.create":
            args = {key: value for key, value in command.args.items() if key != "gate"}
            self.sent[-1].append({"do": command.op, "args": args})
        return super().handle(command)

    @property
    def worlds(self) -> int:
        return len(self.sent)

    @worlds.setter
    def worlds(self, _: int) -> None:
        pass


class Late(InboxModel):
    """The same contract with the commands that a remembered wake needs."""

    def small_alphabet(self) -> tuple[JsonMap, ...]:
        return write.followup("a"), write.followup("b"), write.inject("c"), write.cancel(), write.end()


def run(adapter: FakeAdapter, depth: int, *known: Deviation, model: type[Exhaustible] = InboxModel) -> Tally:
    """The branches of a tree, one after the other, up to the first difference."""
    tree, total, link = Tree(model, frozenset(), depth), Tally(), InProcessLink(adapter)
    with suppress_type_checks():  # thousands of commands
        for beginning in tree.branches():
            total.add(tree.run(beginning, link, known))
            if total.ended:
                break
    return total


def sent_as(command: JsonMap) -> JsonMap:
    """A command as it is recorded: the id of a gate is the adapter's affair."""
    args = command["args"]
    assert isinstance(args, dict)
    return {"do": command["do"], "args": {key: value for key, value in args.items() if key != "gate"}}


def legal_sequences(depth: int) -> Iterator[tuple[JsonMap, ...]]:
    """All sequences of that length which are legal command by command."""
    for commands in product(Late().small_alphabet(), repeat=depth):
        model = Late()
        if all(model.legal(command) and model.apply(command) for command in commands):
            yield commands


@pytest.mark.parametrize("model", EXHAUSTIBLE.values(), ids=lambda model: model.name)
def test_a_small_alphabet_is_about_ten_commands_most_of_which_are_legal_anywhere(model: type[Exhaustible]) -> None:
    """Nearly ten branches at every node, and states that come again."""
    tree = Tree(model, frozenset(), 3)
    alphabet = model().small_alphabet()
    assert 8 <= len(alphabet) <= 12
    sequences = [longer for commands in tree.branches() for longer in tree.longer(commands, tree.played(commands))]
    assert len(sequences) > 0.7 * len(alphabet) ** 3
    assert len({tree.played(commands).state() for commands in sequences}) < len(sequences) / 10


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_every_legal_sequence_has_one_world(depth: int) -> None:
    """Those that brute force finds, each once, in the order of the alphabet."""
    adapter = Recording()
    tally = run(adapter, depth, model=Late)
    wanted = [[sent_as(command) for command in commands] for commands in legal_sequences(depth)]
    sent = [[command for command in world if command["do"] != "agent.inspect"] for world in adapter.sent]
    assert sent == wanted
    assert (tally.sequences, tally.commands, tally.stopped) == (len(wanted), depth * len(wanted), 0)
    assert tally.failures == []


def test_every_command_is_probed_in_one_world() -> None:
    """The agent is looked at behind every node of the tree once, and once more where a branch begins anew."""
    adapter = Recording()
    run(adapter, 3, model=Late)
    opened = len(adapter.sent)
    looks = sum(command["do"] == "agent.inspect" for world in adapter.sent for command in world) - opened
    nodes = sum(1 for depth in (1, 2, 3) for _ in legal_sequences(depth))
    branches = len(Tree(Late, frozenset(), 3).branches())
    firsts = sum(1 for _ in legal_sequences(1))
    assert looks == nodes + branches - firsts


def test_states_are_counted_over_all_sequences() -> None:
    """The states behind all sequences up to the depth, the first state among them."""
    states = {Late().state()}
    for depth in (1, 2, 3):
        for commands in legal_sequences(depth):
            model = Late()
            for command in commands:
                model.apply(command)
            states.add(model.state())
    assert run(FakeAdapter(), 3, model=Late).states == states


def test_the_first_difference_ends_the_walk_and_is_made_small() -> None:
    """A claim in the wrong order is found, and its document shows it again."""
    tally = run(FakeAdapter("prompt first"), 4, model=Late)
    (failure,) = tally.failures
    assert "INBOX-CLAIM-01" in failure.difference.clauses
    assert failure.reproduced
    steps = failure.document["steps"]
    assert isinstance(steps, list)
    again = replay_commands(InboxModel(), steps, InProcessLink(FakeAdapter("prompt first")), Ledger())
    assert again.difference == failure.difference
    assert len(steps) == 2 < failure.found_after


def test_an_implementation_that_behaves_otherwise_the_second_time_is_found() -> None:
    """Also the rows of commands that another world has judged already are judged."""
    tally = run(FakeAdapter("notes reversed", "every other world"), 2)
    (failure,) = tally.failures
    assert not failure.reproduced


CAUSE_TOLD: Mapping[str, object] = {
    "clause": "LOG-EVT-03",
    "check": "machine/inbox",
    "at": "log turn/end.event.data.reason",
    "found": {"kind": "aborted", "reason": {"$any": True}},
    "reason": "for the test",
    "reviewed": "2026-01-01",
}


def test_what_begins_like_a_stop_is_not_run() -> None:
    """A deviation that is listed with `stop` ends its world, and nothing that begins so has another one."""
    entry = Deviation(**CAUSE_TOLD, after="stop")  # type: ignore[arg-type]
    adapter = Recording("cause told")
    tally = run(adapter, 4, entry, model=Late)
    assert tally.failures == []
    assert tally.stopped > 0
    assert tally.met == {0: tally.stopped}
    ends = [world for world in adapter.sent if [one["do"] for one in world].count("agent.cancel") == 1]
    dead = [sent_as(command) for command in (write.followup("a"), write.cancel(), write.end())]
    assert sum([one for one in world if one["do"] != "agent.inspect"][:3] == dead for world in ends) == 1
    assert tally.sequences < run(FakeAdapter(), 4, model=Late).sequences


def test_a_fault_of_the_adapter_keeps_what_was_run() -> None:
    """The fault is in the tally, with the numbers until then."""

    class Dying(FakeAdapter):
        def handle(self, command: Command) -> Reply:
            if self.worlds == 5:
                raise OSError("out of cheese")
            return super().handle(command)

    tally = run(Dying(), 2)
    assert tally.fault is not None
    assert tally.fault.kind == "died"
    assert tally.sequences == 4
