"""Scenario files: short deterministic scripts, readable as documentation, and the format of saved counterexamples.

    scenario: plain-turn
    title: One prompt, one answer
    contract: turn
    model: [{$text: hi}]            # one script per request; makes the world, the model and agent `a`
    steps:
      - do: agent.followup
        args: {agent: a, message: {$message: A}}
        by: AGENT-SEND-04           # blamed for the result and for rows that nobody expects
        observed:
          - {log: turn/start, data: {turn: 1}, by: LOOP-OPEN-01}
        open: [model/stream]

Without `model`, the steps begin with `world.open` themselves. Patterns: `dshconform.trace.pattern`; rows in short:
`dshconform.trace.rows`; shorthands: `dshconform.scenarios.macros`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Final

from dshconform.protocol.check import BadCommandError, check_command
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import UNCHECKED, Expectation, Step
from dshconform.scenarios.macros import MacroError, expand, expand_rows, model_scripts
from dshconform.trace.pattern import PatternError, clause_list, clauses_in
from dshconform.trace.rows import COMPARED, KINDS, ExpectedRow, read_rows
from dshconform.yaml_text import YamlError, read_yaml

_MEMBERS: Final = frozenset(
    {"scenario", "title", "about", "contract", "profile", "features", "model", "abort", "agents", "only", "steps"}
)
_STEP_MEMBERS: Final = frozenset({"do", "args", "by", "result", "error", "observed", "only", "open"})
_AGENT: Final[JsonMap] = {"provider": "mock", "model": "m1"}


class ScenarioError(ValueError):
    """A scenario file that cannot be read, with the file, the step and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario, its shorthands expanded."""

    id: str
    title: str
    about: str
    contract: str
    profile: str
    features: tuple[str, ...]
    steps: tuple[Step, ...]
    document: JsonMap = field(repr=False)

    @property
    def clauses(self) -> tuple[str, ...]:
        """Every clause that its expectations cite, each once, in order."""
        return tuple(dict.fromkeys(clause for step in self.steps for clause in step.expect.cited()))


def bundled() -> list[Scenario]:
    """All scenarios of the suite, in order of their file names."""
    folder = resources.files("dshconform.scenarios") / "files"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".yaml")), key=lambda file: file.name)
    return [read_scenario(file.read_text(encoding="utf-8"), file.name) for file in files]


def read_scenario(text: str, source: Path | str) -> Scenario:
    """Read one scenario.

    Args:
        text: The file's text.
        source: Named in errors.

    Raises:
        ScenarioError: It is no scenario.
    """
    try:
        document = read_yaml(text, source)
    except YamlError as error:
        raise ScenarioError(str(error)) from error
    return build_scenario(document, source)


def build_scenario(document: Json, source: Path | str) -> Scenario:
    """Make a scenario of its document.

    Raises:
        ScenarioError: It is no scenario.
    """
    if not isinstance(document, Mapping):
        raise ScenarioError(f"{source}: a scenario is an object with `scenario`, `title` and `steps`")
    _known(document, _MEMBERS, str(source))
    written = document.get("steps")
    if not isinstance(written, list) or not written:
        raise ScenarioError(f"{source}: `steps` must be a list with at least one step")
    only = _only(document.get("only"), str(source))
    steps = _opening(document, source)
    for number, step in enumerate(written, 1):
        steps.append(_step(step, f"{source}: step {number}", only))
    return Scenario(
        id=_text(document, "scenario", source),
        title=_text(document, "title", source),
        about=_text(document, "about", source, ""),
        contract=_text(document, "contract", source),
        profile=_text(document, "profile", source, "core"),
        features=tuple(_texts(document.get("features", []), "features", source)),
        steps=tuple(steps),
        document=document,
    )


def _opening(document: JsonMap, source: Path | str) -> list[Step]:
    if "model" not in document:
        return []
    try:
        scripts = model_scripts(document["model"])
    except MacroError as error:
        raise ScenarioError(f"{source}: {error}") from error
    stream = {"$fn": "model", "calls": scripts, "abort": document.get("abort", "auto")}
    steps = [
        Step("world.open", {}),
        Step("model.register", {"as": "model", "routes": ["mock"], "stream": stream}),
    ]
    agents = _texts(document.get("agents", ["a"]), "agents", source)
    return steps + [
        Step("agent.create", {"task": f"create-{agent}", "agent": agent, "options": _AGENT}) for agent in agents
    ]


def _step(written: Json, where: str, only: frozenset[str]) -> Step:
    if not isinstance(written, Mapping) or not isinstance(written.get("do"), str):
        raise ScenarioError(f"{where}: a step is an object with `do`, the operation")
    _known(written, _STEP_MEMBERS, where)
    args = written.get("args", {})
    if not isinstance(args, Mapping):
        raise ScenarioError(f"{where}: `args` must be an object")
    try:
        clauses = clause_list(written.get("by", ()))
        rows = written.get("observed")
        expected = None
        if rows is not None:
            if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
                raise ScenarioError(f"{where}: `observed` must be a list of rows")
            expected = tuple(_blamed(row, clauses, where) for row in read_rows(expand_rows(rows)))
        error = written.get("error")
        expect = Expectation(
            clauses=clauses,
            result=expand(written["result"]) if "result" in written else UNCHECKED,
            error=None if error is None else _object(expand(error)),
            rows=expected,
            only=_only(written["only"], where) if "only" in written else only,
            open=tuple(_texts(written["open"], "open", where)) if "open" in written else None,
        )
        step = Step(str(written["do"]), _object(expand(args)), expect)
        check_command(step.op, step.args, symbolic=True)
    except (PatternError, MacroError, BadCommandError) as problem:
        raise ScenarioError(f"{where}: {problem}") from problem
    return step


def _blamed(row: ExpectedRow, clauses: tuple[str, ...], where: str) -> ExpectedRow:
    """A row without clauses of its own is demanded by those of its step."""
    if row.clauses or not clauses:
        if not (row.clauses or clauses_in(row.pattern)):
            raise ScenarioError(f"{where}: `{row.title}` is demanded by no clause: give the row or its step a `by`")
        return row
    return ExpectedRow(row.pattern, clauses)


def _only(value: Json, where: str) -> frozenset[str]:
    if value is None:
        return COMPARED
    kinds = _texts(value, "only", where)
    for kind in kinds:
        if kind not in KINDS:
            raise ScenarioError(f"{where}: `only` names the unknown kind of row {kind!r}; known: {', '.join(KINDS)}")
    return frozenset(kinds)


def _known(document: JsonMap, members: frozenset[str], where: str) -> None:
    for key in document:
        if key not in members:
            raise ScenarioError(f"{where}: unknown member {key!r}; known: {', '.join(sorted(members))}")


def _object(value: Json) -> JsonMap:
    if not isinstance(value, dict):
        raise MacroError(f"an object is needed, not {value!r}")
    return value


def _text(document: JsonMap, key: str, source: Path | str, default: str | None = None) -> str:
    value = document.get(key, default)
    if not isinstance(value, str):
        raise ScenarioError(f"{source}: `{key}` must be a text")
    return value


def _texts(value: Json, key: str, where: Path | str) -> list[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ScenarioError(f"{where}: `{key}` must be a list of texts")
    return [str(item) for item in value]
