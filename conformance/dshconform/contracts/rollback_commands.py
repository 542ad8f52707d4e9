"""The commands of the rollback contract: how a scenario writes them, and the scripts of their functions.

Everything that belongs to one life carries its handle in its name: the function `a1.setup`, the task `t.a1`. So it is
known of each row, whose it is.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.contracts.inbox_commands import burst
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.macros import message

IDS: Final = ("a", "b")
"""The ids under which agents come and go."""
OWNER: Final = "p"
"""The plugin that owns agents."""
SIGNALS: Final = ("s", "r")
"""The names of the signals of transactions."""
STUB: Final = "stub"
"""What is shaped like an agent of the id `b`, and can be registered."""
LOOP: Final = "loop"
"""The part of the composition that owns lives without another owner."""

ANNOUNCEMENTS: Final = ("session/created", "agent/created", "agent/session-start")
"""The events that tell of a new life, in their order."""
DISPOSALS: Final = ("agent/disposed", "session/disposed")
"""The events that tell of its end, in their order."""

ENOUGH: Final[JsonMap] = {"$error": {"message": "enough", "as": "enough"}}
"""The reason of an abort that is an error."""
PLAIN: Final = "plain"
"""One that is none."""

LOGS: Final[Mapping[str, Sequence[JsonMap]]] = {
    "empty": (),
    "one turn": (
        {"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}},
        {"type": "turn/end", "seq": 1, "time": 1, "data": {"turn": 1, "reason": {"kind": "completed"}}},
    ),
    "pending": (
        {"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}},
        {"type": "turn/end", "seq": 1, "time": 1, "data": {"turn": 1, "reason": {"kind": "aborted"}}},
        {
            "type": "agent/inbox/spliced",
            "seq": 2,
            "time": 1,
            "data": {"target": "next-step", "start": 0, "inserted": [message("kept")]},
        },
        {"type": "session/end-seed", "seq": 3, "time": 1, "data": {}},
    ),
}
"""What is stored, by name; the last one was resumed before, and has its marker."""


def _route(identity: str) -> JsonMap:
    """The options of an agent: each id has a model of its own."""
    return {"provider": f"mock-{identity}", "model": "m1"}


def model_of(identity: str) -> str:
    """The function that is the model of an id.

    Args:
        identity: The id of an agent.
    """
    return f"model {identity}"


NO_MORE: Final[JsonMap] = {}
"""No further arguments."""


def id_of(handle: str) -> str:
    """The id of a life.

    Args:
        handle: An id and a number: `a1`, `a2`, ….
    """
    return handle[:1]


def _action(op: str, **args: Json) -> JsonMap:
    """A command in a script."""
    return {"op": op, "args": args}


def command(op: str, **args: Json) -> JsonMap:
    """Write a command of no special kind.

    Args:
        op: The operation.
        **args: Its arguments.

    Returns:
        The command.
    """
    return {"do": op, "args": args}


# --- what a function does -----------------------------------------------------------------------------------------


def look(identity: str) -> list[JsonMap]:
    """A look at both registries.

    Args:
        identity: The id that is looked up.
    """
    return [_action("registry.get", id=identity), _action("session.get", id=identity)]


def read(handle: str) -> list[JsonMap]:
    """A look at an agent and at its session.

    Args:
        handle: The agent's.
    """
    return [_action("agent.inspect", agent=handle), _action("session.read", session=handle, what=["seq"])]


def error(name: str) -> JsonMap:
    """An error that is known by a name."""
    return {"$error": {"message": name, "as": name}}


def throw(name: str = "no") -> JsonMap:
    """Fail at once.

    Args:
        name: The name of the error.

    Returns:
        The action.
    """
    return {"do": "throw", "error": error(name)}


def reject(name: str = "late") -> JsonMap:
    """Answer an awaitable that fails.

    Args:
        name: The name of the error.
    """
    return {"do": "reject", "error": error(name)}


WAIT: Final[JsonMap] = {"do": "gate"}
"""Wait for the suite."""


def commit(handle: str, *script: JsonMap) -> JsonMap:
    """Answer a commit.

    Args:
        handle: The agent's.
        *script: What it does.
    """
    return {"do": "return", "value": {"commit": {"$fn": f"{handle}.commit", "do": list(script)}}}


def cleanup(handle: str, *script: JsonMap) -> JsonMap:
    """Leave a cleanup in the scope of an agent.

    Args:
        handle: The agent's.
        *script: What it does.

    Returns:
        The action.
    """
    undo: JsonMap = {"$fn": f"{handle}.undo", "do": list(script)}
    return _action("effect", **{"as": f"{handle}.effect"}, **{"in": {"agent": handle}}, undo=undo)


def on(
    handle: str, event: str, *script: JsonMap, name: str = "on", scoped: bool = False, when: JsonMap = NO_MORE
) -> JsonMap:
    """Listen to what is told of an agent.

    Args:
        handle: The agent's.
        event: What it hears.
        *script: What it does.
        name: What the listener is called, behind the handle.
        scoped: Whether it is registered through the scope of the agent.
        when: Narrows the calls that count, where it is not.

    Returns:
        The action.
    """
    about: JsonMap = {"session" if event.startswith("session/") else "agent": handle}
    fn: JsonMap = {"$fn": f"{handle}.{name}", "do": list(script)}
    place: JsonMap = {"in": {"agent": handle}} if scoped else {}
    narrowed: JsonMap = {} if scoped else {"when": {**about, **when}}
    return _action("listen", **{"as": f"{handle}.{name}"}, event=event, fn={**fn, **narrowed}, **place)


def created(handle: str, *script: JsonMap, form: str = "create", more: JsonMap = NO_MORE) -> JsonMap:
    """Create or resume an agent, in a script.

    Args:
        handle: What the suite calls it.
        *script: Its setup.
        form: `create` or `resume`.
        more: Further arguments.
    """
    setup: JsonMap = {"$fn": f"{handle}.setup", "do": list(script)}
    identity = id_of(handle)
    args: JsonMap = {"task": f"t.{handle}", "agent": identity, "handle": handle, "options": _route(identity)}
    return {"op": f"agent.{form}", "args": {**args, "setup": setup, **more}}


def within(owner: str) -> JsonMap:
    """The argument of a creation through the plugin, or through the scope of a life.

    Args:
        owner: The name of the plugin, or the handle of the life.
    """
    return {"in": {"agent": owner} if owner[-1:].isdigit() else owner}


def aborted_by(signal: str) -> JsonMap:
    """The argument of a creation that has a signal."""
    return {"signal": {"$signal": signal}}


def aborted(signal: str = "s", reason: Json = ENOUGH) -> JsonMap:
    """Abort a signal, in a script.

    Args:
        signal: Its name.
        reason: What it is fired with.

    Returns:
        The action.
    """
    return _action("signal.abort", signal=signal, reason=reason)


def closed(task: str, owner: str = OWNER) -> JsonMap:
    """Close the plugin, or the loop, in a script.

    Args:
        task: What the suite calls the closing.
        owner: Which of the two.

    Returns:
        The action.
    """
    return (
        _action("world.unload", task=task, part=LOOP)
        if owner == LOOP
        else _action("owner.close", owner=owner, task=task)
    )


def disposed(handle: str, task: str) -> JsonMap:
    """Dispose of an agent, in a script.

    Args:
        handle: The agent's.
        task: What the suite calls the disposal.

    Returns:
        The action.
    """
    return _action("agent.dispose", task=task, agent=handle)


def sent(handle: str, identity: str, preset: str = "followup") -> JsonMap:
    """Send a message, in a script.

    Args:
        handle: The agent's.
        identity: The message's id.
        preset: How it is delivered.

    Returns:
        The action.
    """
    return _action(f"agent.{preset}", agent=handle, message=message(identity))


# --- commands -----------------------------------------------------------------------------------------------------


def top(one: JsonMap) -> JsonMap:
    """An action as a command of its own.

    Args:
        one: The action of a script.
    """
    return {"do": one["op"], "args": one["args"]}


def together(*actions: JsonMap) -> JsonMap:
    """Actions in one stretch.

    Args:
        *actions: Of scripts.

    Returns:
        The command.
    """
    return burst(*map(top, actions))


def open_owner() -> JsonMap:
    """The command that mounts the plugin."""
    return command("owner.open", owner=OWNER, requires=["agents"])


def renew(signal: str) -> JsonMap:
    """A new signal under a name."""
    return command("signal.new", signal=signal)


def answer(part: str, value: Json = None) -> JsonMap:
    """End the call of a function that waits.

    Args:
        part: The name of the function.
        value: What the call answers.

    Returns:
        The command.
    """
    given: JsonMap = {} if value is None else {"value": value}
    return command("gate.resolve", gate={"part": part}, **given)


def refuse(part: str, name: str = "no") -> JsonMap:
    """Let the call of a function that waits fail.

    Args:
        part: The name of the function.
        name: The name of the error.

    Returns:
        The command.
    """
    return command("gate.reject", gate={"part": part}, error=error(name))


def inside(part: str, *actions: JsonMap) -> JsonMap:
    """Do something in a call that waits.

    Args:
        part: The name of the function.
        *actions: Of scripts.

    Returns:
        The command.
    """
    return command("gate.do", gate={"part": part}, do=list(actions))


def _loading(identity: str, at: int = 0) -> JsonMap:
    """The name of the gate of a load."""
    place: JsonMap = {} if at == 0 else {"at": at}
    return {"kind": "store/load", "session": identity, **place}


def loaded(identity: str, log: str = "empty", at: int = 0) -> JsonMap:
    """A load comes to its end.

    Args:
        identity: The id that was loaded.
        log: What is stored: a name of `LOGS`.
        at: The place of the load among those of the id that are open.
    """
    stored: JsonMap = {"header": {"version": 0, "id": identity, "createdAt": 5}, "events": list(LOGS[log])}
    return command("gate.resolve", gate=_loading(identity, at), value=stored)


def not_loaded(identity: str, at: int = 0) -> JsonMap:
    """A load fails.

    Args:
        identity: The id that was loaded.
        at: The place of the load among those of the id that are open.
    """
    return command("gate.reject", gate=_loading(identity, at), error=error("lost"))


def end_stream(handle: str) -> JsonMap:
    """The model's stream ends.

    Args:
        handle: The agent's.
    """
    return command("stream.end", gate={"kind": "model/stream", "agent": handle})


def cancel(handle: str) -> JsonMap:
    """Cancel as the user does.

    Args:
        handle: The agent's.

    Returns:
        The command.
    """
    return command("agent.cancel", agent=handle, cause={"kind": "user"})


def maintain(handle: str, task: str = "m") -> JsonMap:
    """Start a maintenance task that waits.

    Args:
        handle: The agent's.
        task: What the suite calls the task.

    Returns:
        The command.
    """
    return command("agent.maintain", task=task, agent=handle, fn={"$fn": f"{handle}.job", "do": "gate"})


REGISTER: Final = command("registry.enter", **{"as": "leave"}, agent=STUB)
"""Somebody registers what is shaped like an agent of `b`."""
WITHDRAW: Final = command("undo", of="leave")
"""The stub leaves the registry."""
RELOAD: Final = command("world.load", task="loaded", part=LOOP)
"""The loop comes back."""
NOTHING: Final = command("registry.list")
"""Changes nothing."""
