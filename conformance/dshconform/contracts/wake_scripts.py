"""Scripts of the wake contract: commands that run inside a callback, once, when it is called for the first time.

Where a callback is called is its *place*. A listener runs its script at the first dispatch behind the command that
registers it; one of an awaited hook names the turn, which is the next one, so that no other call is counted. What an
abort listener does runs inside the firing of the signal. A maintenance task has its scripts in the command that starts
it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dshconform.contracts import inbox_commands
from dshconform.contracts.inbox_commands import command, items_of, read_command
from dshconform.contracts.model import CommandError
from dshconform.protocol.json_value import Json, JsonMap

JOB: Final = "job"
"""The task and the function of maintenance; there is one at most at a time."""

WAITER: Final = "waiter"
"""The task that waits for idle; there is one at most at a time."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where listeners are called.

    Args:
        event: The event.
        when: What tells these calls from others of the event.
        hook: Whether the event is an awaited hook of the driver, and so one turn is named.
        signal: Whether the script runs when the signal fires that the call was given, instead of in the call.
    """

    event: str
    when: JsonMap
    hook: bool = False
    signal: bool = False


PLACES: Final[Mapping[str, Place]] = {
    "splice observer": Place("session/event", {"event.type": "agent/inbox/spliced"}),
    "turn start observer": Place("session/event", {"event.type": "turn/start"}),
    "turn end observer": Place("session/event", {"event.type": "turn/end"}),
    "inserted listener": Place("agent/inbox/inserted", {}),
    "discarded listener": Place("agent/inbox/discarded", {}),
    "claimed listener": Place("agent/inbox/claimed", {}),
    "running listener": Place("agent/status", {"status": "running"}),
    "idle listener": Place("agent/status", {"status": "idle"}),
    "error listener": Place("agent/error", {}),
    "pre-step listener": Place("agent/pre-step", {"step": 1}, hook=True),
    "stopping listener": Place("agent/turn-stopping", {}, hook=True),
    "abort listener": Place("agent/pre-step", {"step": 1}, hook=True, signal=True),
}
"""Every place of listeners."""

OBSERVERS: Final = frozenset(name for name, place in PLACES.items() if place.event == "session/event")
"""The places inside an append: no inbox mutation is possible there."""

INSIDE: Final = frozenset({"splice observer", "inserted listener", "discarded listener"})
"""The places that are inside another call, whatever the phase."""

TASK: Final = "task start"
"""The place at the beginning of a maintenance task."""

TASK_ABORT: Final = "task abort listener"
"""The place inside the firing of a maintenance task's signal."""

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
    """The place whose listeners are called by what a row tells."""
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
    """

    part: str
    place: str
    commands: tuple[JsonMap, ...]
    turn: int | None = None

    @property
    def at(self) -> str:
        """What the places of its commands begin with."""
        return "abort." if self.place in {"abort listener", TASK_ABORT} else ""


# ---------------------------------------------------------------------- writing


def listen(part: str, place: str, *commands: JsonMap, turn: int | None = None) -> JsonMap:
    """A listener that runs commands when it is called for the first time.

    Args:
        part: The name of the listener.
        place: What it hears: a name of `PLACES`.
        *commands: What it runs.
        turn: The number of the only turn that it hears of; any turn unless given.
    """
    where = PLACES[place]
    named: JsonMap = {} if turn is None else {"turn": turn}
    when: JsonMap = {**named, **where.when}
    told: JsonMap = {"when": when} if when else {}
    does: JsonMap = (
        {"watch": True, "onAbort": _script(commands)} if where.signal else {"calls": [_script(commands), None]}
    )
    return {"do": "listen", "args": {"as": part, "event": where.event, "fn": {"$fn": part, **told, **does}}}


def maintain(start: Sequence[JsonMap] = (), on_abort: Sequence[JsonMap] = ()) -> JsonMap:
    """A maintenance task: it runs commands, then waits for the suite; others run when its signal fires.

    The signal is watched also behind its end.

    Args:
        start: What it runs before it waits.
        on_abort: What it runs when its signal fires.
    """
    begins: Json = [*_script(start), {"do": "gate"}] if start else "gate"
    told: JsonMap = {"onAbort": _script(on_abort)} if on_abort else {}
    return command("agent.maintain", task=JOB, fn={"$fn": JOB, "do": begins, "watch": True, **told})


def when_idle() -> JsonMap:
    """Wait until the agent is idle."""
    return command("agent.whenIdle", task=WAITER)


_TASK_GATE: Final[JsonMap] = {"gate": {"kind": "maintenance"}}
FINISH_JOB: Final[JsonMap] = {"do": "gate.resolve", "args": {**_TASK_GATE, "value": "done"}}
"""The maintenance task ends."""
FAIL_JOB: Final[JsonMap] = {"do": "gate.reject", "args": {**_TASK_GATE, "error": {"$error": {"message": "broken"}}}}
"""The maintenance task fails."""
JOB_ANSWERS: Final = frozenset({"gate.resolve", "gate.reject"})
"""The operations that end a maintenance task."""


def _script(commands: Sequence[JsonMap]) -> list[Json]:
    return [{"op": op, "args": args} for op, args in map(read_command, commands)]


def simpler(written: JsonMap) -> list[JsonMap]:
    """Commands that say less than this one.

    Args:
        written: As a scenario writes it.
    """
    op, args = read_command(written)
    if op == "agent.maintain":
        start, on_abort = (script.commands for script in read_job(args))
        shorter = [maintain(start=less) for less in _shortened(start)]
        return [*shorter, *(maintain(on_abort=less) for less in _shortened(on_abort))]
    if op != "listen":
        return inbox_commands.simpler(written)
    script = read_listener(args)
    fewer = [less for less in _shortened(script.commands) if less]
    return [listen(script.part, script.place, *less, turn=script.turn) for less in fewer]


def _shortened(commands: Sequence[JsonMap]) -> list[Sequence[JsonMap]]:
    return [[*commands[:at], *commands[at + 1 :]] for at in range(len(commands))]


def tidied(written: Sequence[JsonMap]) -> list[JsonMap]:
    """The same commands, messages named in order of appearance and listeners by their place.

    Args:
        written: The commands of one example.
    """
    parts: list[str] = []

    def renamed(command: JsonMap) -> JsonMap:
        op, args = read_command(command)
        if op != "listen":
            return command
        script = read_listener(args)
        before = sum(part.startswith(script.place) for part in parts)
        parts.append(f"{script.place} {before + 1}" if before else script.place)
        return listen(parts[-1], script.place, *script.commands, turn=script.turn)

    return [renamed(command) for command in inbox_commands.tidied(written)]


# ---------------------------------------------------------------------- reading


def read_listener(args: JsonMap) -> Script:
    """Read the arguments of `listen`.

    Args:
        args: The arguments of the command.

    Returns:
        What it hears, and what it runs.

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
        for name, place in PLACES.items():
            if place == Place(str(args.get("event")), told, "turn" in when, signal):
                return Script(str(function.get("$fn")), name, _commands(script), _turn(when))
    raise CommandError(f"{dict(args)!r} is no listener of this contract; its places: {', '.join(PLACES)}")


def read_job(args: JsonMap) -> tuple[Script, Script]:
    """Read the scripts of a maintenance task: at its beginning, and inside the firing of its signal.

    Args:
        args: The arguments of `agent.maintain`.

    Returns:
        Both scripts.

    Raises:
        CommandError: It is no task of this contract.
    """
    function = args.get("fn")
    if not isinstance(function, Mapping) or args.get("task") != JOB or function.get("$fn") != JOB:
        raise CommandError(f"the maintenance of this contract is {JOB!r}, a task and a function, not {dict(args)!r}")
    begins = function.get("do", ())
    start = begins[:-1] if isinstance(begins, list | tuple) else ()
    return Script(JOB, TASK, _commands(start)), Script(JOB, TASK_ABORT, _commands(function.get("onAbort", ())))


def scripted(op: str, args: JsonMap) -> Sequence[JsonMap]:
    """The commands that run inside a command's callbacks.

    Args:
        op: The operation.
        args: Its arguments.

    Raises:
        CommandError: The command is none of this contract.
    """
    if op == "listen":
        return read_listener(args).commands
    return [one for script in read_job(args) for one in script.commands] if op == "agent.maintain" else ()


def _turn(when: JsonMap) -> int | None:
    turn = when.get("turn")
    return turn if isinstance(turn, int) else None


def _commands(script: Json) -> tuple[JsonMap, ...]:
    return tuple(items_of({"do": script}))
