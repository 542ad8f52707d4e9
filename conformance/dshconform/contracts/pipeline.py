"""The pipeline contract: what becomes of one call, whatever its stages do and whenever it is aborted.

Calls are made by hand, without a loop. Each comes with a plan: policy, guards, wrapper, body, policy on its result,
finalizer and observers, each of which does what it does at once or waits for the suite. While one waits its signals
fire, its tool comes and goes, other calls are made. The model is written from the clauses alone: `pipeline_call` is
their interpreter.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar, Final

from dshconform.contracts.inbox_commands import items_of, read_command
from dshconform.contracts.inbox_rows import ROUTE
from dshconform.contracts.model import CommandError, Model
from dshconform.contracts.pipeline_call import Call
from dshconform.contracts.pipeline_choice import choose, fresh
from dshconform.contracts.pipeline_functions import Surroundings
from dshconform.contracts.pipeline_grid import CELLS, plan_cell, tours, waiting_cell
from dshconform.contracts.pipeline_plan import (
    AGENT,
    APPROVAL,
    INNER,
    Plan,
    hide,
    own,
    planned,
    provide,
    text,
    unregister,
)
from dshconform.contracts.pipeline_reading import (
    alike,
    answer_of,
    plan_of,
    provided_by,
    registered_by,
    simpler,
    tidied,
)
from dshconform.contracts.pipeline_rows import COMPARED
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import UNCHECKED, Expectation, Step
from dshconform.scenarios.macros import message

_ANSWERS: Final = frozenset({"gate.resolve", "gate.reject", "gate.next"})


class PipelineModel(Model):
    """The abstract state of the calls of one world.

    Args:
        switches: Variants in which the implementation is followed rather than the clause: there are none.
    """

    name: ClassVar[str] = "pipeline"
    profile: ClassVar[str] = "tools"
    """The profile that an implementation must declare."""
    features: ClassVar[tuple[str, ...]] = ("approval",)
    variants: ClassVar[Mapping[str, str]] = {}
    clauses: ClassVar[tuple[str, ...]] = (
        *("PIPE-ORDER-01", "PIPE-ORDER-02", "PIPE-ORDER-03", "PIPE-ORDER-04", "PIPE-ORDER-05"),
        *("PIPE-ORDER-06", "PIPE-ORDER-07", "PIPE-ARGS-02", "PIPE-ARGS-03", "PIPE-ID-01", "PIPE-ID-02"),
        *("PIPE-PRE-01", "PIPE-PRE-02", "PIPE-PRE-03", "PIPE-PRE-04", "PIPE-PRE-05"),
        *("PIPE-GUARD-01", "PIPE-GUARD-02", "PIPE-GUARD-03", "PIPE-GUARD-04", "PIPE-GUARD-05"),
        *("PIPE-AROUND-01", "PIPE-AROUND-02", "PIPE-AROUND-03", "PIPE-AROUND-04", "PIPE-AROUND-05"),
        *("PIPE-AROUND-06", "PIPE-AROUND-07", "PIPE-BODY-01", "PIPE-BODY-03", "PIPE-BODY-04"),
        *("PIPE-CTX-01", "PIPE-CTX-02", "PIPE-CTX-03", "PIPE-CTX-04", "PIPE-CONCLUDE-01", "PIPE-CONCLUDE-02"),
        *("PIPE-NEST-01", "PIPE-POST-01", "PIPE-POST-02", "PIPE-POST-03", "PIPE-POST-04", "PIPE-POST-05"),
        *("PIPE-FINAL-01", "PIPE-FINAL-02", "PIPE-FINAL-03", "PIPE-RESULT-01", "PIPE-RESULT-02"),
        *("PIPE-CANCEL-01", "PIPE-CANCEL-02", "PIPE-CANCEL-03", "PIPE-CANCEL-04", "PIPE-CANCEL-05"),
        *("PIPE-CANCEL-06", "PIPE-CANCEL-07", "PIPE-CANCEL-08", "PIPE-CANCEL-09"),
        *("RESULT-SHAPE-01", "RESULT-TEXT-01", "SCHEMA-OUT-01", "TOOL-CHANGE-01"),
        *("UNKNOWN-TOOL-01", "UNKNOWN-TOOL-04"),
    )
    cells: ClassVar[tuple[str, ...]] = CELLS

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:  # noqa: ARG002 - as every model
        self.departed: list[str] = []
        self._around = Surroundings()
        self._calls: dict[str, Call] = {}
        self._read: tuple[JsonMap, Plan] | None = None

    def opening(self) -> list[Step]:
        """An agent, to which calls may belong, and the tool that bodies call."""
        shown: Json = [{"do": "return", "value": text(INNER)}]
        script: Json = [
            {"do": "context", "message": message(INNER)},
            {"do": "conclude"},
            {"do": "return", "value": INNER},
        ]
        definition: JsonMap = {
            "name": INNER,
            "description": INNER,
            "parameters": {"type": "object"},
            "output": {
                "schema": {"type": "string"},
                "render": {"$fn": f"render {INNER}", "do": shown},
                "presentationMeta": {"$fn": f"project {INNER}"},
            },
            "execute": {"$fn": INNER, "do": script},
        }
        return [
            Step("world.open", {}),
            Step("agent.create", {"task": "created", "agent": AGENT, "options": ROUTE}),
            Step("tool.register", {"as": INNER, "definition": definition}),
        ]

    def prologues(self) -> list[list[JsonMap]]:
        """Those that visit every cell, and what the grid does not tell apart."""
        return [*(list(one) for one in _tours()), *(list(one) for one in _HAND)]

    def propose(self, source: Source) -> JsonMap:
        """Choose a legal command.

        Args:
            source: Where choices come from.
        """
        proposed = choose(source, self._around, self._calls)
        return proposed if self.legal(proposed) else planned(fresh(self._calls))

    def legal(self, command: JsonMap) -> bool:
        """Whether the command makes sense now.

        Raises:
            CommandError: It is none of the contract.
        """
        op, args = read_command(command)
        if op == "burst":
            return self._may_open(self._plan(args))
        if op in _ANSWERS:
            stage, name, act = answer_of(op, args)
            call = self._calls.get(name)
            return call is not None and call.waits == stage and (act != "kept" or call.delegated)
        if op == "approval.provide":
            return bool(provided_by(args)) and self._around.approval is None
        if op == "undo" and args == {"of": APPROVAL}:
            return self._around.approval is not None
        call = self._between(op, args)
        if call is None:
            return False
        there = call.plan.call in self._around.tools
        match op:
            case "tool.register":
                return not there and call.plan.call not in self._around.hidden
            case "tool.restrict":
                return there and call.plan.call not in self._around.hidden
            case "undo":
                return there
            case _:
                return str(args["signal"]) not in self._around.fired

    def cell(self, command: JsonMap) -> str | None:
        """The cell of the grid that a legal command visits in this state; none where the grid says nothing of it."""
        op, args = read_command(command)
        if op == "burst":
            return plan_cell(self._plan(args))
        if op == "approval.provide" or args == {"of": APPROVAL}:
            return None
        if op in _ANSWERS:
            stage, name, act = answer_of(op, args)
            return waiting_cell(stage, act, fired=self._calls[name].has_fired())
        call = self._between(op, args)
        assert call is not None
        said = {"tool.register": "register", "tool.restrict": "hide", "undo": "unregister"}.get(op)
        if said is None:
            said = "abort" if args["signal"] == call.plan.call else "abort own"
        return waiting_cell(str(call.waits), said, fired=call.has_fired())

    def apply(self, command: JsonMap) -> list[Step]:
        """Advance by a legal command; the step is the command."""
        op, args = read_command(command)
        around = self._around
        around.rows = []
        result: Json = UNCHECKED
        if op == "burst":
            self._open(self._plan(args))
            result = [{"result": UNCHECKED} for _ in items_of(args)]
        elif op in _ANSWERS:
            _, name, act = answer_of(op, args)
            self._calls[name].advance(act)
        elif op == "approval.provide":
            around.approval = provided_by(args)
        elif op == "undo" and args == {"of": APPROVAL}:
            around.approval = None
        elif op == "tool.register":
            around.register(str(args["as"]), *registered_by(args))
        elif op == "tool.restrict":
            around.hide(str(args["as"]).removeprefix("hide "))
        elif op == "undo":
            around.unregister(str(args["of"]))
        else:
            around.abort(str(args["signal"]))
        return [Step(op, args, self._expected(result))]

    def simpler(self, command: JsonMap) -> list[JsonMap]:
        """Plans with less in them.

        Args:
            command: A command that led to a difference.
        """
        return simpler(command)

    def tidied(self, commands: Sequence[JsonMap]) -> list[JsonMap]:
        """The same commands, their calls named `c1`, `c2`, … in order of appearance."""
        return tidied(commands)

    def _expected(self, result: Json) -> Expectation:
        return Expectation(
            clauses=("PIPE-BODY-04", "PIPE-ORDER-01"),
            after=("PIPE-ORDER-02", "PIPE-BODY-04"),
            result=result,
            rows=tuple(self._around.rows),
            only=COMPARED,
            open=tuple(self._around.waiting),
        )

    def _plan(self, args: JsonMap) -> Plan:
        """Read a plan; the same one is asked for its cell and performed when it is known to be legal."""
        if self._read is None or self._read[0] is not args:
            self._read = args, plan_of(args)
        return self._read[1]

    def _open(self, plan: Plan) -> None:
        if "body" in plan.stages:
            self._around.register(plan.call, plan.stages["body"], plan.stages.get("final"))
        if plan.aborted:
            self._around.abort(plan.call)
        call = self._calls[plan.call] = Call(self._around, plan)
        call.advance()

    def _may_open(self, plan: Plan) -> bool:
        """Whether nothing in a plan names what is not there."""
        acts = {act for said in plan.stages.values() for act in said}
        lifts = "lift" in acts and "second guard" not in plan.stages
        return plan.call not in self._calls and not lifts and ("unregister" not in acts or "body" in plan.stages)

    def _between(self, op: str, args: JsonMap) -> Call | None:
        """The waiting call that a command is about, if there is one."""
        match op:
            case "signal.abort":
                name = str(args.get("signal")).removeprefix(own(""))
            case "tool.register":
                registered_by(args)
                name = str(args["as"])
            case "tool.restrict":
                name = str(args.get("as")).removeprefix("hide ")
                if not alike({"do": op, "args": args}, hide(name)):
                    raise CommandError("the pipeline contract hides the tool of one call from the agent")
            case "undo":
                name = str(args.get("of"))
            case _:
                raise CommandError(f"{op} is no command of the pipeline contract")
        call = self._calls.get(name)
        return call if call is not None and call.waits is not None else None


_HAND: Final[Sequence[Sequence[JsonMap]]] = (
    [
        planned("c1", body="defer, plain | defer, value", around="next, next"),
        planned("c2", body="defer, conclude, value", around="next, success with context", review="context"),
        planned("c3", body="defer, conclude, value", review="block"),
        planned("c4", body="defer, value", review="plain"),
        planned("c5", body="defer, value", final="plain"),
        planned("c6", body="defer, conclude, value", review="value", final="text"),
        planned("c7", body="defer, abort, value", around="next"),
        planned("c8", body="abort, coded"),
        planned("c9", body="defer, value", around="next, plain"),
        planned("c10", body="defer, value", around="next, bad success", final="text"),
    ],
    [
        planned("c1", body="value", around="replace, next", review=""),
        planned("c2", body="abort own, value", around="replace, next"),
        planned("c3", body="abort, value", around="replace, next"),
        planned("c4", policy="allow", guard="deny", scoped_guard="deny", scoped=True),
        planned("c5", policy="next, allow", scoped_policy="plain", scoped=True),
        planned("c6", policy="", scoped_policy="deny", scoped_guard="deny"),
        planned("c7", told="plain", also_told=""),
    ],
    [
        planned("c1", policy="ask"),
        provide("allowed-once"),
        planned("c2", policy="ask", scoped=True, guard="deny"),
        planned("c3", policy="ask why"),
        unregister(APPROVAL),
        provide("rejected"),
        planned("c4", policy="ask why", scoped=True, review=""),
        unregister(APPROVAL),
        provide("coded"),
        planned("c5", policy="ask", scoped=True, review=""),
    ],
)


@cache
def _tours() -> Sequence[Sequence[JsonMap]]:
    return [*tours()]
