"""Of two commands that could come next, the one is taken whose cell was visited more rarely."""

import random
from collections.abc import Sequence
from typing import ClassVar

from dshconform.contracts import inbox_commands as write
from dshconform.contracts.inbox import InboxModel
from dshconform.contracts.source import Source
from dshconform.contracts.targeting import Targeted
from dshconform.protocol.json_value import JsonMap

COMMON = write.inject("common")
RARE = write.inject("rare")
OUT_OF_PLACE = write.end()
UNKNOWN = write.inject("nowhere")


class Proposing(InboxModel):
    """A model that always proposes the same command; its cells are the messages."""

    proposed: ClassVar[JsonMap] = COMMON
    pieces: ClassVar[Sequence[JsonMap]] = ()

    def prologues(self) -> list[list[JsonMap]]:
        return [list(self.pieces)] if self.pieces else []

    def propose(self, source: Source) -> JsonMap:
        source.below(2)
        return self.proposed

    def cell(self, command: JsonMap) -> str | None:
        name = str(command["args"]["message"]["id"])  # type: ignore[index, call-overload]
        return None if name == "nowhere" else name


def chosen(*pieces: JsonMap, common: int = 0, rare: int = 0, proposed: JsonMap = COMMON) -> list[JsonMap]:
    """What is chosen in some choices, each with chances of its own, after so many visits."""

    class Own(Proposing):
        pass

    Own.pieces, Own.proposed = pieces, proposed
    visits = {"common": common, "rare": rare}
    found = [Targeted(Own(), visits, random.Random(number), 20).next() for number in range(20)]
    return [command for command in found if command is not None]


def test_the_rarer_cell_is_taken() -> None:
    """A command of a piece only where its cell was visited less often than that of what the model proposes."""
    assert chosen(RARE, common=1) == [RARE] * 20
    assert chosen(RARE, common=1, rare=1) == [COMMON] * 20
    assert chosen(RARE, common=1, rare=2) == [COMMON] * 20


def test_a_cell_outside_the_grid_is_taken_last() -> None:
    """However often the other one was visited."""
    assert chosen(UNKNOWN, common=1000) == [COMMON] * 20
    assert chosen(RARE, rare=1000, proposed=UNKNOWN) == [RARE] * 20


def test_commands_that_make_no_sense_are_passed_over() -> None:
    """The piece goes on behind them, if it does."""
    found = chosen(OUT_OF_PLACE, RARE, OUT_OF_PLACE, common=1)
    assert set(map(str, found)) == {str(RARE), str(COMMON)}
    assert chosen(OUT_OF_PLACE, common=1) == [COMMON] * 20


def test_a_model_without_prologues_is_followed() -> None:
    """There is nothing else."""
    assert chosen(common=1000) == [COMMON] * 20


def test_it_ends_with_the_choices_of_the_model() -> None:
    """However many pieces there are."""
    targeted = Targeted(Proposing(), {}, random.Random(1), 3)
    assert [targeted.next() is None for _ in range(5)] == [False, False, False, True, True]


def test_the_same_chances_choose_alike() -> None:
    """All follows from the generator that is given."""

    def path(seed: int) -> list[JsonMap | None]:
        model = InboxModel()
        targeted = Targeted(model, {}, random.Random(seed), 100)
        taken: list[JsonMap | None] = []
        while (command := targeted.next()) is not None:
            taken.append(command)
            model.apply(command)
        return taken

    assert path(1) == path(1)
    assert path(1) != path(2)
