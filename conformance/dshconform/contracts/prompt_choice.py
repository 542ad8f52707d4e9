"""Which command of the prompt contract comes next: little is contributed, under few names, and assembled often."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.contracts import prompt_commands as write
from dshconform.contracts.inbox_rows import AGENT
from dshconform.contracts.prompt_calls import LISTENERS
from dshconform.contracts.prompt_commands import Kind, Scope
from dshconform.contracts.prompt_world import PromptWorld
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import Json, JsonMap

OPTIONS: Final[Sequence[JsonMap]] = (
    {},
    {"includeHarnessIdentity": False, "persona": "{{provider}}/{{model}} in {{cwd}}"},
    {"persona": "Be kind, {{v}}."},
    {"includeHarnessIdentity": False, "includeRuntimeContext": False},
    {"toolOrder": ["t2", write.REST_ENTRY, "t1"]},
    {"includeHarnessIdentity": False, "toolOrder": [write.REST_ENTRY]},
)
"""What worlds begin with."""
_HABITS: Final[Sequence[Mapping[str, int]]] = (
    {"add": 10, "undo": 5, "assemble": 6, "turn": 4, "hold": 2, "listen": 2, "scope": 1},
    {"add": 10, "undo": 3, "assemble": 3, "turn": 9, "hold": 1, "listen": 3, "scope": 1},
    {"add": 12, "undo": 8, "assemble": 8, "turn": 1, "hold": 3, "listen": 1, "scope": 2},
)
TEXTS: Final = (
    *("plain", "{{v}}", "{{w}} and {{v}}", "", " ", "for {{model}}", "{{extra}}", "{{v}}}}"),
    *("{{nope}}", "{{ v }}", "{{}}", "{{{v}}}", "{{ x {{v}}", "${X:-{{lone", "}} {", "{{constructor}}"),
    "{{{😀😀😀😀😀😀xy}}",
)
"""Texts of contributions: with references, and with what only looks like one."""
_GOOD_TEXTS: Final = 8
_VALUES: Final[tuple[Json, ...]] = ("x", "y", "", "{{v}} $1", write.UNDEFINED)
ORDERS: Final[tuple[Json, ...]] = (0, 0, 5, 5, -1, 2.5, -100, {"$value": "NaN"}, {"$value": "Infinity"}, "5")
"""Orders of contributions, those included that are refused."""
_GOOD_ORDERS: Final = 7
_OFFERS: Final[tuple[Json, ...]] = (
    write.offer(write.tool("t1")),
    write.offer(write.tool("t2"), write.tool("T")),
    write.offer(write.tool("t1", "another"), write.tool("_")),
    write.offer(known=["t1", "t2"]),
    write.offer({**write.tool("t3"), "internal": 1}, *map(write.tool, write.WIDE)),
    write.offer(write.tool(write.REST_ENTRY)),
)
_NAMES: Final[Mapping[Kind, tuple[str, ...]]] = {
    "section": ("s", "t", write.PERSONA),
    "context": ("c", "d"),
    "variable": ("v", "w", "constructor", "A", "1a", ""),
}
_MOST: Final = 12
"""Contributions; with more of them, one is undone before another is made."""

_SCOPES: Final[tuple[Scope, ...]] = ("root", "far", "near", "near", "beside")
_WEIGHTS: Final[Sequence[tuple[int, Kind]]] = (
    (6, "section"),
    (4, "context"),
    (5, "variable"),
    (4, "tools"),
    (1, "suppress"),
)


@dataclass(slots=True)
class Standing:
    """What an example keeps from its beginning to its end; called, it chooses a command.

    Args:
        source: The habit is the first choice read from it.
        made: How many things the suite has made so far; each has a name of its own.
    """

    source: Source
    made: int = 0
    habit: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.habit = self.source.choose(_HABITS)

    def __call__(self, source: Source, world: PromptWorld, *, opened: bool) -> JsonMap:
        """Choose a command; it may be one that is not legal."""
        if not opened:
            return write.open_world(**source.choose(OPTIONS))
        match source.weighted([(weight, family) for family, weight in self.habit.items()]):
            case "undo":
                return _undo(source, world)
            case "assemble":
                scope: Scope = source.choose(("near", "near", "root", "far", "beside"))
                agent = source.weighted([(6, None), (1, AGENT), (1, write.BESIDE)])
                return write.assemble(scope, agent=agent, aborted=not source.below(10))
            case "turn":
                return write.TURN
            case "hold":
                return write.RELEASE if world.held is not None else write.hold(source.choose(("near", "root", "far")))
            case "listen":
                return self._listen(source, world)
            case "scope":
                return source.choose((write.CLOSE_FAR, write.OPEN_FAR, write.END_BESIDE))
            case _:
                return self._add(source, world)

    def _name(self) -> str:
        self.made += 1
        return f"r{self.made}"

    def _add(self, source: Source, world: PromptWorld) -> JsonMap:
        if sum(map(len, world.layers.entries.values())) > _MOST:
            return _undo(source, world)
        kind = source.weighted(_WEIGHTS)
        script: list[JsonMap] = []
        if kind != "suppress" and not source.below(4):
            script = [self._inner(source, world, kind) for _ in range(1 + source.below(2))]
        fails = not source.below(40)
        asked = bool(script) or fails or not source.below(3)
        return self._contribution(source, kind, script, fails=fails, function=asked)

    def _inner(self, source: Source, world: PromptWorld, kind: Kind) -> JsonMap:
        if not source.below(3):
            return _undo(source, world)
        within = [(weight, one) for weight, one in _WEIGHTS if (kind, one) != ("variable", "variable")]
        return self._contribution(source, source.weighted(within), [], fails=False, function=False)

    def _contribution(
        self, source: Source, kind: Kind, script: Sequence[JsonMap], *, fails: bool, function: bool
    ) -> JsonMap:
        part, scope = self._name(), source.choose(_SCOPES)
        if kind == "suppress":
            return write.suppress(part, scope)

        def provided(value: Json) -> Json:
            return write.provider(f"f {part}", value, *script, fails=fails) if function else value

        if kind == "tools":
            return write.tools(part, scope, provided(source.choose(_OFFERS if not source.below(8) else _OFFERS[:5])))
        names = _NAMES[kind]
        if kind == "variable":
            name = source.choose(names if not source.below(8) else names[:2])
            return write.variable(part, scope, name, provided(source.choose(_VALUES)))
        text = provided(source.choose(TEXTS if not source.below(6) else TEXTS[:_GOOD_TEXTS]))
        order = source.choose(ORDERS if not source.below(8) else ORDERS[:_GOOD_ORDERS])
        if kind == "context":
            return write.context(part, scope, source.choose(names), text, order=order)
        complete = True if not source.below(10) else None
        return write.section(part, scope, source.choose(names), text, order=order, complete=complete)

    def _listen(self, source: Source, world: PromptWorld) -> JsonMap:
        what = source.weighted([(4 if len(world.listeners) < LISTENERS else 0, "shape"), (2, "guard"), (1, "refuse")])
        if what == "guard":
            return write.guard(source.choose(tuple(write.GUARDS)))
        if what == "refuse":
            return write.refuse(f"refuse {self._name()}")
        scope = source.choose(_SCOPES)
        return write.shape(self._name(), scope, source.choose(tuple(write.SHAPES)), prepend=not source.below(4))


def _undo(source: Source, world: PromptWorld) -> JsonMap:
    return write.undo(source.choose(tuple(world.disposers))) if world.disposers else write.assemble("near")
