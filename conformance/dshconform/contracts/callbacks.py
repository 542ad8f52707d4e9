"""Scripts that run inside callbacks, once: where they run, and how the listeners that have them are written and read.

Where a callback is called is its *place*. A listener runs its script at the first dispatch behind the command that
registers it; one of an awaited hook names the turn, so that no other call is counted. What an abort listener does runs
inside the firing of the signal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dshconform.contracts import inbox_commands
from dshconform.contracts.inbox_commands import items_of, read_command
from dshconform.contracts.model import CommandError
from dshconform.protocol.json_value import Json, JsonMap

ABORT: Final = "abort listener"
"""The place inside the firing of a turn's signal."""

TASK_ABORT: Final = "task abort listener"
"""The place inside the firing of a maintenance task's signal."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where listeners are called.

    Args:
        event: The event.
        when: What tells these calls from others of the event.
        hook: Whether the event is an awaited hook of the driver, and so one turn is named.
        given: Whether the call is given the turn's signal, although no turn is named.
        inside: Whether it is inside another call, whatever the phase.
    """

    event: str
    when: JsonMap
    hook: bool = False
    given: bool = False
    inside: bool = False

    @property
    def observes(self) -> bool:
        """Whether it is inside an append: no inbox mutation is possible there."""
        return self.event == "session/event"


_CALLED: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    ("log", "agent/inbox/spliced"): {"": "splice observer"},
    ("log", "turn/start"): {"": "turn start observer"},
    ("log", "turn/end"): {"": "turn end observer"},
    ("live", "agent/inbox/inserted"): {"": "inserted listener"},
    ("live", "agent/inbox/discarded"): {"": "discarded listener"},
    ("live", "agent/inbox/claimed"): {"": "claimed listener"},
    ("live", "agent/status"): {"running": "running listener", "idle": "idle listener"},
    ("live", "agent/error"): {"": "error listener"},
}


def place_of(row: JsonMap) -> str | None:
    """The place whose listeners are called by what a row tells.

    Args:
        row: The row, or the pattern of an expected one.
    """
    event, payload = row.get("event"), row.get("payload")
    name = event.get("type") if isinstance(event, Mapping) else row.get("name")
    status = payload.get("status", "") if isinstance(payload, Mapping) else ""
    return _CALLED.get((str(row["on"]), str(name)), {}).get(str(status))


@dataclass(frozen=True, slots=True)
class Script:
    """Commands that wait for a callback.

    Args:
        part: The name of the function.
        place: Where it is called.
        commands: What it does.
        turn: The turn whose hook it is at, if it is at one.
        ending: The action that ends the call; none where it passes.
    """

    part: str
    place: str
    commands: tuple[JsonMap, ...]
    turn: int | None = None
    ending: JsonMap | None = None

    @property
    def at(self) -> str:
        """What the places of its commands begin with."""
        return "abort." if self.place in {ABORT, TASK_ABORT} else ""


def written_script(commands: Sequence[JsonMap]) -> list[Json]:
    """Commands as a script has them.

    Args:
        commands: As a scenario writes them.
    """
    return [{"op": op, "args": args} for op, args in map(read_command, commands)]


def read_script(script: Json) -> tuple[JsonMap, ...]:
    """The commands of a script.

    Args:
        script: As a function has it.

    Raises:
        CommandError: They are no list of objects.
    """
    return tuple(items_of({"do": script}))


def shortened(commands: Sequence[JsonMap]) -> list[Sequence[JsonMap]]:
    """The same commands without one of them, for each.

    Args:
        commands: The commands.
    """
    return [[*commands[:at], *commands[at + 1 :]] for at in range(len(commands))]


class Listeners:
    """The listeners of a contract.

    Args:
        places: Every place that they can be at.
    """

    def __init__(self, places: Mapping[str, Place]) -> None:
        self.places: Final = places

    def listen(
        self, part: str, place: str, *commands: JsonMap, turn: int | None = None, ending: JsonMap | None = None
    ) -> JsonMap:
        """A listener that runs commands when it is called for the first time.

        Args:
            part: The name of the function.
            place: Where it is called.
            commands: What it does.
            turn: The turn whose hook it is at, if it is at one.
            ending: The action that ends the call; none where it passes.
        """
        where = self.places[place]
        named: JsonMap = {} if turn is None else {"turn": turn}
        when: JsonMap = {**named, **where.when}
        told: JsonMap = {"when": when} if when else {}
        script: Json = [*written_script(commands), *([] if ending is None else [ending])]
        does: JsonMap = {"watch": True, "onAbort": script} if place == ABORT else {"calls": [script, None]}
        return {"do": "listen", "args": {"as": part, "event": where.event, "fn": {"$fn": part, **told, **does}}}

    def read(self, args: JsonMap) -> Script:
        """Read the arguments of `listen`.

        Args:
            args: The arguments.

        Raises:
            CommandError: It is no listener of this contract.
        """
        function = args.get("fn")
        if isinstance(function, Mapping):
            when, calls = function.get("when", {}), function.get("calls")
            assert isinstance(when, Mapping)
            signal = "onAbort" in function
            told = {key: value for key, value in when.items() if key != "turn"}
            script = function["onAbort"] if signal else calls[0] if isinstance(calls, list | tuple) and calls else ()
            for name, place in self.places.items():
                if (place.event, place.when, place.hook, name == ABORT) == (
                    args.get("event"),
                    told,
                    "turn" in when,
                    signal,
                ):
                    commands, ending = _parted(read_script(script))
                    return Script(str(function.get("$fn")), name, commands, _turn(when), ending)
        raise CommandError(f"{dict(args)!r} is no listener of this contract; its places: {', '.join(self.places)}")

    def simpler(self, args: JsonMap) -> list[JsonMap]:
        """Listeners that do less than this one.

        Args:
            args: The arguments of `listen`.

        Returns:
            A command for each; at the same place, with the same ending.
        """
        script = self.read(args)
        fewer = [less for less in shortened(script.commands) if less]
        named = script.part, script.place
        return [self.listen(*named, *less, turn=script.turn, ending=script.ending) for less in fewer]

    def tidied(self, written: Sequence[JsonMap]) -> list[JsonMap]:
        """The same commands, messages named in order of appearance and listeners by their place.

        Args:
            written: As a scenario writes them.
        """
        parts: list[str] = []

        def renamed(command: JsonMap) -> JsonMap:
            op, args = read_command(command)
            if op != "listen":
                return command
            script = self.read(args)
            before = sum(part.startswith(script.place) for part in parts)
            parts.append(f"{script.place} {before + 1}" if before else script.place)
            return self.listen(parts[-1], script.place, *script.commands, turn=script.turn, ending=script.ending)

        return [renamed(command) for command in inbox_commands.tidied(written)]


def _parted(actions: tuple[JsonMap, ...]) -> tuple[tuple[JsonMap, ...], JsonMap | None]:
    """The commands of a script, and the action that ends the call."""
    if actions and "op" not in actions[-1]:
        return actions[:-1], actions[-1]
    return actions, None


def _turn(when: JsonMap) -> int | None:
    turn = when.get("turn")
    return turn if isinstance(turn, int) else None
