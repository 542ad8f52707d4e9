"""How one operation is called: its arguments, its `return` row, and what becomes of an awaitable that it answers.

The same few functions serve a command of the suite, an item of a burst and a command of a script.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.places import Place
from dshconform.adapters.reference.values import Scope, Shown, decode
from dshconform.adapters.reference.world import World, outcome_of
from dshconform.protocol.json_value import Json, JsonMap


@dataclass(frozen=True, slots=True)
class Operation:
    """One line of the command tables.

    Attributes:
        run: Calls the operation, and answers what it answered; an asynchronous one, a `Started`.
        required: The arguments that must be given; `task`, where the operation is asynchronous.
        optional: The arguments that may be given.
        silent: Whether it makes no `return` row: an answer to a gate.
    """

    run: "Callable[[World, Arguments], object]"
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """An asynchronous operation was called and has answered its awaitable.

    Attributes:
        awaitable: What it answered.
        result: What is shown of the call itself.
    """

    awaitable: Awaitable[object]
    result: object = None


@dataclass(frozen=True, slots=True)
class Returned:
    """The operation answered."""

    value: object


@dataclass(frozen=True, slots=True)
class Raised:
    """The implementation refused: the call raised."""

    error: BaseException


Outcome: TypeAlias = Returned | Raised
"""What the call of an operation came to."""


class Following:
    """What became of an awaitable; filled in before anybody who waits for the future goes on.

    Attributes:
        future: Done when the awaitable has settled.
        outcome: How; none before.
    """

    __slots__ = ("future", "outcome")

    def __init__(self, future: asyncio.Future[object]) -> None:
        self.future = future
        self.outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Performed:
    """What one command led to.

    Attributes:
        outcome: What the call answered or raised.
        shown: The same as `{"result"}` or `{"error"}`.
        following: Where the operation is asynchronous: what becomes of it.
    """

    outcome: Outcome
    shown: JsonMap
    following: Following | None = None


class Arguments:
    """The arguments of one command, each read as what it has to be.

    Args:
        world: Where the names in them stand for something.
        op: The operation, for messages.
        values: The arguments as they were sent.
        place: Where the command stands.
    """

    __slots__ = ("_op", "place", "scope", "values")

    def __init__(self, world: World, op: str, values: JsonMap, place: Place) -> None:
        self._op = op
        self.values: Final = values
        self.place: Final = place
        self.scope: Final = world.scope(place)
        """What the notations in them stand for."""

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def raw(self, name: str, scope: Scope | None = None) -> object:
        """A value for the implementation, unchecked.

        Args:
            name: The argument, which was given.
            scope: What the notations in it stand for, where that is not said by the place of the command.

        Returns:
            The value, with what its notations stand for.

        Raises:
            Fault: A notation in it is malformed or names nothing.
        """
        return decode(self.values[name], self.scope if scope is None else scope)

    def raw_or(self, name: str, default: object, scope: Scope | None = None) -> object:
        """A value for the implementation, if it was given.

        Args:
            name: The argument.
            default: What stands for it where it was not given.
            scope: As of `raw`.
        """
        return self.raw(name, scope) if name in self.values else default

    def text(self, name: str) -> str:
        """A name of the suite."""
        value = self.values[name]
        if not isinstance(value, str) or not value:
            raise self.wrong(name, "must be a name")
        return value

    def text_or(self, name: str, default: str) -> str:
        """A name of the suite, if it was given.

        Args:
            name: The argument.
            default: What stands for it where it was not given.

        Raises:
            Fault: It is no text.
        """
        return self.text(name) if name in self.values else default

    def flag(self, name: str) -> bool:
        """Yes or no; no if it was not given.

        Args:
            name: The argument.

        Returns:
            Whether it was given as true.

        Raises:
            Fault: It is neither true nor false.
        """
        value = self.values.get(name, False)
        if not isinstance(value, bool):
            raise self.wrong(name, "must be true or false")
        return value

    def members(self, name: str) -> JsonMap:
        """An object that the adapter itself reads; empty if it was not given.

        Args:
            name: The argument.

        Raises:
            Fault: It is no object.
        """
        value = self.values.get(name, {})
        if not isinstance(value, Mapping):
            raise self.wrong(name, "must be an object")
        return value

    def items(self, name: str) -> Sequence[Json]:
        """A list that the adapter itself reads.

        Args:
            name: The argument, which was given.

        Raises:
            Fault: It is no list.
        """
        value = self.values[name]
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise self.wrong(name, "must be a list")
        return value

    def wrong(self, name: str, problem: str) -> Fault:
        """The fault that names an argument.

        Args:
            name: The argument.
            problem: What it must be, behind its name.
        """
        return Fault(f"{self._op}: the argument {name!r} {problem}, not {self.values.get(name)!r}")


def perform(
    world: World, op: str, values: JsonMap, place: Place, *, keep: str | None = None, awaited: bool = False
) -> Performed:
    """Call one operation, at once, and record its `return`.

    Args:
        world: Where it happens.
        op: The operation.
        values: Its arguments.
        place: Where the command stands.
        keep: The name under which what it answers is held.
        awaited: Whether a script waits for it; without a `task` it then makes its `return` row itself, when the
            operation has settled.

    Returns:
        What it came to, as an outcome and as it is shown.

    Raises:
        Fault: The operation is unknown, or an argument is not what it has to be.
    """
    operation = _operation(world, op, values, awaited=awaited)
    arguments = Arguments(world, op, values, place)
    if keep is None and "keep" in values:
        keep = arguments.text("keep")
    task = arguments.text("task") if "task" in values else None
    try:
        value = operation.run(world, arguments)
    except Fault:
        raise
    except Exception as error:  # noqa: BLE001 - the implementation's refusal is an observation
        return _finish(world, op, place, Raised(error), silent=operation.silent)
    if not isinstance(value, Started):
        if keep is not None and not operation.silent:  # an answer to a gate answers nothing itself
            world.names.kept[keep] = value
        return _finish(world, op, place, Returned(value), silent=operation.silent)
    following = _follow(world, value, task, keep, quiet=awaited)  # what begins inside the call stands before its return
    performed = _finish(world, op, place, Returned(value.result), silent=awaited and task is None)
    return Performed(performed.outcome, performed.shown, following)


def record_return(world: World, op: str, place: Place, outcome: Outcome) -> JsonMap:
    """Record that a command returned or raised.

    Args:
        world: Where it happened.
        op: The operation.
        place: Where the command stands.
        outcome: What the call came to.

    Returns:
        The outcome as `{"result"}` or `{"error"}`.
    """
    shown = show_outcome(world, outcome)
    row: dict[str, Json] = {"on": "return", "op": op}
    if place.at is not None:
        row["at"] = place.at
        if place.call is not None:
            row["part"] = place.call.function.name
            row["n"] = place.call.n
    world.record({**row, **shown})
    return shown


def show_outcome(world: World, outcome: Outcome, member: str = "result") -> dict[str, Json]:
    """The form of an outcome in rows, replies and lists: `{"error"}`, or what was answered in a member of its own.

    Args:
        world: Shows values and errors.
        outcome: What a call came to.
        member: The name of the member for what was answered.
    """
    if isinstance(outcome, Raised):
        return Shown(error=world.show_error(outcome.error))
    return Shown({member: world.show(outcome.value)})


def _follow(world: World, started: Started, task: str | None, keep: str | None, *, quiet: bool) -> Following:
    """Have a continuation tell how an awaitable settles.

    Args:
        world: Where it happens.
        started: The operation.
        task: The name of its `task` row; none for no row.
        keep: The name under which its value is held.
        quiet: Whether somebody else deals with a failure that no row tells of.
    """
    following = Following(world.start(started.awaitable))

    def settle(future: asyncio.Future[object]) -> None:
        value, error = outcome_of(future)
        if error is not None:
            following.outcome = Raised(error)
        else:
            following.outcome = Returned(value)
            if keep is not None:
                world.names.kept[keep] = value
        if task is not None:
            shown = show_outcome(world, following.outcome, "value")
            world.record({"on": "task", "task": task, **shown})
        elif error is not None and not quiet:
            world.record({"on": "unhandled", "error": world.show_error(error)})

    following.future.add_done_callback(settle)
    return following


def _finish(world: World, op: str, place: Place, outcome: Outcome, *, silent: bool) -> Performed:
    shown = show_outcome(world, outcome) if silent else record_return(world, op, place, outcome)
    return Performed(outcome, shown)


def _operation(world: World, op: str, values: JsonMap, *, awaited: bool) -> Operation:
    operation = world.table.get(op)
    if operation is None:
        raise Fault(f"unknown op {op!r}")
    for name in operation.required:
        if name not in values and not (awaited and name == "task"):
            raise Fault(f"{op}: the argument {name!r} is missing")
    for name in values:
        if name not in operation.required and name not in operation.optional and name != "keep":
            raise Fault(f"{op}: there is no argument {name!r}")
    return operation
