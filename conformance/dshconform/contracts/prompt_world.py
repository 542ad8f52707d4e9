"""The abstract world of the prompt contract: contributions, assemblies, and the turns that a prompt is made for."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from dshconform.contracts.inbox_rows import AGENT, Clauses, by, live_row, log_row, return_row, whole
from dshconform.contracts.prompt_assembly import Assembler, Assembly, Failed, Listener
from dshconform.contracts.prompt_commands import (
    CHANGE,
    MODEL,
    PERSONA,
    REFUSED,
    REST_ENTRY,
    Contribution,
    Provided,
    Scope,
    read_contribution,
)
from dshconform.contracts.prompt_layers import Layers
from dshconform.contracts.prompt_text import CLEARED, Unrenderable, joined, rendered, rules_of, snapshot_text
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.macros import message
from dshconform.trace.rows import ExpectedRow

_IDENTITY: Final = "You are an AI agent powered by DeepSeek Harness."
REST: Final = "at rest"
"""The moment of a change at which nothing is assembled."""
HELD: Final = "while a listener waits"
"""The moment of a change at which an assembly waits."""
_PLUGIN: Final = "@deepseek-ai/dsh-system-prompt"
SET_UP: Final = Contribution("set up", "section", "near", "set up", 50, Provided("set up for {{model}}"))
"""What the agent contributes to its own prompts while it is made."""


class LeftOpen(Exception):
    """What happens now is nowhere said: the contract does not go there."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ends.

    Args:
        by: Answer for that.
        error: How it is refused, if it is.
    """

    by: Clauses
    error: JsonMap | None = None


@dataclass(slots=True)
class PromptWorld:
    """The state of one world.

    Args:
        layers: What is contributed.
        disposers: What can be undone, by name: a contribution, or a listener of assemblies.
        order: The configured order of tools, if there is one.
        listeners: Those of assemblies, in the order in which they are asked.
        guards: What befalls the agent's next turn.
        refuser: The listener that fails at the next change, if there is one.
        held: The assembly of which the innermost listener waits, if there is one.
        times: How often each function was called.
        ever: Whether the agent's log has a snapshot.
        retained: The text of the last one, marker or not.
        header: System text and tools of the last request, if there was one.
        moment: What is being evaluated, or that nothing is.
        visited: What was done to contributions in the command, and when.
        rows: What must be observed.
        unsaid: The rows of which nothing is said this time.
        switches: The variants that are followed.
        departed: Those that the command took.
    """

    layers: Layers = field(default_factory=Layers)
    disposers: dict[str, Contribution | Listener] = field(default_factory=dict)
    order: Sequence[str] | None = None
    listeners: list[Listener] = field(default_factory=list)
    guards: list[str] = field(default_factory=list)
    refuser: str | None = None
    held: Assembly | None = None
    times: dict[str, int] = field(default_factory=dict)
    ever: bool = False
    retained: str | None = None
    header: JsonMap | None = None
    moment: str = REST
    visited: list[tuple[str, ...]] = field(default_factory=list)
    rows: list[ExpectedRow] = field(default_factory=list)
    unsaid: frozenset[str] = frozenset()
    switches: frozenset[str] = frozenset()
    departed: list[str] = field(default_factory=list)

    def open(self, options: JsonMap) -> Ended:
        """The world is composed, with what its prompts begin with; or not, if its order of tools is none.

        Args:
            options: The options of prompt assembly, as `world.open` takes them.

        Returns:
            That it is composed, or what it fails with.
        """
        order = options.get("toolOrder")
        self.order = [str(name) for name in order] if isinstance(order, list) else None
        if self.order is not None:
            twice = next((name for at, name in enumerate(self.order) if name in self.order[:at]), None)
            if twice is not None:
                return Ended(("PROMPT-TOOL-03",), {"message": f'toolOrder lists "{twice}" more than once'})
            if REST_ENTRY not in self.order:
                text = f'toolOrder must contain the "{REST_ENTRY}" rest entry (where unlisted tools are inserted)'
                return Ended(("PROMPT-TOOL-03",), {"message": text})
        if options.get("includeHarnessIdentity", True):
            self.layers.add(Contribution("identity", "section", "root", "harness:identity", -100, Provided(_IDENTITY)))
        persona = Provided(options.get("persona", ""))
        self.layers.add(Contribution("persona", "section", "root", PERSONA, 0, persona))
        if options.get("includeRuntimeContext") is False:
            self.layers.add(Contribution("no contexts", "suppress", "root", "", 0, Provided(None)))
        self.layers.add(SET_UP)
        self.disposers[SET_UP.part] = SET_UP
        return Ended(())

    def begin(self) -> None:
        """A command comes: what it leads to is written down from here on."""
        self.rows, self.visited, self.departed = [], [], []
        self.unsaid, self.moment = frozenset(), REST

    def copy(self) -> "PromptWorld":
        """A world to try commands on."""
        return replace(
            self,
            layers=self.layers.copy(),
            disposers=dict(self.disposers),
            listeners=list(self.listeners),
            guards=list(self.guards),
            times=dict(self.times),
        )

    # ------------------------------------------------------------------ contributions

    def contribute(self, contribution: Contribution) -> Ended:
        """Something is contributed.

        Args:
            contribution: What, and where.

        Returns:
            That it is there, or what it is refused with.

        Raises:
            LeftOpen: For which of two reasons it is refused.
        """
        kind, layers = contribution.kind, self.layers
        if not layers.decided(contribution):
            raise LeftOpen
        refusal = layers.refusal(contribution)
        if refusal is not None:
            layers.remember(refusal.clause)
            return Ended((refusal.clause,), refusal.error)
        if kind == "variable" and self.moment == "in variables":
            raise LeftOpen  # the walk over the variables is live
        self._visit("added", contribution)
        layers.add(contribution)
        if self._change():
            self.disposers[contribution.part] = contribution
            return Ended(("PROMPT-CHANGE-01",))
        layers.entries[contribution.scope].pop()
        layers.remember("PROMPT-CHANGE-02")
        self._change()
        return Ended(("PROMPT-CHANGE-02",), {"message": REFUSED})

    def undo(self, part: str) -> Ended:
        """A contribution ends, or a listener; the second time nothing does.

        Args:
            part: The name of the contribution or the listener.

        Returns:
            The clauses that say what it does.

        Raises:
            LeftOpen: Whose failure it is that a listener of the change fails, or how a walk over the variables goes on.
        """
        what = self.disposers[part]
        if isinstance(what, Listener):
            if what in self.listeners:
                self.listeners.remove(what)
            return Ended(("PROMPT-ASM-01",))
        if what.kind == "variable" and self.moment == "in variables":
            raise LeftOpen
        self._visit("removed", what)
        if self.layers.remove(what):
            if self.refuser is not None:
                raise LeftOpen
            self._change()
        return Ended(("PROMPT-DISP-01", "PROMPT-CHANGE-01"))

    def close(self, scope: Scope) -> Ended:
        """A scope ends with everything that was contributed and listens there.

        Raises:
            LeftOpen: Whose failure it is that a listener of a change fails.
        """
        if self.refuser is not None:
            raise LeftOpen
        for _ in range(self.layers.close(scope)):
            self._change()
        self.listeners = [one for one in self.listeners if one.scope != scope]
        self.rows.append(ExpectedRow({"on": "task", "task": "closed", "value": None}, ("PROMPT-SCOPE-04",)))
        return Ended(("PROMPT-SCOPE-04", "PROMPT-CHANGE-01", "TRACE-OWNER-03"))

    def reopen(self, scope: Scope) -> Ended:
        """A scope is opened again under its key: nothing of what was there comes back."""
        self.layers.closed.discard(scope)
        return Ended(("PROMPT-SCOPE-04",))

    def _change(self) -> bool:
        """A change is told; false if a listener fails."""
        self.rows.append(ExpectedRow({"on": "live", "name": CHANGE}, ("PROMPT-CHANGE-01",)))
        refuser, self.refuser = self.refuser, None
        if refuser is not None:
            self.rows.append(ExpectedRow({"on": "script", "kind": CHANGE, "part": refuser}, ("PROMPT-CHANGE-02",)))
        return refuser is None

    def _visit(self, change: str, one: Contribution) -> None:
        others = [other for other in self.layers.seen("near", one.kind) if other.name == one.name and other != one]
        hides = bool(one.name) and one.scope in {"far", "near"} and bool(others)
        act = {"added": "hides", "removed": "uncovers"}[change] if hides else change
        moment = HELD if self.held is not None and self.moment == REST else self.moment
        self.visited.append((one.kind, one.scope, act, moment))

    # ------------------------------------------------------------------ assemblies

    def assemble(self, scope: Scope, *, agent: str | None, aborted: bool) -> Ended:
        """A prompt is assembled by hand; that its signal has fired makes no difference.

        Args:
            scope: For which scope.
            agent: For which agent, if it is for one.
            aborted: Whether its signal has fired.

        Returns:
            That it was assembled, or what it failed with.
        """
        heedless: Clauses = ("PROMPT-ASM-04",) if aborted else ()
        asked: Clauses = ("PROMPT-ASM-01", "PROMPT-CTX-02")  # what anything that returns would hold is held elsewhere
        returned = return_row("prompt.assemble", asked)
        try:
            signal: JsonMap | None = {"signal": "aborted", "aborted": True} if aborted else None
            assembly = self._assembled(scope, agent=agent, signal=signal)
        except Failed as failed:
            ended = Ended((*failed.clauses, "PROMPT-ASM-02"))
            row: JsonMap = {"on": "task", "task": "assembled", "error": {"message": str(failed)}}
            self.rows += [returned, ExpectedRow(row, ended.by)]
            return ended
        self.rows.append(returned)
        self._tell("assembled", assembly, heedless)
        return Ended((*heedless, "PROMPT-ASM-01"))

    def hold(self, scope: Scope) -> Ended:
        """A prompt is assembled by hand, and the innermost listener waits.

        Args:
            scope: For which scope.

        Returns:
            The clauses that say what it does.

        Raises:
            LeftOpen: It would not be asked: a listener answers by itself, or the assembly fails.
        """
        if any(one.shape == "answers" for one in self._assembler().heard(scope)):
            raise LeftOpen
        try:
            self.held = self._assembled(scope, agent=None, signal=None, held=True)
        except Failed:
            raise LeftOpen from None
        return Ended(("PROMPT-ASM-01",))

    def release(self) -> Ended:
        """The listener that waits goes on: what has happened meanwhile makes no difference."""
        assert self.held is not None
        held, self.held = self.held, None
        held.by = {part: ("PROMPT-ASM-05", *clauses) for part, clauses in held.by.items()}
        self._tell("held", held, ())
        return Ended(("PROMPT-ASM-05",))

    def _tell(self, task: str, assembly: Assembly, clauses: Clauses) -> None:
        row: JsonMap = {"on": "task", "task": task, "value": assembly.pattern()}
        known: Clauses = ("PROMPT-TOOL-04",) if self.order is not None else ()
        self.rows.append(ExpectedRow(row, (*clauses, *known, "PROMPT-ASM-02", "PROMPT-ASM-01")))

    def _assembler(self) -> Assembler:
        return Assembler(
            *(self.layers, self.order, self.listeners, self.times, self._run, self.rows.append),
            switches=self.switches,
            departed=self.departed,
        )

    def _assembled(self, scope: Scope, *, agent: str | None, signal: JsonMap | None, held: bool = False) -> Assembly:
        try:
            return self._assembler().assemble(scope, agent=agent, signal=signal, held=held)
        except Failed as failed:
            if "PROMPT-COMPLETE-03" in failed.clauses:
                self._forget({"script prompt/tools"})  # whether they were asked by then
            raise

    def _run(self, one: Contribution, moment: str) -> None:
        """A provider does what it does the first time."""
        outer, self.moment = self.moment, moment
        for index, written in enumerate(one.provided.script):
            op, args = str(written["op"]), written["args"]
            assert isinstance(args, dict)
            if op == "undo" and args["of"] not in self.disposers:
                raise LeftOpen
            ended = self.undo(str(args["of"])) if op == "undo" else self.contribute(read_contribution(op, args))
            shown: JsonMap = {} if ended.error is None else {"error": ended.error}
            self.rows.append(return_row(op, ended.by, str(index), shown, one.provided.part))
        self.moment = outer

    def _forget(self, rows: set[str]) -> None:
        self.unsaid = self.unsaid | rows

    # ------------------------------------------------------------------ turns

    def turn(self) -> Ended:
        """The agent is woken by a message, and runs a turn."""
        claimed = not self._takes("remove")
        try:
            assembly = self._assembled("near", agent=AGENT, signal={"aborted": False})
            contexts = rendered("context", assembly.contexts, assembly.variables)
        except Failed as failed:
            return self._turn_fails(0, str(failed), (*failed.clauses, "REQ-PROMPT-02"))
        except Unrenderable as failed:
            return self._turn_fails(0, str(failed), (failed.clause, "REQ-PROMPT-02"))
        snapshot = self._due(contexts)
        quiet = self._quiet_by(contexts) if snapshot is None else ()
        if self._takes("reject"):
            return self._close("blocked", ("PROMPT-SNAP-04",))
        if self._takes("drop"):
            snapshot = None
        if not claimed and snapshot is None:
            return self._close("completed", (*quiet, "PROMPT-SNAP-07"))
        if claimed:
            self.rows.append(log_row("user/message", whole(message("m")), ("PROMPT-SNAP-01", "REQ-PROMPT-01")))
        if snapshot is not None:
            self._append(snapshot, contexts, assembly.by["contexts"], claimed=claimed)
        try:
            sections = rendered("section", assembly.sections, assembly.variables)
        except Unrenderable as failed:
            return self._turn_fails(1, str(failed), (failed.clause, "REQ-PROMPT-02", *quiet))
        return self._request(joined(sections), assembly, quiet)

    def _takes(self, guard: str) -> bool:
        """Whether a guard acts, which it does once."""
        there = guard in self.guards
        if there:
            self.guards.remove(guard)
        return there

    def _due(self, contexts: Sequence[tuple[str, str]]) -> str | None:
        """The text of the snapshot that is offered, if one is."""
        if not contexts and not self.ever:
            return None
        text = snapshot_text(contexts) or CLEARED
        return None if text == self.retained else text

    def _quiet_by(self, contexts: Sequence[tuple[str, str]]) -> Clauses:
        """Who says that no snapshot is due."""
        return ("PROMPT-SNAP-02",) if contexts else ("PROMPT-SNAP-03",)

    def _append(self, text: str, contexts: Sequence[tuple[str, str]], blamed: Clauses, *, claimed: bool) -> None:
        source: dict[str, Json] = {"kind": "plugin", "plugin": _PLUGIN}
        if contexts:
            source["form"] = "snapshot"
            source["sections"] = [{"$exact": {"name": name, "text": told}} for name, told in contexts]
        clauses: Clauses = ("PROMPT-SNAP-02", "PROMPT-SNAP-04") if contexts else ("PROMPT-SNAP-03",)
        if self.retained == CLEARED:
            clauses = ("PROMPT-SNAP-03", *clauses)
        if not claimed:
            clauses = ("PROMPT-SNAP-07", *clauses)
        data: JsonMap = {
            "role": "user",
            "source": by(("PROMPT-SNAP-01", *blamed), {"$exact": source}),
            "content": by(("PROMPT-CTX-01", *blamed), [{"type": "text", "text": text}]),
        }
        self.rows.append(log_row("user/message", data, (*clauses, "PROMPT-SNAP-01")))
        self.ever, self.retained = True, text

    def _request(self, system: str, assembly: Assembly, quiet: Clauses) -> Ended:
        rules = rules_of(assembly.sections)
        texts = (*rules, *assembly.by["sections"], "PROMPT-WF-04", "PROMPT-VAR-03", *assembly.by["variables"])
        asked: dict[str, Json] = {
            "system": by(tuple(dict.fromkeys(texts)), system or {"$absent": True}),
            "tools": by(
                assembly.by["tools"],
                [{"$exact": tool} for tool in assembly.tools] if assembly.tools else {"$absent": True},
            ),
        }
        header: JsonMap = {"system": system, "tools": [*assembly.tools]}
        if header != self.header:
            due: Clauses = ("REQ-HEAD-01",) if self.header is None else ("REQ-HEAD-02",)
            self.rows.append(log_row("request/header", {"header": asked}, (*quiet, *rules, *due, "REQ-PROMPT-01")))
            self.header = header
        row: JsonMap = {
            "on": "script",
            "part": MODEL,
            "kind": "model/stream",
            "agent": AGENT,
            "payload": {"request": asked},
        }
        self.rows.append(ExpectedRow(row, (*quiet, *rules, "REQ-PROMPT-01", "REQ-HEAD-02")))
        return self._close("completed", ("LOG-EVT-02",))

    def _close(self, kind: str, clauses: Clauses) -> Ended:
        self.rows.append(log_row("turn/end", {"reason": {"kind": kind}}, clauses))
        return Ended((*clauses, "REQ-PROMPT-01"))

    def _turn_fails(self, step: int, text: str, clauses: Clauses) -> Ended:
        error: JsonMap = {"step": by(("REQ-PROMPT-02",), step), "error": {"message": by(clauses, text)}}
        self.rows.append(live_row("agent/error", error, clauses))
        reason: JsonMap = {"kind": "error", "error": {"$any": True}}
        self.rows.append(log_row("turn/end", {"reason": reason}, clauses))
        return Ended(clauses)
