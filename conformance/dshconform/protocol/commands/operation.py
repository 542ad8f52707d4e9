"""What a line of a command table says."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dshconform.protocol.commands.arguments import Arguments


@dataclass(frozen=True, slots=True)
class Operation:
    """One line of the command table.

    Args:
        args: The type of the arguments.
        result: What it answers, in words; for an asynchronous one, the value of its task.
        asynchronous: Whether it takes `task`, or (in a script) is awaited.
        may_await: Whether it answers an awaitable sometimes, which `task` then follows, and `await` waits for.
        answers_gate: Whether it answers a gate: such commands make no `return` row.
        top_level: Whether it is for the suite alone, not for bursts and scripts.
        feature: The feature that it needs.
        kinds: The kinds of the functions in it, by path; `listen` names its kind by `event`.
    """

    args: type[Arguments]
    result: str
    asynchronous: bool = False
    may_await: bool = False
    answers_gate: bool = False
    top_level: bool = False
    feature: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
