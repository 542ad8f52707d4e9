"""The alphabet of the prompt contract: how its commands are written, and how they are read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dshconform.contracts.inbox_commands import burst, items_of, read_command
from dshconform.contracts.inbox_rows import AGENT
from dshconform.contracts.model import CommandError
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.macros import message

Kind: TypeAlias = Literal["section", "context", "variable", "tools", "suppress"]
"""What can be contributed to a prompt."""
Scope: TypeAlias = Literal["root", "far", "near", "beside"]
"""Where something is contributed, in the words of this contract."""

KINDS: Final[tuple[Kind, ...]] = ("section", "context", "variable", "tools", "suppress")
"""All kinds of contributions."""
BESIDE: Final = "b"
"""An agent beside the one that runs turns."""

SCOPES: Final[Mapping[Scope, Json]] = {
    "root": "root",
    "far": "far",
    "near": {"agent": AGENT},
    "beside": {"agent": BESIDE},
}
"""Where something is contributed: globally, in the scope around the agent's, in its own, in that of another agent."""

CHAINS: Final[Mapping[Scope, tuple[Scope, ...]]] = {
    "root": ("root",),
    "far": ("root", "far"),
    "near": ("root", "far", "near"),
    "beside": ("root", "beside"),
}
"""By the scope of an assembly, the layers that it sees, the farthest first."""

MODEL: Final = "model"
"""The name of the model of an example."""
HOLD: Final = "hold"
"""The name of the listener that waits."""
UNDEFINED: Final[Json] = {"$value": "undefined"}
"""The value that is none."""
ASSEMBLE: Final = "system-prompt/assemble"
"""The event that shapes an assembly."""
CHANGE: Final = "system-prompt/change"
"""The event that tells of a change of contributions."""
FAILED: Final = "broken"
"""What a function of the suite fails with."""
REFUSED: Final = "not now"
"""What a listener of changes fails with."""
REST_ENTRY: Final = "<unlisted-tools>"
"""Stands in an order of tools for those that it does not name."""
WIDE: Final = ("\uff5e", "\U0001f600")
"""Two names that code points put in this order, and code units in the other."""
PERSONA: Final = "deployment:persona"
"""The name of the section that a world's option `persona` makes."""
TEXT_KINDS: Final = ("section", "context")
"""The kinds whose contributions are texts."""

_PROVIDES: Final[Mapping[Kind, str]] = {"section": "text", "context": "text", "variable": "value", "tools": "provide"}
"""By kind, the argument that is a value, or a function that answers it."""


def tool(name: str, description: str = "") -> JsonMap:
    """The schema of a tool.

    Args:
        name: What the model calls it.
        description: What it is told of it.
    """
    return {"name": name, "description": description, "parameters": {"type": "object"}}


def offer(*tools: JsonMap, known: Sequence[str] | None = None) -> JsonMap:
    """What a tool provider answers.

    Args:
        *tools: The schemas that it provides.
        known: The names that it knows beside them; none where it does not say.
    """
    return {"schemas": list(tools)} if known is None else {"schemas": list(tools), "knownNames": list(known)}


# ---------------------------------------------------------------------- writing


def open_world(**options: Json) -> JsonMap:
    """The world of an example, with the options of its prompts."""
    return {"do": "world.open", "args": {"config": {"prompt": options}}}


def _into(scope: Scope, **args: Json) -> JsonMap:
    return args if scope == "root" else {**args, "in": SCOPES[scope]}


def section(
    part: str, scope: Scope, name: str, text: Json, *, order: Json = 0, complete: bool | None = None
) -> JsonMap:
    """Contribute a section.

    Args:
        part: The name of the contribution, for `undo`.
        scope: Where it is contributed.
        name: The section's name.
        text: The text, or a function that answers it.
        order: Its place among the others, in the protocol's notation.
        complete: Whether it is the whole system text; none where that is not said.

    Returns:
        The command.
    """
    flag: JsonMap = {} if complete is None else {"complete": complete}
    return {"do": "prompt.section", "args": _into(scope, **{"as": part}, name=name, order=order, text=text, **flag)}


def context(part: str, scope: Scope, name: str, text: Json, *, order: Json = 0) -> JsonMap:
    """A runtime context.

    Args:
        part: The name of the contribution, for `undo`.
        scope: Where it is contributed.
        name: The name of the runtime context.
        text: The text, or a function that answers it.
        order: Its place among the others, in the protocol's notation.
    """
    return {"do": "prompt.context", "args": _into(scope, **{"as": part}, name=name, order=order, text=text)}


def variable(part: str, scope: Scope, name: str, value: Json) -> JsonMap:
    """A variable.

    Args:
        part: The name of the contribution, for `undo`.
        scope: Where it is contributed.
        name: The variable's name.
        value: The value, or a function that answers it.
    """
    return {"do": "prompt.variable", "args": _into(scope, **{"as": part}, name=name, value=value)}


def tools(part: str, scope: Scope, provide: Json) -> JsonMap:
    """A provider of tools.

    Args:
        part: The name of the contribution, for `undo`.
        scope: Where it is contributed.
        provide: What it provides, or a function that answers it.
    """
    return {"do": "prompt.tools", "args": _into(scope, **{"as": part}, provide=provide)}


def suppress(part: str, scope: Scope) -> JsonMap:
    """A suppressor of runtime contexts.

    Args:
        part: The name of the contribution, for `undo`.
        scope: Where they are suppressed.
    """
    return {"do": "prompt.suppress", "args": _into(scope, **{"as": part})}


def undo(part: str) -> JsonMap:
    """A contribution ends, or a listener.

    Args:
        part: The name of the contribution or the listener.
    """
    return {"do": "undo", "args": {"of": part}}


def provider(part: str, answers: Json, *commands: JsonMap, fails: bool = False) -> JsonMap:
    """A function that answers something; the first time that it is asked it runs commands, or fails.

    Args:
        part: The name of the function.
        answers: The same each time.
        *commands: What it runs before, the first time.
        fails: Whether it fails the first time.
    """
    answer: JsonMap = {"do": "return", "value": answers}
    if not commands and not fails:
        return {"$fn": part, "do": [answer]}
    ends: JsonMap = {"do": "throw", "error": {"$error": {"message": FAILED}}} if fails else answer
    script: list[Json] = [{"op": op, "args": args} for op, args in map(read_command, commands)]
    return {"$fn": part, "calls": [[*script, ends], [answer]]}


ABORTED: Final[JsonMap] = {"$signal": "aborted"}
"""A signal that has fired before the example begins."""


def assemble(scope: Scope = "root", *, agent: str | None = None, aborted: bool = False) -> JsonMap:
    """A prompt is assembled by hand, for a scope and perhaps an agent; with a signal that has fired, or without one.

    Args:
        scope: For which scope.
        agent: For which agent, if it is for one.
        aborted: Whether its signal has fired.
    """
    given: JsonMap = {} if agent is None else {"agent": agent}
    return _assemble("assembled", scope, **given, **({"signal": ABORTED} if aborted else {}))


def _assemble(task: str, scope: Scope, **more: Json) -> JsonMap:
    for_scope: JsonMap = {} if scope == "root" else {"scope": SCOPES[scope]}
    return {"do": "prompt.assemble", "args": {"task": task, **for_scope, **more}}


def hold(scope: Scope = "near") -> JsonMap:
    """A prompt is assembled by hand, and the innermost listener of its chain waits.

    Args:
        scope: For which scope.
    """
    waits: JsonMap = {"as": HOLD, "event": ASSEMBLE, "once": True, "fn": {"$fn": HOLD, "do": "gate"}}
    return burst({"do": "listen", "args": waits}, _assemble("held", scope))


_GATE: Final[JsonMap] = {"gate": {"kind": ASSEMBLE}}
RELEASE: Final = burst(
    {"do": "gate.next", "args": _GATE}, {"do": "gate.resolve", "args": {**_GATE, "value": {"$next": 0}}}
)
"""The listener that waits goes on."""

NOTHING: Final = section("nothing", "root", "nothing", "", order={"$value": "NaN"})
"""Contributes nothing, whatever the world is like: it is refused."""

TURN: Final[JsonMap] = {"do": "agent.followup", "args": {"agent": AGENT, "message": message("m")}}
"""The agent runs a turn."""


END_BESIDE: Final[JsonMap] = {"do": "agent.dispose", "args": {"agent": BESIDE, "task": "closed"}}
"""The other agent ends, and its scope with it."""

CLOSE_FAR: Final[JsonMap] = {"do": "scope.close", "args": {"scope": "far", "task": "closed"}}
"""The scope around the agent's ends; its key does not."""

OPEN_FAR: Final[JsonMap] = {"do": "scope.open", "args": {"scope": "far", "key": "far", "in": SCOPES["near"]}}
"""That scope is opened, under its key."""


def _listen(part: str, event: str, function: JsonMap, *, scope: Scope = "root", **more: Json) -> JsonMap:
    return {"do": "listen", "args": _into(scope, **{"as": part}, event=event, fn={"$fn": part, **function}, **more)}


def refuse(part: str) -> JsonMap:
    """A listener of changes fails, once.

    Args:
        part: The name of the listener.
    """
    fails: JsonMap = {"do": [{"do": "throw", "error": {"$error": {"message": REFUSED}}}]}
    return _listen(part, CHANGE, fails, once=True)


SHAPES: Final[Mapping[str, Sequence[JsonMap]]] = {
    "passes": (),
    "adds a variable": ({"do": "set", "path": "assembly.variables.extra", "value": "E"},),
    "replaces a variable": ({"do": "set", "path": "assembly.variables.v", "value": "V"},),
    "sets contexts": ({"do": "set", "path": "assembly.contexts", "value": [{"name": "lc", "text": "L {{v}}"}]},),
    "sets sections": ({"do": "set", "path": "assembly.sections", "value": [{"name": "ls", "text": "L {{extra}}"}]},),
    "sets tools": ({"do": "set", "path": "assembly.tools", "value": [tool("t2"), tool("T")]},),
    "answers": (
        {
            "do": "return",
            "value": {
                "sections": [{"name": "W", "text": "{{you}}"}],
                "contexts": [{"name": "z", "text": "of {{you}}"}],
                "tools": [tool("t2"), tool("t1")],
                "variables": {"you": "world"},
            },
        },
    ),
}
"""What listeners of assemblies do."""


def shape(part: str, scope: Scope, name: str, *, prepend: bool = False) -> JsonMap:
    """A listener of assemblies.

    Args:
        part: The name of the listener.
        scope: Whose assemblies it hears.
        name: What it does with them: a name of `SHAPES`.
        prepend: Whether it stands before the listeners that are there.
    """
    function: JsonMap = {"do": list(SHAPES[name])}
    return _listen(part, ASSEMBLE, function, scope=scope, **({"prepend": True} if prepend else {}))


GUARDS: Final[Mapping[str, tuple[str, Sequence[JsonMap]]]] = {
    "reject": ("agent/pre-step", ({"do": "return", "value": {"kind": "reject"}},)),
    "drop": ("agent/pre-step", ({"do": "return", "value": {"kind": "enter", "messages": [{"$arg": "messages.0"}]}},)),
    "remove": ("agent/inbox/inserted", ({"op": "inbox.remove", "args": {"agent": AGENT, "id": "m"}},)),
}
"""What befalls the agent's next turn: its step is rejected; its snapshot is left out; its message is gone."""


def guard(name: str) -> JsonMap:
    """A listener that acts upon the agent's next turn.

    Args:
        name: What it does: a name of `GUARDS`.
    """
    event, script = GUARDS[name]
    return _listen(name, event, {"do": list(script)}, once=True)


# ---------------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class Provided:
    """A value, or a function that answers it.

    Args:
        value: The value.
        part: The function, if it is one.
        script: What it does the first time.
        fails: Whether it fails then.
    """

    value: Json
    part: str | None = None
    script: tuple[JsonMap, ...] = ()
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Contribution:
    """Something contributed.

    Args:
        part: Names it for `undo`.
        kind: What is contributed.
        scope: Whose it is.
        name: Its name; empty for tools and suppressors.
        order: Its order; 0 for variables, tools and suppressors.
        provided: What it provides; nothing for suppressors.
        complete: Whether it is the whole system text.
    """

    part: str
    kind: Kind
    scope: Scope
    name: str
    order: Json
    provided: Provided
    complete: bool = False


def read_scope(value: Json, default: Scope = "root") -> Scope:
    """Read where a command goes.

    Args:
        value: As a command writes it.
        default: What nothing means.

    Returns:
        The scope, in the words of this contract.

    Raises:
        CommandError: It is no scope of this contract.
    """
    if value is None:
        return default
    for scope, written in SCOPES.items():
        if written == value:
            return scope
    raise CommandError(f"{value!r} is no scope of the prompt contract: {', '.join(map(str, SCOPES.values()))}")


def read_contribution(op: str, args: JsonMap) -> Contribution:
    """Read a contribution.

    Args:
        op: The operation.
        args: Its arguments.

    Returns:
        What is contributed, and where.

    Raises:
        CommandError: It is none.
    """
    kind = next((kind for kind in KINDS if op == f"prompt.{kind}"), None)
    if kind is None or not isinstance(args.get("as"), str):
        raise CommandError(f"{op} with {dict(args)!r} is no contribution to a prompt")
    provided = _provided(args.get(_PROVIDES.get(kind, "")))
    scope, complete = read_scope(args.get("in")), args.get("complete") is True
    return Contribution(
        str(args["as"]), kind, scope, str(args.get("name", "")), args.get("order", 0), provided, complete
    )


def _provided(value: Json) -> Provided:
    if not isinstance(value, Mapping) or "$fn" not in value:
        return Provided(None if value == UNDEFINED else value)
    calls = value.get("calls", [value.get("do")])
    if not isinstance(calls, list | tuple) or not calls:
        raise CommandError(f"{dict(value)!r} is no function of the prompt contract")
    *script, ends = items_of({"do": calls[0]})
    answer = items_of({"do": calls[-1]})[-1].get("value")
    answer = None if answer == UNDEFINED else answer
    return Provided(answer, str(value["$fn"]), tuple(script), fails=ends.get("do") == "throw")


def read_shape(args: JsonMap) -> str | None:
    """What a listener of assemblies does, if a command registers one.

    Args:
        args: The arguments of `listen`.
    """
    function = args.get("fn")
    if args.get("event") != ASSEMBLE or not isinstance(function, Mapping):
        return None
    return next((name for name, script in SHAPES.items() if function.get("do") == list(script)), None)
