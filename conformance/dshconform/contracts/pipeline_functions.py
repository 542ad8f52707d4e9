"""The functions of one call, as the clauses have them: who is asked, what each does, where it waits."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

from dshconform.contracts.inbox_rows import Clauses, by
from dshconform.contracts.pipeline_plan import (
    ERRORS,
    INNER,
    KINDS,
    NO_ARGUMENTS,
    NOBODY,
    Acts,
    Plan,
    attempts,
    context,
    own,
    part_of,
    text,
)
from dshconform.contracts.pipeline_rows import (
    Request,
    Result,
    abort_row,
    change_row,
    function_row,
    next_row,
    phrased,
    told_row,
    value_row,
)
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.macros import message
from dshconform.trace.rows import ExpectedRow

T = TypeVar("T")

Passing: TypeAlias = Generator[str, str, T]
"""Goes through stages; yields the one that waits, is sent the act by which it ends."""


class Thrown(Exception):
    """A function failed.

    Args:
        error: The name of what it threw.
    """

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error: Final = error


@dataclass(slots=True)
class Surroundings:
    """What calls share.

    Args:
        tools: The tools that are there: their bodies, and their finalizers if they have one.
        hidden: Those that the agent does not see.
        approval: What the approval service does, if there is one.
        fired: The signals that have fired.
        rows: The rows of the command so far.
        running: The functions that run, and the signals on which each is told of an abort.
    """

    tools: dict[str, tuple[Acts, Acts | None]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    approval: Acts | None = None
    fired: set[str] = field(default_factory=set)
    rows: list[ExpectedRow] = field(default_factory=list)
    running: dict[str, tuple[str, ...]] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    """The kinds of the functions that wait, in the order in which they began to."""

    def abort(self, signal: str) -> None:
        """Fire a signal."""
        if signal not in self.fired:
            self.fired.add(signal)
            told = sorted(part for part, signals in self.running.items() if signal in signals)
            self.rows += [abort_row(part, ("PIPE-AROUND-07",)) for part in told]
            self.running.update(dict.fromkeys(told, ()))  # a signal fires once

    def register(self, name: str, body: Acts, final: Acts | None) -> None:
        """A tool is there.

        Args:
            name: What the model calls it.
            body: What its body does, call by call.
            final: What its finalizer does; none where it has none.
        """
        self.tools[name] = body, final
        self.rows.append(change_row())

    def hide(self, name: str) -> None:
        """The agent does not see a tool any more.

        Args:
            name: What the model calls it.
        """
        self.hidden.add(name)
        self.rows.append(change_row())

    def unregister(self, name: str) -> None:
        """A tool is not there any more.

        Args:
            name: What the model calls it.
        """
        if self.tools.pop(name, None) is not None:
            self.rows.append(change_row())


class Functions:
    """The functions of one call, and what is known of it on its way.

    Args:
        around: What calls share.
        plan: What each stage does.
    """

    def __init__(self, around: Surroundings, plan: Plan) -> None:
        self.plan: Final = plan
        self.waits: str | None = None
        """The stage that waits."""
        self.delegated = False
        """Whether a wrapper that waits has something to keep."""
        self._request: Final = Request(call=plan.call, tool=plan.call, arguments=plan.arguments, scoped=plan.scoped)
        self._around: Final = around
        self._guards: Final = [stage for stage in ("guard", "second guard", "scoped guard") if self._stands(stage)]
        self._because: Clauses = ()
        self._replaced = self._invoked = self._concluded = False
        self._asked: dict[str, int] = {}
        self._inside = 0
        self._deferred: list[JsonMap] = []

    def has_fired(self) -> bool:
        """Whether the caller's signal has fired."""
        return self.plan.call in self._around.fired

    def _stands(self, stage: str) -> bool:
        return stage in self.plan.stages and (self.plan.scoped or not stage.startswith("scoped"))

    def _resolved(self) -> tuple[Acts, Acts | None] | None:
        """The tool as this call sees it now."""
        hidden = self.plan.scoped and self.plan.call in self._around.hidden
        return None if hidden else self._around.tools.get(self.plan.call)

    def _emit(self, row: ExpectedRow) -> None:
        clauses = tuple(dict.fromkeys((*self._because, *row.clauses)))
        self._around.rows.append(ExpectedRow(row.pattern, clauses))
        self._because = ()

    def _function(
        self,
        stage: str,
        demands: Clauses,
        delegate: Callable[[], Passing[T]] | None,
        told: Callable[[T], ExpectedRow] | None,
        *,
        acts: Acts | None = None,
        **payload: Json,
    ) -> Generator[str, str, tuple[str, T | None]]:
        """Run a function; answer how it ends, and what its last `next` gave.

        Raises:
            Thrown: It fails.
        """
        whole = self.plan.stages[stage] if acts is None else acts
        part = part_of(stage, self.plan.call, whole)
        script = self._script(part, whole)
        self._start(stage, part, script, demands, payload)
        given: T | None = None
        last = "pass"
        for act in script:
            if act == "gate":
                if script[0] != "gate":
                    self._emit(function_row("gate", part, KINDS[stage], self._request, demands, **payload))
                self.delegated = False
                self._around.waiting.append(KINDS[stage])
                while (act := (yield stage)) == "next":
                    given = yield from self._delegated(part, delegate, told)
                    self.delegated = True
                self._around.waiting.remove(KINDS[stage])
            if act == "next":
                given = yield from self._delegated(part, delegate, told)
            elif not self._effect(act):
                last = act
        self._around.running.pop(part, None)
        if last in ERRORS:
            raise Thrown(last)
        return last, given

    def _delegated(
        self, part: str, delegate: Callable[[], Passing[T]] | None, told: Callable[[T], ExpectedRow] | None
    ) -> Generator[str, str, T]:
        assert delegate is not None
        assert told is not None
        try:
            given = yield from delegate()
        except Thrown as thrown:
            error: JsonMap = {"error": {"message": ERRORS[thrown.error]["message"]}}
            self._emit(next_row(part, 0, error, ("PIPE-ORDER-05",)))
            self._around.running.pop(part, None)
            raise
        self._emit(told(given))
        return given

    def _at_once(self, stage: str, acts: Acts, demands: Clauses, **payload: Json) -> str:
        """Run a function that does not wait; answer how it ends.

        Raises:
            Thrown: It fails.
        """
        part = part_of(stage, self.plan.call, acts)
        self._start(stage, part, acts, demands, payload)
        last = "pass"
        for act in acts:
            if not self._effect(act):
                last = act
        self._around.running.pop(part, None)
        if last in ERRORS:
            raise Thrown(last)
        return last

    def _start(self, stage: str, part: str, script: Acts, demands: Clauses, payload: JsonMap) -> None:
        on = "gate" if script[:1] == ("gate",) else "script"
        if self._replaced and stage in _BEHIND:
            payload = {**payload, "signal": by(("PIPE-AROUND-07",), {"signal": own(self.plan.call)})}
        self._emit(function_row(on, part, KINDS[stage], self._request, demands, **payload))
        if stage not in _UNHEARD:
            replaced = (own(self.plan.call),) if stage == "body" and self._replaced else ()
            self._around.running[part] = (self.plan.call, *replaced)

    def _script(self, part: str, acts: Acts) -> Acts:
        times = self._asked.get(part, 0)
        self._asked[part] = times + 1
        scripts = attempts(acts)
        return scripts[min(times, len(scripts) - 1)]

    def _effect(self, act: str) -> bool:
        """Do what a function does besides; false where the act is its end."""
        call = self.plan.call
        match act:
            case "abort":
                self._around.abort(call)
            case "abort own":
                self._around.abort(own(call))
            case "replace" | "restore":
                self._replaced = act == "replace"
            case "defer":
                self._deferred.append(context(call, "body"))
            case "conclude":
                self._concluded = True
            case "unregister":
                self._around.unregister(call)
            case "listen":
                self._because += ("PIPE-ORDER-07",)
            case "add":
                at = self._guards.index("scoped guard") if "scoped guard" in self._guards else len(self._guards)
                self._guards.insert(at, "added guard")
            case "lift":
                self._because += ("PIPE-GUARD-05",)
                self._guards.remove("second guard")
            case "call" if self._invoked:
                self._call_inside()
            case "call":
                asked = Request(call=f"{call} asked", tool=NOBODY, arguments=NO_ARGUMENTS)
                self._emit(
                    told_row(asked, unknown_tool(NOBODY, "UNKNOWN-TOOL-01"), ("PIPE-RESULT-02", "PIPE-ORDER-04"))
                )
            case _:
                return False
        return True

    def _call_inside(self) -> None:
        """A body calls the world's own tool, which defers and concludes."""
        self._inside += 1
        inside = Request(
            call=f"{self.plan.call} inside",
            tool=INNER,
            arguments=NO_ARGUMENTS,
            parent=self.plan.call,
            attempt=self._inside,
        )
        self._emit(function_row("script", INNER, "tool/execute", inside, ("PIPE-NEST-01",)))
        self._emit(value_row(f"render {INNER}", "tool/render", inside, INNER, ("PIPE-NEST-01",)))
        demands: Clauses = ("PIPE-NEST-01",)
        result = Result(content=text(INNER), clauses=demands, value=INNER, contexts=(message(INNER),), concludes=True)
        self._emit(told_row(inside, result, ("PIPE-BODY-03", "PIPE-NEST-01", "PIPE-ORDER-04")))
        self._because += ("PIPE-NEST-01",)


_BEHIND: Final = frozenset({"review", "final", "told", "also told"})
"""The stages behind the wrappers."""
_UNHEARD: Final = frozenset({"review", "final", "told", "also told", "scoped guard", "added guard"})
"""The stages where no abort is told of, or none is compared: see `pipeline_rows.COMPARED`."""
_UNKNOWN: Final = ("ToolNotFoundError", "UNKNOWN_TOOL")


def unknown_tool(name: str, *clauses: str) -> Result:
    """The failure of a call of a name that nothing has.

    Args:
        name: The name that was called.
        *clauses: Demand it, beside those of every failure that the registry phrases.
    """
    return phrased(f'unknown tool "{name}"', *clauses, info=_UNKNOWN)
