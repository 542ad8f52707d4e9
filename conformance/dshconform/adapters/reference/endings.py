"""What the contract says of a callback, and the ways in which a call of one ends."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from dshconform.adapters.reference.world import outcome_of

if TYPE_CHECKING:
    from dshconform.adapters.reference.calls import Call


@dataclass(frozen=True, slots=True)
class Kind:
    """What the contract says of a callback.

    Attributes:
        name: The kind, as rows name it.
        waits: Whether the function may answer an awaitable that somebody waits for.
        awaited: Whether Python requires an awaitable of it even when it need not wait.
        passing: What it answers when it passes; a function that has a `next` answers that instead.
        answer: Makes of the suite's value, in an answer of this call, what the implementation expects.
        item: The same for an item of a stream.
        either: Whether its `next` may answer an awaitable, or the value itself, so that only the answer tells.
        owns: Whether it hands over what it owns: then a script that yields is an iterator.
        assigned: The same for what is assigned at a path in its fields.
        actions: What its calls can do besides: the actions that make sense for this kind alone, with what they say.
    """

    name: str
    waits: bool = True
    awaited: bool = False
    passing: "Callable[[Call], object]" = lambda _: None
    answer: "Callable[[object, Call], object]" = lambda value, _: value
    item: Callable[[object], object] = lambda value: value
    either: bool = False
    owns: bool = False
    assigned: Callable[[str, object], object] = lambda _, value: value
    actions: "Mapping[str, Callable[[Call, Mapping[str, object]], None]]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pass:
    """The call ends as its kind passes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The call answers a value."""

    value: object


@dataclass(frozen=True, slots=True)
class Fail:
    """The call fails: at once, or (`late`) by answering an awaitable that does."""

    error: BaseException
    """What it fails with."""
    late: bool = False


Ending: TypeAlias = Pass | Answer | Fail
"""How a call ends."""
PASS: Final = Pass()
"""The ending of a script that says nothing of it."""


class Settled(Awaitable[object]):
    """An awaitable that has settled already: waiting for it costs no tick.

    Args:
        ending: What it has settled with.
    """

    __slots__ = ("_ending",)

    def __init__(self, ending: Answer | Fail) -> None:
        self._ending = ending

    def __await__(self) -> Generator[object, None, object]:
        if isinstance(self._ending, Fail):
            raise self._ending.error
        yield from ()  # makes it a generator that waits for nothing
        return self._ending.value


class Next:
    """One call of `next`.

    Attributes:
        future: What it answered, where the chain is asynchronous.
        ending: How it settled; none before.
    """

    __slots__ = ("ending", "future")

    def __init__(self) -> None:
        self.future: asyncio.Future[object] | None = None
        self.ending: Answer | Fail | None = None

    @property
    def answer(self) -> object:
        """What it answered, the object itself; before it has settled, and when it failed, an awaitable."""
        if isinstance(self.ending, Answer):
            return self.ending.value
        return self.future if self.ending is None else Settled(self.ending)


def ending_of(future: asyncio.Future[object]) -> Answer | Fail:
    """How a finished future ended."""
    value, error = outcome_of(future)
    return Answer(value) if error is None else Fail(error)
