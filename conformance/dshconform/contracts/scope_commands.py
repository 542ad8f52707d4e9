"""The alphabet of the scope contract: how its commands are written, and how they are read."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from dshconform.contracts.script_calls import action, actions_of, always
from dshconform.contracts.script_calls import once as once_only
from dshconform.protocol.json_value import Json, JsonMap, same

Mode: TypeAlias = Literal["emit", "serial", "parallel", "waterfall"]
"""How an event is dispatched."""
MODES: Final[tuple[Mode, ...]] = ("emit", "serial", "parallel", "waterfall")
"""All modes."""

Load: TypeAlias = Literal["plain", "waiting", "gated"]
"""How a plugin loads: at once, never, or when the suite says so."""

Adopted: TypeAlias = Literal["scope", "wrapper", "entry"]
"""What a composite hands over between its first and its last part."""

KEYS: Final = ("a", "b", "c", "d", "e")
"""The keys of the scopes of this contract."""
PARENTS: Final[Mapping[str, str]] = {"b": "a", "c": "b", "d": "a"}
"""How the keys hang together at first; `e` is by itself."""

MINTER: Final = "minter"
"""The name of the plugin that has minted the scopes."""
SCOPES: Final[Mapping[str, str]] = {"A": "a", "B": "b", "C": "c", "D": "d"}
"""The scopes that there are at first, each with its key; the minter has minted them."""

TABLE: Final = "table"
"""The service that names are filed with."""
OUTER: Final = "outer"
"""A service that passes on what it is given to the table."""

EVENT: Final = "ping"
"""The event that is dispatched."""
NAMES: Final = ("x", "y", "z")
"""Few, so that one hides another."""

TARGETS: Final[Mapping[str, JsonMap]] = {
    "bare": {},
    "no": {"filter": {"$fn": "no", "when": {"context": "nobody"}}},
    "strict": {"filter": {"$fn": "strict", "when": {"context": "B"}, "do": [{"do": "return", "value": True}]}},
    "to-none": {"key": None},
    **{f"to-{key}": {"key": key} for key in KEYS},
    "no-c": {"base": "no", "key": "c"},
    "strict-c": {"base": "strict", "key": "c"},
}
"""The receivers; those with a key are carriers, made once, before any link is moved."""

ADMITS: Final[Mapping[str, str]] = {"no": "nobody", "strict": "B"}
"""By base, the one context that its filter accepts."""

LINKS: Final[Mapping[str, str]] = {f"link-{key}": key for key in PARENTS}
"""The bindings of keys to their parents, by name, each with its key."""


def _into(where: str, **args: Json) -> JsonMap:
    return args if where == "root" else {**args, "in": where}


def mint(name: str, key: str, where: str, parent: str | None = None) -> JsonMap:
    """A scope of a key, through a context.

    Args:
        name: What the suite calls the scope.
        key: Its key.
        where: The name of the context.
        parent: The key above it, where the minting says so.

    Returns:
        The command.
    """
    around: JsonMap = {} if parent is None else {"parent": parent}
    return {"do": "scope.open", "args": _into(where, scope=name, key=key, **around)}


def mount(name: str, where: str, load: Load = "plain") -> JsonMap:
    """A plugin that requires both services; one that waits requires a third that nobody provides.

    Args:
        name: What the suite calls the plugin.
        where: The name of the context that it is mounted in.
        load: Whether it loads at once, waits for a service, or has a body that waits for the suite.

    Returns:
        The command.
    """
    requires: list[Json] = [TABLE, OUTER, *(["absent"] if load == "waiting" else [])]
    body: JsonMap = {"body": {"$fn": f"body {name}", "do": "gate"}} if load == "gated" else {}
    return {"do": "owner.open", "args": _into(where, owner=name, requires=requires, **body)}


def derive(name: str, where: str) -> JsonMap:
    """A context of the same owner.

    Args:
        name: What the suite calls the context.
        where: The name of the one that it is derived from.

    Returns:
        The command.
    """
    return {"do": "ctx.derive", "args": _into(where, context=name)}


def effect(name: str, where: str, *, gated: bool = False) -> JsonMap:
    """An effect, whose undo may wait for the suite.

    Args:
        name: What the suite calls it.
        where: The name of the context.
        gated: Whether its undo waits.

    Returns:
        The command.
    """
    undoes: JsonMap = {"$fn": name, "do": "gate"} if gated else {"$fn": name}
    return {"do": "effect", "args": _into(where, **{"as": name}, undo=undoes)}


def composite(name: str, where: str, adopted: Adopted) -> JsonMap:
    """An effect with a first and a last part, and between them what it has registered itself.

    A scope in it has an effect, whose undo waits; it is handed over by its raw disposer or by a function that closes
    it. The parts around an entry look at the table.

    Args:
        name: What the suite calls it.
        where: The name of the context.
        adopted: What it has registered itself, and how that is handed over.

    Returns:
        The command.
    """
    looks = action(look("e"))
    part, inner = f"{name}.e", f"{name}.s"
    closes: JsonMap = {"$fn": f"{name}.w", **always(action(close(inner, f"{name}.t")))}
    outer_parts: JsonMap = always(looks) if adopted == "entry" else {}
    held: Mapping[Adopted, Sequence[JsonMap]] = {
        "scope": (*_scoped(inner, part, where), _handed({"$disposer": inner})),
        "wrapper": (*_scoped(inner, part, where), _handed(closes)),
        "entry": (action(add(part, part, where)), _handed({"$disposer": part})),
    }
    first, last = ({"$fn": f"{name}.{which}", **outer_parts} for which in ("first", "last"))
    body: JsonMap = {"$fn": f"body {name}", "do": [_handed(first), *held[adopted], _handed(last)]}
    return {"do": "effect", "args": _into(where, **{"as": name}, body=body)}


def _scoped(scope: str, part: str, where: str) -> tuple[JsonMap, JsonMap]:
    return action(mint(scope, "e", where)), action(effect(part, scope, gated=True))


def _handed(value: Json) -> JsonMap:
    return {"do": "yield", "value": value}


def add(part: str, name: str, where: str, service: str = TABLE) -> JsonMap:
    """A name is filed with a service, through a context.

    Args:
        part: What the suite calls the entry.
        name: What is filed.
        where: The name of the context.
        service: The key of the service.

    Returns:
        The command.
    """
    return {"do": "service.add", "args": _into(where, **{"as": part}, key=service, name=name)}


def close(scope: str, task: str) -> JsonMap:
    """A scope ends, or its end is joined.

    Args:
        scope: The name of the scope.
        task: What the suite calls the end.

    Returns:
        The command.
    """
    return {"do": "scope.close", "args": {"scope": scope, "task": task}}


def undo(name: str, task: str) -> JsonMap:
    """What has that name is undone by its disposer: an effect, an entry, a listener, a scope.

    Args:
        name: What the suite calls it.
        task: What the suite calls the end, where it takes time.
    """
    return {"do": "undo", "args": {"of": name, "task": task}}


def end(owner: str, task: str) -> JsonMap:
    """A plugin ends.

    Args:
        owner: The name of the plugin.
        task: What the suite calls the end, where it takes time.

    Returns:
        The command.
    """
    return {"do": "owner.close", "args": {"owner": owner, "task": task}}


def release(part: str) -> JsonMap:
    """A body or an undo that waits goes on.

    Args:
        part: The name of the function.

    Returns:
        The command.
    """
    return {"do": "gate.resolve", "args": {"gate": {"part": part}}}


def bind(name: str, key: str, parent: str) -> JsonMap:
    """A key is given a parent.

    Args:
        name: What the suite calls the binding.
        key: The key.
        parent: Its parent.

    Returns:
        The command.
    """
    return {"do": "scope.bind", "args": {"as": name, "key": key, "parent": parent}}


def rebind(name: str, parent: str) -> JsonMap:
    """A key is given another one.

    Args:
        name: What the suite calls the binding.
        parent: The next parent.

    Returns:
        The command.
    """
    return {"do": "scope.rebind", "args": {"of": name, "parent": parent}}


def tag(where: str) -> JsonMap:
    """The tag of a context is read.

    Args:
        where: The name of the context.

    Returns:
        The command.
    """
    return {"do": "scope.of", "args": _into(where)}


def dispatch(mode: Mode, to: str | None = None, where: str = "root", *, inner: bool = False) -> JsonMap:
    """The event is dispatched; an inner dispatch is one from within a listener.

    Args:
        mode: How.
        to: The receiver; none for an event that is sent to nobody in particular.
        where: The name of the context.
        inner: Whether it is one from within a listener.

    Returns:
        The command.
    """
    receiver: JsonMap = {} if to is None else {"to": to}
    task: JsonMap = {} if inner else {"task": f"dispatched {mode}"}
    default: JsonMap = {"$fn": "default", "do": [{"do": "return", "value": "default"}]}
    last: JsonMap = {"default": default} if mode == "waterfall" else {}
    args = _into(where, mode=mode, event=EVENT, args=["inner" if inner else "outer"], **receiver, **task, **last)
    return {"do": "dispatch", "args": args}


def look(key: str) -> JsonMap:
    """What a key sees is looked at, from within a listener."""
    return {"do": "service.view", "args": {"service": TABLE, "scope": key}}


ENDINGS: Final[Mapping[str, JsonMap]] = {
    "answers": {"do": "return", "value": "answer"},
    "answers zero": {"do": "return", "value": 0},
    "answers false": {"do": "return", "value": False},
}
"""What a listener may answer; else it passes, or throws."""

THROWS: Final = "throws"
"""What a listener does that fails at once."""
REJECTS: Final = "rejects"
"""What a listener does that answers an awaitable that fails."""
HEARS: Final = "hears"
"""What a listener does that passes."""


def listen(
    name: str,
    where: str,
    doing: str | JsonMap = HEARS,
    *,
    twin: str | None = None,
    once: bool = False,
    everywhere: bool = False,
    prepend: bool = False,
) -> JsonMap:
    """A listener, that passes, ends in some way, or performs a command the first time that it is called.

    A twin has the function of another listener.

    Args:
        name: What the suite calls it.
        where: The name of the context.
        doing: How it ends, or the command that it performs.
        twin: The listener whose function it has.
        once: Whether it leaves after its first call.
        everywhere: Whether it hears other scopes too.
        prepend: Whether it stands before the listeners that are there.

    Returns:
        The command.
    """
    function: JsonMap
    if isinstance(doing, Mapping):
        function = {"$fn": name, **once_only(doing)}
    elif twin is not None:
        function = {"$fn": twin}
    elif doing in {THROWS, REJECTS}:
        fails: JsonMap = {"do": doing.removesuffix("s"), "error": {"$error": {"message": name, "as": name}}}
        function = {"$fn": name, "do": [fails]}
    else:
        function = {"$fn": name, "do": [] if doing == HEARS else [ENDINGS[doing]]}
    flags: JsonMap = {
        flag: True for flag, given in (("once", once), ("global", everywhere), ("prepend", prepend)) if given
    }
    return {"do": "listen", "args": _into(where, **{"as": name}, event=EVENT, fn=function, **flags)}


# ---------------------------------------------------------------------- reading


def where_in(args: JsonMap) -> str:
    """The context through which a command goes.

    Args:
        args: The arguments of the command.
    """
    return str(args.get("in", "root"))


def load_of(args: JsonMap) -> Load:
    """How a plugin loads.

    Args:
        args: The arguments of `owner.open`.
    """
    if "body" in args:
        return "gated"
    return "waiting" if "absent" in _texts(args.get("requires")) else "plain"


def adopted_in(args: JsonMap) -> Adopted | None:
    """What a composite hands over, if a command registers one.

    Args:
        args: The arguments of `effect`.
    """
    body = args.get("body")
    if not isinstance(body, Mapping):
        return None
    actions = actions_of(body)
    if any(action.get("op") == "service.add" for action in actions):
        return "entry"
    handed = [action.get("value") for action in actions if action.get("do") == "yield"]
    return "scope" if any(isinstance(value, Mapping) and "$disposer" in value for value in handed) else "wrapper"


def is_gated(args: JsonMap) -> bool:
    """Whether the undo of an effect waits.

    Args:
        args: The arguments of `effect`.
    """
    undoes = args.get("undo")
    return isinstance(undoes, Mapping) and undoes.get("do") == "gate"


def act_in(args: JsonMap) -> JsonMap | None:
    """What a listener performs the first time, if it does.

    Args:
        args: The arguments of `listen`.
    """
    function = args.get("fn")
    calls = function.get("calls") if isinstance(function, Mapping) else None
    if not isinstance(calls, list | tuple) or not isinstance(calls[0], list | tuple):
        return None
    action = calls[0][0]
    assert isinstance(action, Mapping)
    return {"do": action["op"], "args": action["args"]}


def doing_in(args: JsonMap) -> str:
    """What a listener does each time: it hears, answers or throws.

    Args:
        args: The arguments of `listen`.
    """
    function = args.get("fn")
    script = function.get("do") if isinstance(function, Mapping) else None
    if not isinstance(script, list | tuple) or not script:
        return HEARS
    ends = script[0]
    assert isinstance(ends, Mapping)
    fails = REJECTS if ends.get("do") == "reject" else THROWS
    return next((name for name, ending in ENDINGS.items() if same(ending, ends)), fails)


def function_in(args: JsonMap) -> tuple[str, bool]:
    """The function of a listener, and whether that is another one's.

    Args:
        args: The arguments of `listen`.
    """
    function = args.get("fn")
    assert isinstance(function, Mapping)
    return str(function["$fn"]), len(function) == 1


def part_in(args: JsonMap) -> str:
    """The function whose call a command lets go on.

    Args:
        args: The arguments of `gate.resolve`.
    """
    gate = args.get("gate")
    return str(gate.get("part")) if isinstance(gate, Mapping) else ""


def _texts(value: Json) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple) else []
