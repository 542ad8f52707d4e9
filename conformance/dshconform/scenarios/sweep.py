"""Sweeps: the same scenario at one moment after the other.

    sweep: {ticks: 8}       # eight worlds; `{$tick: true}` in the steps is 1 in the first, 8 in the last
    sweep: {ticks: [3]}     # one world, as a saved counterexample has it

A tick is the smallest postponement of the platform, so what a number of ticks means differs from implementation to
implementation. A sweep therefore demands what must hold at any moment, and visits the moments between two steps of the
implementation that no command can reach.
"""

from collections.abc import Mapping, Sequence

from dshconform.protocol.json_value import Json
from dshconform.scenarios.model_scripts import MacroError


def ticks_of(written: Json) -> tuple[int, ...]:
    """Read the member `sweep` of a scenario.

    Args:
        written: `{ticks: N}` for every moment up to one, or a list of moments; both count from 1.

    Raises:
        MacroError: It is no sweep.
    """
    ticks = written.get("ticks") if isinstance(written, Mapping) and written.keys() == {"ticks"} else None
    if isinstance(ticks, int) and not isinstance(ticks, bool) and ticks > 0:
        return tuple(range(1, ticks + 1))
    if isinstance(ticks, list) and ticks and all(isinstance(tick, int) and tick > 0 for tick in ticks):
        return tuple(tick for tick in ticks if isinstance(tick, int))
    raise MacroError(f"`sweep` must be {{ticks: N}} or {{ticks: [n, …]}} with numbers from 1, not {written!r}")


def at_tick(value: Json, tick: int) -> Json:
    """Put a number in the place of every `{$tick: true}`.

    Args:
        value: Steps, or a part of them.
        tick: The moment, counted from 1.

    Returns:
        The same with the number in it.
    """
    if isinstance(value, Mapping):
        if value.keys() == {"$tick"}:
            return tick
        return {key: at_tick(item, tick) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [at_tick(item, tick) for item in value]
    return value
