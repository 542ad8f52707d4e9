"""The actions of a script: what each does in a call of a function, or in a stream that follows one."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

from dshconform.adapters.reference import paths
from dshconform.adapters.reference.commands import Outcome, Performed, Raised, perform, record_return, show_outcome
from dshconform.adapters.reference.endings import PASS, Answer, Ending, Fail, Next, ending_of
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.places import Place
from dshconform.adapters.reference.scripts import Script, mapping, read_commands, ticks_of
from dshconform.adapters.reference.values import Scope, decode
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import Json, JsonMap

if TYPE_CHECKING:
    from dshconform.adapters.reference.calls import Call


def waits(call: "Call", action: JsonMap) -> bool:
    """Whether an action may have to wait.

    Args:
        call: Whose action it is.
        action: As the script has it, its form checked.
    """
    match action.get("do"):
        case "gate":
            return True
        case "pause":
            return action["ticks"] != 0
        case "next":
            return call.kind.waits
        case None:
            return action.get("await") is True
        case _:
            return False


def step(call: "Call", action: JsonMap, place: Place) -> Ending | None:
    """Run an action that does not wait.

    Args:
        call: Whose action it is.
        action: As the script has it, its form checked.
        place: Where it stands.

    Returns:
        How it ends the call, if it does.

    Raises:
        Fault: The action makes no sense here.
    """
    match action.get("do"):
        case None:
            performed = _perform(call, action, place, awaited=False)
            call.outcomes.append(performed.shown)
            return _raised(action, performed.outcome)
        case "next":
            ending = call_next(call, action).ending
            return ending if isinstance(ending, Fail) else None
        case "return":
            return answer(call, action, call.world.scope(place))
        case "throw" | "reject" as how:
            return Fail(error(call, action, call.world.scope(place)), late=how == "reject")
        case "pass":
            return PASS
        case "set":
            _set(call, action, place)
        case "defer":
            _defer(call, action, place)
        case name if isinstance(name, str) and name in call.kind.actions:
            said = {member: decode(value, call.world.scope(place)) for member, value in action.items()}
            call.kind.actions[name](call, said)
        case name:
            raise Fault(f"{call.title}: the action {name!r} makes no sense for this kind, or here")
    return None


async def wait(call: "Call", action: JsonMap, place: Place, following: Next | None = None) -> Fail | None:
    """Run an action that waits, a `gate` aside.

    Args:
        call: Whose action it is.
        action: As the script has it, its form checked.
        place: Where it stands.
        following: The `next` that it has called already, if it has.

    Returns:
        How it fails the call, if it does.

    Raises:
        Fault: The action makes no sense here.

    Cancellation:
        What it waits for goes on; nobody waits for it any more.
    """
    match action.get("do"):
        case "pause":
            for _ in range(ticks_of(action)):
                await asyncio.sleep(0)
            return None
        case "next":
            following = following or call_next(call, action)
            while following.ending is None:
                await _finish(following.future)
            return following.ending if isinstance(following.ending, Fail) else None
    performed = _perform(call, action, place, awaited=True)
    outcome, shown = performed.outcome, performed.shown
    if performed.following is not None:
        while performed.following.outcome is None:
            await _finish(performed.following.future)
        outcome = performed.following.outcome
        if "task" in mapping(action.get("args", {}), "args"):
            shown = show_outcome(call.world, outcome)
        else:
            shown = record_return(call.world, str(action["op"]), place, outcome)
    call.outcomes.append(shown)
    return _raised(action, outcome)


def call_next(call: "Call", action: JsonMap) -> Next:
    """Call `next`, now, and have a row made when it has settled.

    Args:
        call: Whose `next` it is.
        action: Its arguments, and under which name the answer is held.

    Returns:
        What is filled when it has settled.

    Raises:
        Fault: The kind has none.
    """
    if call.proceed is None:
        raise Fault(f"{call.title}: a function of this kind has no `next`")
    keep = action.get("keep")
    arguments = [decode(argument, call.world.scope(call.place)) for argument in _sequence(action.get("args", ()))]
    number, gate, following = len(call.nexts), call.gate, Next()
    call.nexts.append(following)

    def settled(ending: Answer | Fail) -> None:
        following.ending = ending
        row: dict[str, Json] = {"on": "next", "part": call.function.name, "n": call.n}
        if gate is not None:
            row["gate"] = gate.id
        row["call"] = number
        if isinstance(ending, Fail):
            row["error"] = call.world.show_error(ending.error)
        else:
            row["value"] = call.world.show(ending.value)
            if isinstance(keep, str):
                call.world.names.kept[keep] = ending.value
        call.world.record(row)

    try:
        rest = call.proceed(*arguments)
    except Exception as failure:  # noqa: BLE001 - the rest of the chain failed at once
        settled(Fail(failure))
        return following
    if call.kind.waits and isinstance(rest, Awaitable):
        following.future = call.world.start(rest)
        following.future.add_done_callback(lambda future: settled(ending_of(future)))
    else:
        settled(Answer(rest))
    return following


def answer(call: "Call", said: JsonMap, scope: Scope) -> Answer:
    """What an action or the suite answers: its `value`, as the implementation expects it; nothing if it has none.

    Args:
        call: The call that is answered.
        said: The action, or the arguments of the suite's command.
        scope: What the notations in it stand for.

    Raises:
        Fault: A notation in the value is malformed or names nothing.
    """
    return Answer(call.kind.answer(decode(said["value"], scope), call) if "value" in said else None)


def error(call: "Call", said: JsonMap, scope: Scope) -> BaseException:
    """What an action or the suite fails the call with: its `error`.

    Args:
        call: The call that fails.
        said: The action, or the arguments of the suite's command.
        scope: What the notations in it stand for.

    Raises:
        Fault: It is no error.
    """
    failure = decode(said["error"], scope)
    if not isinstance(failure, BaseException):
        raise Fault(f"{call.title}: in this language only errors can be thrown (feature throw-any)")
    return failure


def run_commands(world: World, commands: Script, place: Place) -> list[JsonMap]:
    """Call commands one after another, whatever becomes of them.

    Args:
        world: Where they are called.
        commands: Of a script that cannot wait.
        place: Where the list stands.

    Returns:
        What each led to.
    """
    outcomes: list[JsonMap] = []
    try:
        for index, command in enumerate(commands):
            args, keep = mapping(command.get("args", {}), "args"), command.get("keep")
            kept = keep if isinstance(keep, str) else None
            outcomes.append(perform(world, str(command["op"]), args, place.inside(index), keep=kept).shown)
    except Fault as fault:
        world.fault(fault)
    return outcomes


def _sequence(value: Json) -> Sequence[Json]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise Fault(f"next: args must be a list, not {value!r}")
    return value


def _raised(action: JsonMap, outcome: Outcome) -> Fail | None:
    return Fail(outcome.error) if isinstance(outcome, Raised) and action.get("raise") is True else None


def _perform(call: "Call", action: JsonMap, place: Place, *, awaited: bool) -> Performed:
    keep = action.get("keep")
    return perform(
        call.world,
        str(action["op"]),
        mapping(action.get("args", {}), "args"),
        place,
        keep=keep if isinstance(keep, str) else None,
        awaited=awaited,
    )


def _set(call: "Call", action: JsonMap, place: Place) -> None:
    path = str(action["path"])
    value = call.kind.assigned(path, decode(action["value"], call.world.scope(place)))
    holder = call.fields if "." in path else call.payload
    if holder is None:
        raise Fault(f"{call.title}: its fields are arguments, which nothing holds")
    try:
        paths.write(holder, path, value)
    except Fault:
        raise
    except Exception as refusal:  # noqa: BLE001 - the refusal is an observation
        record_return(call.world, "set", place, Raised(refusal))


def _defer(call: "Call", action: JsonMap, place: Place) -> None:
    commands = read_commands(action["commands"], f"{call.title}: defer")

    def run() -> None:
        run_commands(call.world, commands, place)

    call.world.later(ticks_of(action), run)


async def _finish(future: asyncio.Future[object] | None) -> None:
    """Wait until a future is done, whatever it holds, and for the callbacks of that moment."""
    if future is None or future.done():
        await asyncio.sleep(0)
        return
    try:
        await future
    except Exception:  # noqa: BLE001, S110 - its callbacks deal with it
        pass
    except asyncio.CancelledError:
        if not future.cancelled():
            raise
