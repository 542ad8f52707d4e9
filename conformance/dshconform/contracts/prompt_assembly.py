"""How a prompt is assembled: what is evaluated in which order, and what listeners make of it (sheet 50).

Providers of the suite may do something the first time that they are asked. What takes part in an assembly is settled by
then, or not, as the clauses say; so the contributions are looked up here at the moments at which they are fixed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dshconform.contracts.inbox_rows import AGENT, ROUTE, Clauses, by
from dshconform.contracts.prompt_commands import (
    ASSEMBLE,
    BESIDE,
    CHAINS,
    FAILED,
    HOLD,
    REST_ENTRY,
    SHAPES,
    Contribution,
    Kind,
    Scope,
)
from dshconform.contracts.prompt_layers import Layers
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

_NO_VALUE: Json = {"$oneOf": [None, {"$value": "undefined"}]}
CWD = "/project"
"""Where the worlds of this contract say that they work."""


_NEW_LAYER_WAITS = "tools-of-a-new-layer-wait"
VARIANTS: Mapping[str, str] = {
    _NEW_LAYER_WAITS: "PROMPT-ASM-05",  # tool providers of a scope that had contributed nothing when the assembly began
}
"""Where the model can follow an implementation rather than the clause."""


class Failed(Exception):
    """An assembly fails.

    Args:
        message: What the failure says.
        clauses: Who says so.
    """

    def __init__(self, message: str, clauses: Clauses) -> None:
        super().__init__(message)
        self.clauses = clauses


@dataclass(slots=True)
class Assembly:
    """An assembly, and who answers for its parts."""

    sections: list[tuple[str, str]] = field(default_factory=list)
    """The names and texts of what the system text is made of."""
    contexts: list[tuple[str, str]] = field(default_factory=list)
    """The names and texts of what each turn is told."""
    tools: list[JsonMap] = field(default_factory=list)
    """The schemas of the tools."""
    variables: dict[str, str | None] = field(default_factory=dict)
    """The values of the variables, by name; none for one without a value."""
    by: dict[str, Clauses] = field(default_factory=dict)
    """By the name of a part, the clauses that answer for it."""

    def pattern(self) -> JsonMap:
        """What must be shown of it."""
        texts = {"sections": self.sections, "contexts": self.contexts}
        shown: dict[str, Json] = {
            part: by(self.by[part], [{"$exact": {"name": name, "text": text}} for name, text in held])
            for part, held in texts.items()
        }
        values = {name: _NO_VALUE if value is None else value for name, value in self.variables.items()}
        shown["tools"] = by(self.by["tools"], [{"$exact": tool} for tool in self.tools])
        shown["variables"] = by(self.by["variables"], {"$exact": values})
        return shown


@dataclass(frozen=True, slots=True)
class Listener:
    """A listener of assemblies.

    Args:
        part: The function.
        scope: Whose assemblies it is given; all, if it is in no scope.
        shape: What it does.
    """

    part: str
    scope: Scope
    shape: str


@dataclass(slots=True)
class Assembler:
    """What an assembly is made of.

    Args:
        layers: What is contributed.
        order: The configured order of tools, if there is one.
        listeners: In the order in which they are asked.
        times: How often each function of the suite was called.
        run: Does what a provider does the first time that it is asked, at the moment of that name.
        tell: Takes a row that must be observed.
        switches: The variants that are followed.
        departed: Gets those that were taken.
        given: What the caller gives, as rows show it.
    """

    layers: Layers
    order: Sequence[str] | None
    listeners: Sequence[Listener]
    times: dict[str, int]
    run: Callable[[Contribution, str], None]
    tell: Callable[[ExpectedRow], None]
    switches: frozenset[str] = frozenset()
    departed: list[str] = field(default_factory=list)
    given: JsonMap = field(default_factory=dict)

    def assemble(self, scope: Scope, *, agent: str | None, signal: JsonMap | None, held: bool = False) -> Assembly:
        """Assemble a prompt.

        Args:
            scope: For which scope.
            agent: For which agent, if it is for one.
            signal: With which signal, if there is one.
            held: Whether the innermost listener waits: then this is what it has been given.

        Returns:
            What comes of it.

        Raises:
            Failed: The assembly fails.
        """
        layers = self.layers
        self.given = _given(scope, agent, signal)
        suppressed = layers.suppressed(scope)
        before = layers.copy()
        variables = self._variables(scope, agent=agent)
        sections, contexts = layers.effective(scope, "section"), layers.effective(scope, "context")
        providers = self._providers(scope, before)
        fixed = layers.copy()
        schemas, known = self._offers(providers)
        complete = [one for one in sections if one.complete]
        if len(complete) > 1:
            names = ", ".join(f'"{one.name}"' for one in complete)
            raise Failed(f"multiple complete prompt sections are active: {names}", ("PROMPT-COMPLETE-03",))
        texts = [(one.name, self._answer(one, "in sections")) for one in sections]
        told = [] if suppressed else [(one.name, self._answer(one, "in contexts")) for one in contexts]
        tools = self._in_order(schemas, known)
        changed: Clauses = ("PROMPT-ASM-05",) if layers.entries != before.entries else ()
        late: Clauses = changed if layers.entries != fixed.entries else ()
        assembly = Assembly(texts, told, tools, variables, self._blame(scope, (*changed, *late)))
        if complete:
            assembly.by["sections"] = ("PROMPT-COMPLETE-01", "PROMPT-COMPLETE-02", *assembly.by["sections"])
        if suppressed:
            assembly.by["contexts"] = ("PROMPT-CTX-02", "PROMPT-CTX-03", *assembly.by["contexts"])
        own = [text for text in texts if complete and text[0] == complete[0].name]
        answered = self._chain(assembly, scope)
        if held:
            self.tell(ExpectedRow({"on": "gate", "part": HOLD, "kind": ASSEMBLE}, ("PROMPT-WF-02", "PROMPT-ASM-01")))
        if own:
            answered.sections = own
        if suppressed:
            answered.contexts = []
        layers.remember("PROMPT-SEC-06")
        return answered

    # ------------------------------------------------------------------ what is evaluated

    def _variables(self, scope: Scope, *, agent: str | None) -> dict[str, str | None]:
        variables = {name: None if agent is None else str(value) for name, value in ROUTE.items()}
        variables["cwd"] = CWD if agent == AGENT else None
        for one in self.layers.seen(scope, "variable"):
            variables[one.name] = self._value(one, "in variables", ("PROMPT-VAR-02", "PROMPT-ASM-01"))
        return variables

    def _providers(self, scope: Scope, before: Layers) -> list[Contribution]:
        """The tool providers that take part, given what there was before the variables were evaluated."""
        providers = self.layers.seen(scope, "tools")
        if _NEW_LAYER_WAITS not in self.switches:
            return providers
        there = [one for one in providers if one.scope == "root" or before.entries[one.scope]]
        if len(there) < len(providers):
            self.departed.append(_NEW_LAYER_WAITS)
        return there

    def _offers(self, providers: Sequence[Contribution]) -> tuple[list[JsonMap], set[str]]:
        schemas: list[JsonMap] = []
        known: set[str] = set()
        for one in providers:
            self._asked(one, "in tools", ("PROMPT-ASM-01", "PROMPT-SCOPE-03"))
            offer = one.provided.value
            assert isinstance(offer, Mapping)
            offered, names = offer["schemas"], offer.get("knownNames")
            assert isinstance(offered, list)
            schemas += offered
            known.update(names if isinstance(names, list) else [tool["name"] for tool in offered])
        return [{name: tool[name] for name in ("name", "description", "parameters")} for tool in schemas], known

    def _answer(self, one: Contribution, moment: str) -> str:
        clauses = ("PROMPT-SCOPE-02", "PROMPT-ASM-01", "PROMPT-SEC-05", "PROMPT-COMPLETE-04")
        return str(self._value(one, moment, clauses))

    def _value(self, one: Contribution, moment: str, clauses: Clauses) -> str | None:
        self._asked(one, moment, clauses)
        value = one.provided.value
        return None if value is None else str(value)

    def _asked(self, one: Contribution, moment: str, clauses: Clauses) -> None:
        """A provider is asked; the first time it may do something, or fail."""
        part = one.provided.part
        if part is None:
            return
        first = part not in self.times
        self._called(part, f"prompt/{one.kind}", clauses)
        if first:
            self.run(one, moment)
            if one.provided.fails:
                raise Failed(FAILED, ("PROMPT-ASM-02",))

    def _called(self, part: str, kind: str, clauses: Clauses) -> None:
        self.times[part] = self.times.get(part, 0) + 1
        row: JsonMap = {"on": "script", "part": part, "kind": kind, "n": by(("PROMPT-SEC-05",), self.times[part])}
        row = {**row, **self.given}
        self.tell(ExpectedRow(row, clauses))

    def _in_order(self, schemas: Sequence[JsonMap], known: set[str]) -> list[JsonMap]:
        """The tools in their order.

        Raises:
            Failed: One has the reserved name, or one is listed that nobody knows.
        """
        if any(tool["name"] == REST_ENTRY for tool in schemas):
            text = f'tool provider returned reserved tool name "{REST_ENTRY}" (reserved for toolOrder\'s rest entry)'
            raise Failed(text, ("PROMPT-TOOL-05",))
        listed = list(self.order or (REST_ENTRY,))
        unknown = [name for name in listed if name not in known and name != REST_ENTRY]
        if unknown:
            names = ", ".join(f'"{name}"' for name in unknown)
            told = ", ".join(sorted(known, key=_code_units)) or "(none)"
            what = "tool" if len(unknown) == 1 else "tools"
            raise Failed(f"toolOrder lists unregistered {what} {names}; known tools: {told}", ("PROMPT-TOOL-04",))
        place = {name: at for at, name in enumerate(listed)}
        rest = place[REST_ENTRY]
        return sorted(schemas, key=lambda tool: (place.get(str(tool["name"]), rest), _code_units(str(tool["name"]))))

    # ------------------------------------------------------------------ the chain

    def _chain(self, assembly: Assembly, scope: Scope) -> Assembly:
        """What the listeners make of an assembly: outer ones first, until one answers by itself."""
        for listener in self.heard(scope):
            self._called(listener.part, ASSEMBLE, ("PROMPT-WF-02", "PROMPT-WF-03"))
            if listener.shape == "answers":
                return _shaped(Assembly(by=dict.fromkeys(assembly.by, ("PROMPT-WF-01",))), listener.shape)
            _shaped(assembly, listener.shape)
        return assembly

    def heard(self, scope: Scope) -> list[Listener]:
        """The listeners that are given the assemblies of a scope."""
        return [one for one in self.listeners if one.scope in CHAINS[scope]]

    def _blame(self, scope: Scope, changed: Clauses) -> dict[str, Clauses]:
        """Who answers for the parts of an assembly."""
        layers = self.layers

        def of(kind: Kind, *clauses: str) -> Clauses:
            hiding: Clauses = ("PROMPT-SCOPE-01",) if layers.hides(scope, kind) else ()
            return tuple(dict.fromkeys((*changed, *hiding, *clauses, *layers.past)))

        tools = ("PROMPT-TOOL-02",) if self.order else ("PROMPT-TOOL-01",)
        return {
            "sections": of(
                "section", "PROMPT-SEC-02", "PROMPT-SCOPE-01", "PROMPT-COMPLETE-04", "PROMPT-SEC-01", "PROMPT-SCOPE-05"
            ),
            "contexts": of("context", "PROMPT-CTX-01", "PROMPT-SCOPE-01"),
            "tools": tuple(dict.fromkeys((*changed, *tools, "PROMPT-SCOPE-03", "PROMPT-TOOL-06", *layers.past))),
            "variables": of("variable", "PROMPT-VAR-02", "PROMPT-VAR-03"),
        }


def _given(scope: Scope, agent: str | None, signal: JsonMap | None) -> JsonMap:
    """What a caller gives, as the rows of those who get it show it."""
    absent: JsonMap = {"$absent": True}
    names: Mapping[Scope, Json] = {"root": absent, "near": AGENT, "far": "far", "beside": BESIDE}
    payload: JsonMap = {"scope": names[scope], "signal": absent if signal is None else signal}
    told: JsonMap = {"agent": absent if agent is None else agent, "payload": payload}
    return {member: by(("PROMPT-SEC-05",), value) for member, value in told.items()}


def _code_units(name: str) -> bytes:
    """What names of tools are sorted by: UTF-16, not code points."""
    return name.encode("utf-16-be")


def _shaped(assembly: Assembly, shape: str) -> Assembly:
    """What a listener does to an assembly."""
    for action in SHAPES[shape]:
        value = action["value"]
        if action["do"] == "return":
            assert isinstance(value, Mapping)
            for part, held in value.items():
                _set(assembly, part, held)
        else:
            _set(assembly, str(action["path"]).removeprefix("assembly."), value)
    return assembly


def _set(assembly: Assembly, path: str, value: Json) -> None:
    part, _, name = path.partition(".")
    rendering: Clauses = ("PROMPT-WF-04",) if part in {"variables", "contexts"} else ()
    assembly.by[part] = ("PROMPT-WF-01", "PROMPT-WF-02", *rendering, *assembly.by.get(part, ()))
    match part:
        case "variables" if name:
            assembly.variables[name] = str(value)
        case "variables":
            assert isinstance(value, Mapping)
            assembly.variables = {key: str(held) for key, held in value.items()}
        case "tools":
            assert isinstance(value, list)
            assembly.tools = list(value)
        case _:
            assert isinstance(value, list)
            texts = [(str(one["name"]), str(one["text"])) for one in value]
            setattr(assembly, part, texts)
