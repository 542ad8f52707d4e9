"""Scripts of the wake contract: commands that run inside a callback, once, when it is called for the first time.

A listener of an awaited hook names the next turn. A maintenance task has its scripts in the command that starts it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.contracts import inbox_commands
from dshconform.contracts.callbacks import (
    ABORT,
    TASK_ABORT,
    Listeners,
    Place,
    Script,
    read_script,
    shortened,
    written_script,
)
from dshconform.contracts.inbox_commands import command, read_command
from dshconform.contracts.model import CommandError
from dshconform.protocol.json_value import Json, JsonMap

JOB: Final = "job"
"""The task and the function of maintenance; there is one at most at a time."""

WAITER: Final = "waiter"
"""The task that waits for idle; there is one at most at a time."""

PLACES: Final[Mapping[str, Place]] = {
    "splice observer": Place("session/event", {"event.type": "agent/inbox/spliced"}, inside=True),
    "turn start observer": Place("session/event", {"event.type": "turn/start"}),
    "turn end observer": Place("session/event", {"event.type": "turn/end"}),
    "inserted listener": Place("agent/inbox/inserted", {}, inside=True),
    "discarded listener": Place("agent/inbox/discarded", {}, inside=True),
    "claimed listener": Place("agent/inbox/claimed", {}),
    "running listener": Place("agent/status", {"status": "running"}),
    "idle listener": Place("agent/status", {"status": "idle"}),
    "error listener": Place("agent/error", {}),
    "pre-step listener": Place("agent/pre-step", {"step": 1}, hook=True),
    "stopping listener": Place("agent/turn-stopping", {}, hook=True),
    ABORT: Place("agent/pre-step", {"step": 1}, hook=True),
}
"""Every place of listeners."""

TASK: Final = "task start"
"""The place at the beginning of a maintenance task."""

INSIDE: Final = frozenset(name for name, place in PLACES.items() if place.inside)
"""The places that are inside another call, whatever the phase."""

LISTENERS: Final = Listeners(PLACES)
"""Reads and writes the listeners of the contract."""
listen: Final = LISTENERS.listen
"""Writes one."""
tidied: Final = LISTENERS.tidied
"""Writes commands anew, named in order of appearance."""


# ---------------------------------------------------------------------- writing


def maintain(start: Sequence[JsonMap] = (), on_abort: Sequence[JsonMap] = ()) -> JsonMap:
    """A maintenance task: it runs commands, then waits for the suite; others run when its signal fires.

    The signal is watched also behind its end.

    Args:
        start: What it runs before it waits.
        on_abort: What it runs when its signal fires.
    """
    begins: Json = [*written_script(start), {"do": "gate"}] if start else "gate"
    told: JsonMap = {"onAbort": written_script(on_abort)} if on_abort else {}
    return command("agent.maintain", task=JOB, fn={"$fn": JOB, "do": begins, "watch": True, **told})


def when_idle() -> JsonMap:
    """The command that waits until the agent is idle."""
    return command("agent.whenIdle", task=WAITER)


_TASK_GATE: Final[JsonMap] = {"gate": {"kind": "maintenance"}}
FINISH_JOB: Final[JsonMap] = {"do": "gate.resolve", "args": {**_TASK_GATE, "value": "done"}}
"""The maintenance task ends."""
FAIL_JOB: Final[JsonMap] = {"do": "gate.reject", "args": {**_TASK_GATE, "error": {"$error": {"message": "broken"}}}}
"""The maintenance task fails."""
JOB_ANSWERS: Final = frozenset({"gate.resolve", "gate.reject"})
"""The operations that end a maintenance task."""


def simpler(written: JsonMap) -> list[JsonMap]:
    """Commands that say less than this one.

    Args:
        written: As a scenario writes it.
    """
    op, args = read_command(written)
    if op == "agent.maintain":
        start, on_abort = (script.commands for script in read_job(args))
        shorter = [maintain(start=less) for less in shortened(start)]
        return [*shorter, *(maintain(on_abort=less) for less in shortened(on_abort))]
    if op != "listen":
        return inbox_commands.simpler(written)
    return LISTENERS.simpler(args)


# ---------------------------------------------------------------------- reading


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
    return Script(JOB, TASK, read_script(start)), Script(JOB, TASK_ABORT, read_script(function.get("onAbort", ())))
