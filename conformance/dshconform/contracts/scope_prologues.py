"""The prologues of the scope contract, that together visit each cell of its grid."""

from collections.abc import Iterator, Mapping
from itertools import count, product
from typing import Final

from dshconform.contracts.inbox_commands import burst
from dshconform.contracts.scope_commands import (
    MINTER,
    MODES,
    SCOPES,
    THROWS,
    Load,
    Mode,
    add,
    bind,
    close,
    composite,
    derive,
    dispatch,
    effect,
    end,
    listen,
    look,
    mint,
    mount,
    rebind,
    release,
    tag,
    undo,
)
from dshconform.contracts.scope_grid import ACTS, ADOPTED, DOINGS, NO_TASK, RELATIONS, STATES, Owner
from dshconform.contracts.scope_state import State
from dshconform.protocol.json_value import JsonMap

_LOADS: Final[Mapping[State, Load]] = {
    "waiting": "waiting",
    "loading": "gated",
    "leaving": "gated",
}


def _open(owner: Owner, name: str, state: State, around: str | None = None) -> list[JsonMap]:
    """A context on its way to a state."""
    load: Load = _LOADS.get(state, "plain")
    match owner:
        case "plugin":
            return [mount(name, around or "root", load)]
        case "plugin under a scope":
            return [mount(name, around or "C", load)]
        case "scope":
            return [mint(name, "b", MINTER)]
        case "scope in a scope":
            return [mint(name, "e", "B")]
        case _:
            return [mount(f"of {name}", "root"), derive(name, f"of {name}")]


def _reach(owner: Owner, name: str, state: State) -> list[JsonMap]:
    """The rest of the way."""
    if state not in {"leaving", "ending", "gone"}:
        return []
    blocks = [effect(f"block {name}", name, gated=True)] if state == "ending" else []
    return [*blocks, _ending(owner, name, f"t {name}")]


def _ending(owner: Owner, name: str, task: str) -> JsonMap:
    if owner in {"scope", "scope in a scope"}:
        return close(name, task)
    return end(f"of {name}" if owner == "derived" else name, task)


def _releases(owner: Owner, name: str, state: State) -> list[JsonMap]:
    """What waits there goes on."""
    if state in {"loading", "leaving"} and owner.startswith("plugin"):
        return [release(f"body {name}")]
    return [release(f"block {name}")] if state == "ending" else []


def _registering(owner: Owner) -> Iterator[list[JsonMap]]:
    """All that can be registered through a context, in each state of its owner; then that one ends."""
    for state in STATES[owner]:
        name = "w"
        does = [effect("e", name), effect("g", name, gated=True), listen("l", name), mint("s", "e", name)]
        does += [mount("p", name), composite("c", name, "scope")]
        found = not owner.startswith("plugin") or state not in {"waiting", "gone"}
        does += [add("n", "x", name)] if found and (owner, state) != ("derived", "gone") else []
        inside = [effect("f", "s"), effect("h", "p")] if state in {"waiting", "loading", "active"} else []
        ends = [_ending(owner, name, task) for task in ("u", "v")]
        waits = [release("c.e"), release("g")] if state in {"waiting", "loading", "active"} else []
        yield [
            listen("stays", "root"),
            *_open(owner, name, state),
            tag(name),
            *_reach(owner, name, state),
            *(*does, *inside, dispatch("emit", "to-c"), dispatch("emit", None, name), *ends),
            *_releases(owner, name, state),
            *(*waits, dispatch("emit"), dispatch("emit", None, name), _ending(owner, name, "w")),
        ]


def _hearing(stands: str) -> Iterator[JsonMap]:
    """A listener in each state of its owner, and each mode of dispatch."""
    around, to = RELATIONS[stands]
    for state in STATES["plugin"]:
        name = f"p {state}"
        yield from _open("plugin", name, state, around)
        yield listen(f"l {state}", name, everywhere=stands == "global")
        yield from _reach("plugin", name, state)
        yield from (dispatch(mode, to) for mode in MODES)
        yield dispatch("emit", "to-e")


def _layered() -> Iterator[list[JsonMap]]:
    """Names in each layer: alone, hiding another one, and hidden by another one."""
    for where in (*SCOPES, "E", "root"):
        begins = [mint("E", "e", MINTER)] if where == "E" else []
        hiding = [add("g", "x", MINTER), add("n", "x", where), undo("n", "t1"), undo("n", "t2"), undo("g", "t3")]
        hidden = [add("c", "y", "C"), add("k", "y", where), undo("k", "t6")]
        yield [
            *(*begins, add("m", "x", where), undo("m", "t4"), *(hiding if where != "root" else [])),
            *(hidden if where not in {"C", "E"} else []),
        ]
    yield [add("n", "x", "C", "outer"), add("m", "y", "A", "outer"), undo("n", "t1"), close("A", "t2")]


_SCRIPTS: Final[Mapping[str, JsonMap]] = {
    "registers": listen("later", "C"),
    "adds": add("n", "n", "B"),
    "mints": mint("s", "d", "B"),
    "removes": undo("behind", "t"),
    "ends": close("C", "t"),
    "moves": rebind("link-c", "a"),
    "dispatches": dispatch("emit", "to-b", inner=True),
    "looks": look("c"),
}


def _acting(mode: Mode, act: str) -> list[JsonMap]:
    """A listener that does something, in front of one that it may concern, and one that hears."""
    begins = [listen("behind", "C"), listen("global", "D", everywhere=True), listen("plain", "root", once=True)]
    acts = listen("acts", "B", _SCRIPTS[act], prepend=True)
    return [*begins, acts, dispatch(mode, "to-c"), dispatch(mode, "to-c"), dispatch("emit")]


def _answering(mode: Mode) -> list[JsonMap]:
    """Listeners that answer and throw, in front of one that hears."""
    numbers = count(1)
    found: list[JsonMap] = [listen("plain", "root")]
    for doing in DOINGS:
        if (mode, doing) == NO_TASK:
            continue
        name = f"l{next(numbers)}"
        found += [listen(name, "B", doing, prepend=True), dispatch(mode, "to-c"), undo(name, f"t {name}")]
    found += [listen("one", "B", THROWS), listen("two", "C", THROWS), listen("three", "root"), dispatch(mode, "to-c")]
    return found


def _alike() -> Iterator[list[JsonMap]]:
    """Listeners with one function, one that calls itself, and those that come and go."""
    yield [
        *(listen("l", "B"), listen("m", "C"), listen("k", "B", twin="l"), undo("k", "t1"), dispatch("emit", "to-c")),
        *(undo("k", "t2"), undo("l", "t3"), dispatch("emit", "to-c")),
    ]
    yield [
        listen("l", "B", dispatch("emit", "to-c", inner=True), once=True),
        dispatch("emit", "to-c"),
        dispatch("emit"),
    ]
    yield [
        listen("l", "B"),
        listen("m", "C"),
        listen("k", "B"),
        dispatch("emit", "strict"),
        dispatch("emit", "strict-c"),
    ]
    yield [mount("p", "root", "waiting"), effect("e", "p"), end("p", "t1")]
    yield [mint("s", "e", MINTER, "c"), mint("u", "a", MINTER)]


def _owning() -> Iterator[list[JsonMap]]:
    """Effects, listeners and composites that are undone by hand, or by their owner."""
    yield [
        *(effect("e", "B"), undo("e", "t1"), undo("e", "t2"), effect("g", "B", gated=True), undo("g", "t3")),
        *(undo("g", "t4"), close("B", "t5"), release("g")),
        *(listen("l", "C"), listen("m", "C"), undo("l", "t6"), undo("l", "t7"), dispatch("emit", "to-c")),
    ]
    for adopted in ADOPTED:
        made = [mint("E", "e", MINTER), effect("before", MINTER), composite("c", MINTER, adopted)]
        waits = [] if adopted == "entry" else [release("c.e")]
        yield [*made, effect("after", MINTER), undo("c", "t1"), undo("c", "t2"), *waits, close("E", "t3")]
        yield [*made, effect("after", MINTER), end(MINTER, "t1"), *waits, end(MINTER, "t2")]
    yield [composite("c", MINTER, "entry"), undo("c.e", "t1"), undo("c.e", "t2"), undo("c", "t3")]
    yield [composite("c", MINTER, "scope"), close("c.s", "t1"), undo("c", "t2"), release("c.e"), undo("c", "t3")]
    yield [
        *(derive("x", "B"), tag("x"), effect("e", "x"), listen("l", "x"), add("n", "x", "x"), close("B", "t1")),
        *(
            add("late", "z", "x"),
            dispatch("emit", "to-c"),
            tag("root"),
            effect("r", "root"),
            listen("m", "root"),
            mint("s", "e", "root"),
        ),
        *(mount("p", "root"), composite("c", "root", "scope")),
    ]


def _ends() -> Iterator[list[JsonMap]]:
    """Scopes that end in every way, once and again, and what stays of their keys."""
    listens = [listen("l", "A"), listen("m", "B"), listen("n", "s"), add("k", "x", "B"), add("j", "y", "s")]
    for ends in (close("B", "t1"), undo("B", "t1")):
        yield [
            *(mint("s", "b", MINTER), *listens, effect("e", "B"), effect("g", "B", gated=True), effect("f", "B")),
            *(ends, close("B", "t2"), undo("B", "t3"), close("B", "t4"), add("late", "z", "B"), effect("o", "B")),
            *(dispatch("emit", "to-c"), dispatch("emit", "to-b"), release("g"), close("B", "t5"), undo("B", "t6")),
            *(add("later", "z", "B"), dispatch("emit", "to-c"), mint("anew", "b", MINTER), add("i", "z", "anew")),
        ]
    yield [
        *(mint("s", "e", "B"), mint("inner", "e", "s"), mount("p", "s"), effect("e", "inner"), effect("f", "p")),
        *(effect("g", "p", gated=True), listen("l", "B"), listen("m", "inner"), dispatch("emit", "to-e")),
        *(add("n", "x", "B"), add("o", "y", "inner"), end(MINTER, "t1"), effect("late", "s"), mint("u", "a", MINTER)),
        *(mount("q", "B"), release("g"), effect("later", "s"), close("s", "t2"), close("inner", "t3")),
    ]
    yield [
        *(listen("l", "D", everywhere=True), dispatch("emit", "to-none"), close("D", "t1"), dispatch("emit")),
        *(dispatch("emit", "to-c"), undo("A", "t2"), undo("A", "t3"), close("A", "t4")),
    ]
    yield [
        *(mint("s", "d", MINTER), effect("g", "s", gated=True), undo("s", "t1"), undo("s", "t2"), close("s", "t3")),
        *(release("g"), close("s", "t4"), undo("s", "t5")),
    ]


def _linking() -> Iterator[list[JsonMap]]:
    """Links that are made and moved, and those that are refused."""
    begins = [listen("la", "A"), listen("lb", "B"), listen("lc", "C"), listen("ld", "D"), add("n", "x", "B")]
    shows = [dispatch("emit", "to-c"), dispatch("emit", "to-e")]
    yield [
        *(*begins, bind("x", "b", "a"), bind("x", "b", "d"), bind("x", "b", "c"), bind("x", "a", "c")),
        *(bind("x", "e", "e"), bind("x", "a", "a"), bind("x", "e", "c"), *shows, bind("y", "e", "b"), *shows),
        *(rebind("x", "d"), *shows, rebind("x", "d"), rebind("x", "e"), *shows),
    ]
    yield [
        *(*begins, add("m", "y", "A"), add("k", "z", "C"), *shows, rebind("link-c", "d"), *shows, close("B", "t1")),
        *(rebind("link-b", "c"), rebind("link-c", "b"), rebind("link-c", "a"), rebind("link-b", "b"), *shows),
        *(rebind("link-d", "c"), dispatch("emit", "to-d"), rebind("link-c", "d")),
    ]
    yield [
        *(mint("s", "e", MINTER, "e"), mint("s", "e", MINTER, "c"), bind("x", "e", "a"), bind("x", "e", "c")),
        *(listen("l", "s"), *shows, mint("u", "b", MINTER, "a"), mint("u", "b", MINTER, "d"), mint("u", "a", "B", "c")),
        *(mint("v", "d", "B", "d"), add("n", "x", "s"), *shows),
    ]
    yield [*begins, dispatch("emit", "strict-c"), dispatch("waterfall", "strict"), dispatch("emit", "no")]
    yield [*begins, rebind("link-b", "e"), *shows, dispatch("emit", None, "D"), dispatch("emit", "to-c", "D")]
    yield [listen("g", MINTER, everywhere=True), dispatch("emit", "no"), end(MINTER, "t1"), dispatch("emit", "no")]


def _stretches() -> Iterator[list[JsonMap]]:
    """What happens at once, with what is registered in a scope that was just minted, or in one that has to end."""
    fresh = [effect("e", "s"), listen("l", "s"), add("n", "x", "s"), mint("i", "e", "s"), mount("p", "s")]
    for then in fresh:
        yield [burst(mint("s", "b", MINTER), then), dispatch("emit", "to-c"), close("s", "t1"), close("s", "t2")]
    late = [effect("e", "B"), listen("l", "B"), add("n", "x", "B"), mint("i", "e", "B"), dispatch("emit", "to-c")]
    for then in (*late, close("B", "t2"), undo("B", "t2"), dispatch("waterfall"), dispatch("parallel", "to-b")):
        yield [
            *(listen("heard", "B"), effect("o", "B"), effect("g", "B", gated=True)),
            *(burst(close("B", "t1"), then), dispatch("emit", "to-c"), release("g")),
        ]
    yield [mount("p", "B", "gated"), effect("e", "p"), release("body p"), effect("f", "p"), end("p", "t1")]
    for ends in (end("p", "t1"), undo("B", "t1")):
        where = "p" if ends["do"] == "owner.close" else "B"
        yield [
            *(mount("p", "root"), effect("o", where), effect("g", where, gated=True), listen("l", where)),
            *(burst(ends, effect("late", where)), dispatch("emit"), release("g"), dispatch("emit")),
        ]


PROLOGUES: Final[tuple[tuple[JsonMap, ...], ...]] = tuple(
    tuple(prologue)
    for prologues in (
        *(_registering(owner) for owner in STATES),
        *([list(_hearing(stands))] for stands in RELATIONS),
        _layered(),
        *([_acting(mode, act)] for mode, act in product(MODES, ACTS)),
        *([_answering(mode)] for mode in MODES),
        _alike(),
        _owning(),
        _ends(),
        _linking(),
        _stretches(),
    )
    for prologue in prologues
)
"""Together they visit every cell, and reach every clause that the model cites."""
