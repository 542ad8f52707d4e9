"""The alphabet of the pipeline contract: a call with a plan of what each stage will do, and what comes in between.

A plan is a burst: the call's signals, its tool, its listeners and guards, and the call itself. What a function of the
suite does stands in its name, as acts: `around c1: replace, next, plain` gives the body a signal of its own, runs it,
and fails. The acts of several calls of one function are separated by a bar: `body c1: plain, |, value`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from dshconform.contracts.inbox_commands import burst, read_command
from dshconform.contracts.model import CommandError
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.macros import message

Acts: TypeAlias = tuple[str, ...]
"""What a function does, one after the other; a bar stands between those of several calls."""

AGENT: Final = "a"
"""The name of the agent of an example."""
INNER: Final = "inner"
"""A tool of the world, which bodies and policies call: it defers, concludes and answers."""
NOBODY: Final = "nobody"
"""The name of a tool that is not there."""
APPROVAL: Final = "approval"
"""The name of the service that is asked for approvals, and of its function."""

ERRORS: Final[Mapping[str, JsonMap]] = {
    "plain": {"message": "broken"},
    "marked": {"message": "marked", "code": "E1"},
    "coded": {"kind": "coded", "name": "Refused", "message": "refused", "code": "POLICY"},
}
"""What functions throw; that a plain error has a code says nothing."""

INFOS: Final[Mapping[str, tuple[str, str]]] = {"coded": ("Refused", "POLICY")}
"""By act, the name and code that the failure of a tool carries."""
OUTCOMES: Final = ("allowed-once", "rejected", "cancelled", "unavailable")
"""What the service can answer."""
KINDS: Final[Mapping[str, str]] = {
    "policy": "tools/pre-execute",
    "scoped policy": "tools/pre-execute",
    "guard": "tool/guard",
    "second guard": "tool/guard",
    "added guard": "tool/guard",
    "scoped guard": "tool/guard",
    "around": "tools/execute",
    "body": "tool/execute",
    "review": "tools/post-execute",
    "final": "tool/finalize",
    "told": "tools/result",
    "also told": "tools/result",
    APPROVAL: "tool/approval",
}
"""The stages that functions stand at, in the order in which they are registered, and of what kind each is."""

WAITING: Final = ("policy", "around", "body", "review")
"""The stages of a call where a function can wait for the suite."""


def text(words: str) -> Json:
    """Content of one block.

    Args:
        words: The text of the block.

    Returns:
        The content, a list.
    """
    return [{"type": "text", "text": words}]


def context(call: str, giver: str) -> JsonMap:
    """What a stage of a call adds for the next step.

    Args:
        call: The name of the call.
        giver: The stage that adds it.
    """
    return message(f"{giver} {call}")


def own(call: str) -> str:
    """The signal that the wrapper of a call has for the body."""
    return f"own {call}"


def abort(signal: str) -> JsonMap:
    """A signal fires."""
    return {"do": "signal.abort", "args": {"signal": signal, "reason": "why"}}


_OWN_FAILURE: Final[JsonMap] = {
    "isError": True,
    "error": {"message": "given up", "info": {"name": "Own", "code": "OWN"}},
    "content": text("own words"),
    "meta": {"own": True},
}

VALUES: Final[Mapping[str, Mapping[str, Callable[[str], Json]]]] = {
    "policy": {
        "allow": lambda _: {"kind": "allow"},
        "deny": lambda _: {"kind": "deny", "reason": "not today"},
        "deny silently": lambda _: {"kind": "deny", "reason": ""},
        "ask": lambda _: {"kind": "ask"},
        "ask why": lambda _: {"kind": "ask", "reason": "why not"},
    },
    "guard": {"deny": lambda _: "guarded", "deny silently": lambda _: ""},
    "around": {
        "success": lambda _: {
            "isError": False,
            "value": "own",
            "content": text("other"),
            "meta": {"own": True},
            "concludesTurn": True,
        },
        "success with context": lambda call: {
            "isError": False,
            "value": "own",
            "content": text("other"),
            "additionalContexts": [context(call, "around")],
        },
        "bad success": lambda call: {
            "isError": False,
            "value": 5,
            "content": text("other"),
            "additionalContexts": [context(call, "around")],
        },
        "failure": lambda call: {**_OWN_FAILURE, "additionalContexts": [context(call, "around")]},
    },
    "body": {"value": lambda _: "ok", "invalid": lambda _: 5},
    "review": {
        "accept": lambda _: {"kind": "accept"},
        "content": lambda _: {"kind": "accept", "content": text("changed")},
        "context": lambda call: {"kind": "accept", "additionalContexts": [context(call, "review")]},
        "value": lambda _: {"kind": "accept", "value": "changed"},
        "invalid": lambda _: {"kind": "accept", "value": 5},
        "both": lambda _: {"kind": "accept", "value": "changed", "content": text("changed")},
        "block": lambda call: {
            "kind": "block",
            "feedback": [*_FEEDBACK],
            "additionalContexts": [context(call, "review")],
        },
        "block silently": lambda _: {"kind": "block", "feedback": []},
    },
    "final": {"text": lambda _: text("final"), "lossy": lambda _: {"$value": "awaitable"}},
    APPROVAL: {outcome: (lambda _, said=outcome: said) for outcome in OUTCOMES},  # type: ignore[misc]
}
"""What the functions of each stage answer, by the act that says so."""

_FEEDBACK: Final[Sequence[JsonMap]] = (
    {"type": "text", "text": "not good"},
    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
)
FEEDBACK: Final[Mapping[str, tuple[Json, str]]] = {
    "block": ([*_FEEDBACK], "not good\n[image content]"),
    "block silently": ([], "tool result blocked by post-execute policy"),
}
"""The feedback of a block, and what the message of the failure is then."""

_ABORT: Final[Mapping[str, Callable[[str], JsonMap]]] = {
    "abort": abort,
    "abort own": lambda call: abort(own(call)),
}
_ALIAS: Final[Mapping[str, str]] = {
    "scoped policy": "policy",
    "second guard": "guard",
    "added guard": "guard",
    "scoped guard": "guard",
    "also told": "told",
}


def _command(written: JsonMap) -> JsonMap:
    """A command as an action of a script."""
    op, args = read_command(written)
    return {"op": op, "args": args}


_EFFECTS: Final[Mapping[str, Mapping[str, Callable[[str], JsonMap]]]] = {
    "policy": {
        "next": lambda _: {"do": "next"},
        "call": lambda call: _nested(f"{call} asked", NOBODY, {}),
        "listen": lambda call: _command(_listen("policy", call, ("deny",), "late policy")),
        "unregister": lambda call: _command(unregister(call)),
    },
    "guard": {
        "add": lambda call: _command(_guard("added guard", call, ("deny",))),
        "lift": lambda call: _command(unregister(f"second guard {call}")),
    },
    "around": {
        "next": lambda _: {"do": "next"},
        "replace": lambda call: {"do": "set", "path": "signal", "value": {"$signal": own(call)}},
        "restore": lambda call: {"do": "set", "path": "signal", "value": {"$signal": call}},
        "unregister": lambda call: _command(unregister(call)),
    },
    "body": {
        "defer": lambda call: {"do": "context", "message": context(call, "body")},
        "conclude": lambda _: {"do": "conclude"},
        "call": lambda call: _nested(f"{call} inside", INNER, {"parent": {"$arg": "token"}}),
        "unregister": lambda call: _command(unregister(call)),
    },
    "review": {"unregister": lambda call: _command(unregister(call))},
}
"""What a function does besides, by the act that says so."""


def _nested(call: str, tool: str, more: JsonMap) -> JsonMap:
    return {
        "op": "tool.execute",
        "await": True,
        "args": {"call": {"callId": call, "name": tool, "arguments": {}, **more}},
    }


def _action(stage: str, act: str, call: str) -> JsonMap:
    base = _ALIAS.get(stage, stage)
    if act == "gate":
        return {"do": "gate"}
    if act in ERRORS:
        return {"do": "throw", "error": {"$error": ERRORS[act]}}
    if act in VALUES.get(base, {}):
        return {"do": "return", "value": VALUES[base][act](call)}
    effects = {**_ABORT, **_EFFECTS.get(base, {})}
    if act in effects:
        return _command(effects[act](call)) if act in _ABORT else effects[act](call)
    known = ", ".join(("gate", *ERRORS, *VALUES.get(base, {}), *effects))
    raise CommandError(f"{stage!r} of the pipeline contract does not {act!r}: {known}")


def part_of(stage: str, call: str, acts: Acts) -> str:
    """The name of a function, which says what it does.

    Args:
        stage: The stage that it is.
        call: The name of the call, or `any`.
        acts: What it does.
    """
    return f"{stage} {call}: {', '.join(acts)}"


def _function(stage: str, call: str, acts: Acts) -> JsonMap:
    """The function of a call at a stage."""
    scripts: list[Json] = [[_action(stage, act, call) for act in one] for one in attempts(acts)]
    said: JsonMap = {"do": scripts[0]} if len(scripts) == 1 else {"calls": scripts}
    return {"$fn": part_of(stage, call, acts), **said}


def attempts(acts: Acts) -> list[Acts]:
    """The acts of each call of a function."""
    whole: list[list[str]] = [[]]
    for act in acts:
        if act == "|":
            whole.append([])
        else:
            whole[-1].append(act)
    return [tuple(one) for one in whole]


def _mine(stage: str, call: str, acts: Acts) -> JsonMap:
    return {**_function(stage, call, acts), "when": {"callId": call}}


def _listen(stage: str, call: str, acts: Acts, name: str | None = None) -> JsonMap:
    args: JsonMap = {"as": f"{name or stage} {call}", "event": KINDS[stage], "fn": _mine(stage, call, acts)}
    if name is not None:
        args = {**args, "fn": {**_mine(stage, call, acts), "$fn": part_of(name, call, acts)}}
    return {"do": "listen", "args": {**args, **_place(stage)}}


def _guard(stage: str, call: str, acts: Acts) -> JsonMap:
    args: JsonMap = {"as": f"{stage} {call}", "fn": _mine(stage, call, acts)}
    return {"do": "tool.guard", "args": {**args, **_place(stage)}}


def _place(stage: str) -> JsonMap:
    return {"in": {"agent": AGENT}} if stage.startswith("scoped") else {}


def _definition(call: str, body: Acts, final: Acts | None) -> JsonMap:
    """The tool of a call: it answers texts, which are shown as they are."""
    value: JsonMap = {"$arg": "value"}
    shown: Json = [{"do": "return", "value": [{"type": "text", "text": value}]}]
    projected: Json = [{"do": "return", "value": {"of": value}}]
    whole: JsonMap = {
        "name": call,
        "description": call,
        "parameters": {"type": "object"},
        "output": {
            "schema": {"type": "string"},
            "render": {"$fn": f"render {call}", "do": shown},
            "presentationMeta": {"$fn": f"project {call}", "do": projected},
        },
        "execute": _function("body", call, body),
    }
    return whole if final is None else {**whole, "finalizeContent": _function("final", call, final)}


def register(call: str, body: Acts, final: Acts | None = None) -> JsonMap:
    """The tool of a call is registered.

    Args:
        call: The name of the call, which is the tool's too.
        body: What its body does.
        final: What its finalizer does; none where it has none.
    """
    return {"do": "tool.register", "args": {"as": call, "definition": _definition(call, body, final)}}


def unregister(name: str) -> JsonMap:
    """A tool, a guard or the approval service is taken away.

    Args:
        name: The name of its registration.
    """
    return {"do": "undo", "args": {"of": name}}


def hide(call: str) -> JsonMap:
    """The agent does not see the tool of a call any more."""
    return {"do": "tool.restrict", "args": {"as": f"hide {call}", "deny": [call], "in": {"agent": AGENT}}}


def provide(*acts: str) -> JsonMap:
    """Somebody is there to be asked.

    Args:
        *acts: What it does when it is asked.

    Returns:
        The command.
    """
    return {"do": "approval.provide", "args": {"as": APPROVAL, "fn": _function(APPROVAL, "any", acts)}}


def answer(stage: str, call: str, act: str) -> JsonMap:
    """A waiting function ends.

    Args:
        stage: The stage whose function waits.
        call: The name of the call.
        act: How it ends.
    """
    gate: JsonMap = {"gate": {"kind": KINDS[stage], "call": call}}
    if act == "next":
        return {"do": "gate.next", "args": gate}
    if act in ERRORS:
        return {"do": "gate.reject", "args": {**gate, "error": {"$error": ERRORS[act]}}}
    return {
        "do": "gate.resolve",
        "args": {**gate, "value": {"$next": 0} if act == "kept" else VALUES[stage][act](call)},
    }


ANSWERS: Final[Mapping[str, Sequence[str]]] = {
    **{stage: (*VALUES[stage], "plain", "coded") for stage in ("policy", "body", "review", APPROVAL)},
    "around": ("next", "kept", *VALUES["around"], "plain", "coded"),
}
"""How the functions end that wait for the suite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What each stage of a call will do.

    Args:
        call: Its id, which is the name of its tool as well.
        stages: The acts of each function; a stage without one has none, and without `body` there is no such tool.
        arguments: What the model passes.
        scoped: Whether it is a call of the agent.
        aborted: Whether its signal has fired before.
    """

    call: str
    stages: Mapping[str, Acts]
    arguments: Json
    scoped: bool = False
    aborted: bool = False


NO_ARGUMENTS: Final[JsonMap] = {}
"""Arguments that every tool takes."""
LOSSY: Final[JsonMap] = {"x": {"$value": "NaN"}}
"""Arguments that JSON does not have."""
ARGUMENTS: Final[Sequence[Json]] = (NO_ARGUMENTS, {"x": 1}, None, [1], LOSSY)
"""What calls are made with: objects, and what is none."""


def open_call(plan: Plan) -> JsonMap:
    """A call is made, behind what its plan needs."""
    call, stages = plan.call, plan.stages
    items: list[JsonMap] = [{"do": "signal.new", "args": {"signal": name}} for name in (call, own(call))]
    if "body" in stages:
        items.append(register(call, stages["body"], stages.get("final")))
    for stage, kind in KINDS.items():
        if stage in stages and stage not in {"body", "final"}:
            items.append(
                _guard(stage, call, stages[stage]) if kind == "tool/guard" else _listen(stage, call, stages[stage])
            )
    if plan.aborted:
        items.append(abort(call))
    request: JsonMap = {"callId": call, "name": call, "arguments": plan.arguments, "signal": {"$signal": call}}
    scope: JsonMap = {"scope": {"agent": AGENT}} if plan.scoped else {}
    items.append({"do": "tool.execute", "args": {"task": call, "call": request, **scope}})
    return burst(*items)


def planned(
    call: str, arguments: Json = NO_ARGUMENTS, *, scoped: bool = False, aborted: bool = False, **stages: str | None
) -> JsonMap:
    """A call is made whose plan is written in words: `planned("c1", policy="deny", body="defer, plain")`.

    Without a word on the body it answers a value; with none there is no such tool.

    Args:
        call: The name of the call.
        arguments: What the model passes.
        scoped: Whether the call names its scope.
        aborted: Whether its signal has fired before it is made.
        **stages: By stage, with underscores for spaces, what its function does.
    """
    written = {"body": "value", **stages}
    acts = {stage.replace("_", " "): acts_of(said) for stage, said in written.items() if said is not None}
    return open_call(Plan(call=call, stages=acts, arguments=arguments, scoped=scoped, aborted=aborted))


def acts_of(said: str) -> Acts:
    """Acts as they are written: `replace, next`, with a bar between those of several calls.

    Args:
        said: As a plan is written in words.

    Returns:
        The acts; none of a text without any.
    """
    return tuple(said.replace(" | ", ", |, ").split(", ")) if said else ()
