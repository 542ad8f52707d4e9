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

What a scenario may say about its world: `dshconform.scenarios.opening`; without `model`, the steps begin with
`world.open` themselves. Patterns: `dshconform.trace.pattern`; rows in short: `dshconform.trace.rows`; shorthands:
`dshconform.scenarios.macros` and `row_groups`; one world for each moment: `sweep`. The guide page "Writing scenarios"
explains it all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Final

from dshconform.protocol.check import BadCommandError, check_command
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.gates import BadSelector, check_selectors
from dshconform.running.step import UNCHECKED, Expectation, Step
from dshconform.scenarios import opening
from dshconform.scenarios.macros import MacroError, expand
from dshconform.scenarios.row_groups import is_group, rows_of
from dshconform.scenarios.sweep import at_tick, ticks_of
from dshconform.spec.specification import UnknownClause, load_specification
from dshconform.trace.pattern import PatternError, check_pattern, clause_list, clauses_in
from dshconform.trace.rows import COMPARED, ENTRY, KINDS, ExpectedRow, is_compared, read_row, read_rows
from dshconform.yaml_text import YamlError, read_yaml

_MEMBERS: Final = frozenset(
    {"scenario", "title", "about", "contract", "profile", "features", "only", "sweep", "steps", *opening.MEMBERS}
)
_STEP_MEMBERS: Final = frozenset({"do", "args", "by", "result", "error", "observed", "only", "open"})


class ScenarioError(ValueError):
    """A scenario file that cannot be read, with the file, the step and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario, its shorthands expanded.

    Args:
        id: The name that checks and reports call it by.
        title: What it shows, in a sentence.
        about: What a reader should know before; often nothing.
        contract: The contract it belongs to.
        profile: The profile that an implementation must declare.
        features: The features that it must declare besides.
        worlds: The steps of each world that it is run in: one, or with a sweep one for each moment.
        opening: So many steps of each make the world and are not the file's own.
        ticks: The moments of its sweep, one for each world.
        document: What the file says.
    """

    id: str
    title: str
    about: str
    contract: str
    profile: str
    features: tuple[str, ...]
    worlds: tuple[tuple[Step, ...], ...]
    opening: int = 0
    ticks: tuple[int, ...] = ()
    document: JsonMap = field(repr=False)

    @property
    def clauses(self) -> tuple[str, ...]:
        """Every clause that its expectations cite, each once, in order."""
        return tuple(dict.fromkeys(clause for step in self.worlds[0] for clause in step.expect.cited()))

    def document_of(self, world: int) -> JsonMap:
        """The scenario that runs in the world of that number alone."""
        return {**self.document, "sweep": {"ticks": [self.ticks[world]]}} if self.ticks else self.document


def bundled() -> list[Scenario]:
    """All scenarios of the suite, in order of their file names.

    Raises:
        ScenarioError: A file of the suite is no scenario.
    """
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

    Args:
        document: What the file says.
        source: The file, named in errors.

    Raises:
        ScenarioError: It is no scenario.
    """
    if not isinstance(document, Mapping):
        raise ScenarioError(f"{source}: a scenario is an object with `scenario`, `title` and `steps`")
    _known(document, _MEMBERS, str(source))
    written = document.get("steps")
    if not isinstance(written, list) or not written:
        raise ScenarioError(f"{source}: `steps` must be a list with at least one step")
    try:
        ticks = ticks_of(document["sweep"]) if "sweep" in document else ()
        opened = opening.opening(document)
    except MacroError as error:
        raise ScenarioError(f"{source}: {error}") from error
    only = _only(document.get("only"), str(source))
    features = _texts(document.get("features", []), "features", source)
    if ticks and "ticks" not in features:
        raise ScenarioError(f"{source}: a `sweep` needs the feature `ticks`: declare it in `features`")
    return Scenario(
        id=_text(document, "scenario", source),
        title=_text(document, "title", source),
        about=_text(document, "about", source, ""),
        contract=_text(document, "contract", source),
        profile=_text(document, "profile", source, "core"),
        features=tuple(features),
        worlds=tuple(
            (*opened, *_steps(steps, source, only)) for steps in [at_tick(written, tick) for tick in ticks] or [written]
        ),
        opening=len(opened),
        ticks=ticks,
        document=document,
    )


def _steps(written: Json, source: Path | str, only: frozenset[str]) -> list[Step]:
    assert isinstance(written, list)
    return [_step(step, f"{source}: step {number}", only) for number, step in enumerate(written, 1)]


def _step(written: Json, where: str, only: frozenset[str]) -> Step:
    if not isinstance(written, Mapping) or not isinstance(written.get("do"), str):
        raise ScenarioError(f"{where}: a step is an object with `do`, the operation")
    _known(written, _STEP_MEMBERS, where)
    args = written.get("args", {})
    if not isinstance(args, Mapping):
        raise ScenarioError(f"{where}: `args` must be an object")
    try:
        clauses = clause_list(written.get("by", ()))
        compared = _only(written["only"], where) if "only" in written else only
        rows = written.get("observed")
        error = written.get("error")
        expect = Expectation(
            clauses=clauses,
            result=expand(written["result"]) if "result" in written else UNCHECKED,
            error=None if error is None else _object(expand(error)),
            rows=None if rows is None else tuple(_rows(rows, clauses, compared, where)),
            only=compared,
            open=tuple(_texts(written["open"], "open", where)) if "open" in written else None,
        )
        step = Step(str(written["do"]), _object(expand(args)), expect)
        check_command(step.op, step.args, symbolic=True)
        check_selectors(step.args)
        _check_expectation(expect)
    except (PatternError, MacroError, BadCommandError, BadSelector, UnknownClause) as problem:
        raise ScenarioError(f"{where}: {problem}") from problem
    return step


def _check_expectation(expect: Expectation) -> None:
    """See that patterns are patterns, and clauses those of the specification.

    Raises:
        PatternError: One is none.
        UnknownClause: One does not exist.
    """
    for pattern in (expect.result, expect.error, *(row.pattern for row in expect.rows or ())):
        check_pattern(pattern)
    specification = load_specification()
    for clause in (*expect.clauses, *expect.cited()):
        if clause not in specification.clauses:
            raise UnknownClause(clause, specification.near_misses(clause))


def _rows(written: Json, clauses: tuple[str, ...], only: frozenset[str], where: str) -> Iterator[ExpectedRow]:
    """Read expected rows; of those that a shorthand stands for, the ones that are compared."""
    if not isinstance(written, list):
        raise ScenarioError(f"{where}: `observed` must be a list of rows")
    for item in written:
        if not isinstance(item, Mapping):
            raise ScenarioError(f"{where}: `observed` must be a list of rows")
        row = {key: expand(value) for key, value in item.items()}
        if is_group(row):
            yield from (one for one in read_rows(rows_of(row)) if is_compared(one.pattern, only))
        else:
            read = _blamed(read_row(row), clauses, where)
            if not is_compared(read.pattern, only):
                raise ScenarioError(f"{where}: `{read.title}` is expected, but `only` leaves such rows out")
            yield read


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
        if kind.partition(" ")[0] not in KINDS:
            known = ", ".join(KINDS)
            raise ScenarioError(f"{where}: `only` has {kind!r}, which is not {ENTRY}; the kinds are {known}")
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
