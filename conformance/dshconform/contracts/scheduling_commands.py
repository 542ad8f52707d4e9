"""The alphabet of the scheduling contract: the world and its tools, answers that call them, and what ends the calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dshconform.contracts import inbox_commands
from dshconform.contracts.inbox_commands import (
    STREAM_ANSWERS,
    burst,
    chunk,
    end,
    finish,
    items_of,
    kind_of,
    read_command,
)
from dshconform.contracts.model import CommandError
from dshconform.protocol.json_value import Json, JsonMap, same
from dshconform.scenarios.macros import expand, message, shown_text

Classifier: TypeAlias = Literal["safe", "none", "unsafe", "truthy", "throws"]
"""What a tool says of its calls: true, nothing (it has no classifier), false, one, or its classifier fails."""

POLICY: Final = "policy"
"""The name of the listener that is asked before a call."""
REVIEW: Final = "review"
"""The name of the listener that is asked behind one."""
GUARDED: Final = "ask"
"""The tool before whose calls `policy` is asked; its calls are parallel."""
REVIEWED: Final = "write"
"""The tool behind whose calls `review` is asked; they are exclusive, so that nothing could start meanwhile."""
FINISHES: Final = "finish"
"""The tool whose calls conclude the turn."""
TELLS: Final = frozenset({"tell", "write"})
"""The tools whose bodies defer a context, under the id of the call."""
OPENING_TOOLS: Final[Mapping[str, Classifier]] = {
    "read": "safe",
    "tell": "safe",
    "finish": "safe",
    "ask": "safe",
    "write": "none",
}
"""The tools of a fresh world."""
UNKNOWN: Final = "nobody"
"""A name that no tool ever has."""
DEFAULT_CAP: Final = 10
"""How many calls run at once where the world does not say."""

ENDS: Final = frozenset({"gate.resolve", "gate.reject"})
"""The operations that answer a function of a call."""
BODY: Final = "tool/execute"
"""The kind of the gate of a body."""
BEFORE: Final = "tools/pre-execute"
"""The kind of the gate of `POLICY`."""
BEHIND: Final = "tools/post-execute"
"""The kind of the gate of `REVIEW`."""

ERRORS: Final[Mapping[str, JsonMap]] = {
    "plain": {"message": "broken"},
    "coded": {"kind": "coded", "name": "Refused", "message": "refused", "code": "POLICY"},
}
"""What bodies and policies throw."""

_SCRIPTS: Final[Mapping[Classifier, Json]] = {
    "safe": True,
    "unsafe": False,
    "truthy": [{"do": "return", "value": 1}],
    "throws": [{"do": "throw", "error": {"$error": {"message": "do not know"}}}],
}


def world(cap: int | None = None) -> JsonMap:
    """The world opens; without a cap it has the default one."""
    return {"do": "world.open", "args": {} if cap is None else {"config": {"maxParallelToolCalls": cap}}}


def _definition(name: str, classifier: Classifier) -> JsonMap:
    """A tool whose body waits for the suite, behind what it defers or concludes."""
    context: JsonMap = {"do": "context", "message": _own_context()}
    conclude: JsonMap = {"do": "conclude"}
    script: list[Json] = [*([context] if name in TELLS else []), *([conclude] if name == FINISHES else [])]
    written: dict[str, Json] = {"$tool": name, "do": [*script, {"do": "gate"}], "abort": "manual"}
    if classifier != "none":
        written["safe"] = _SCRIPTS[classifier]
    whole = expand(written)
    assert isinstance(whole, dict)
    return whole


def _own_context() -> JsonMap:
    """A message whose id and text are the id of the call."""
    identity: JsonMap = {"$arg": "callId"}
    return {**message(""), "id": identity, "content": [{"type": "text", "text": identity}]}


def register(name: str, classifier: Classifier) -> JsonMap:
    """A tool is registered.

    Args:
        name: What the model calls it.
        classifier: What it says of its calls: whether they may overlap.
    """
    return {"do": "tool.register", "args": {"as": name, "definition": _definition(name, classifier)}}


def unregister(name: str) -> JsonMap:
    """A tool is taken away.

    Args:
        name: What the model calls it.
    """
    return {"do": "undo", "args": {"of": name}}


def swap(name: str, classifier: Classifier) -> JsonMap:
    """A tool is replaced by one of the same name.

    Args:
        name: What the model calls both.
        classifier: What the new one says of its calls.
    """
    return burst(unregister(name), register(name, classifier))


REGISTRATIONS: Final[Mapping[str, Sequence[Classifier]]] = {
    "read": ("safe", "none", "unsafe", "truthy", "throws"),
    "write": ("none", "unsafe"),
    "ask": ("safe",),
}
"""The tools that come and go, and what they may say of their calls."""

_KNOWN_REGISTRATIONS: Final[Mapping[str, Mapping[Classifier, JsonMap]]] = {
    name: {classifier: _definition(name, classifier) for classifier in classifiers}
    for name, classifiers in REGISTRATIONS.items()
}


def registration_of(args: JsonMap) -> tuple[str, Classifier]:
    """Read which tool a command registers.

    Args:
        args: The arguments of `tool.register`.

    Returns:
        Its name, and what it says of its calls.

    Raises:
        CommandError: It is none of the contract's.
    """
    name = str(args.get("as"))
    for classifier, known in _KNOWN_REGISTRATIONS.get(name, {}).items():
        if same(args.get("definition"), known):  # one is not true
            return name, classifier
    raise CommandError(f"the scheduling contract registers {', '.join(REGISTRATIONS)} as it defines them, not {name!r}")


# ---------------------------------------------------------------------- the model


@dataclass(frozen=True, slots=True)
class Asked:
    """One call that the model asks for."""

    identity: str
    """The call's id."""
    tool: str
    """The name of the tool."""
    arguments: str = "{}"
    """What the model passes, as text."""

    @property
    def block(self) -> JsonMap:
        """The call's block."""
        return {"type": "tool-call", "id": self.identity, "name": self.tool, "arguments": self.arguments}


def _asked(written: str | Asked) -> Asked:
    """Read a call: `c1:read`."""
    return written if isinstance(written, Asked) else Asked(*written.split(":"))


def called(index: int, call: str | Asked) -> JsonMap:
    """The model's next item: a call, complete. That it began need not be told before.

    Args:
        index: The place of the block in the message.
        call: What is asked for: an id and a tool, or arguments too, with colons between them.
    """
    return chunk({"type": "block-end", "index": index, "block": _asked(call).block})


def asks(*calls: str | Asked, kind: str = "tool-calls", begin: int = 0) -> JsonMap:
    """The model's whole answer: these calls.

    Args:
        *calls: `c1:read`, or with arguments of its own.
        kind: Of the finish.
        begin: The index of the first one's block: 1 behind a text.
    """
    return burst(*(called(at, call) for at, call in enumerate(calls, begin)), finish(kind), end())


# ---------------------------------------------------------------------- the ends of bodies and policies


def gate(kind: str, call: str) -> JsonMap:
    """The gate of a function that has to do with a call.

    Args:
        kind: The kind of the function.
        call: The call's id.
    """
    return {"gate": {"kind": kind, "call": call}}


def returns(call: str, value: Json = 1) -> JsonMap:
    """A body returns.

    Args:
        call: The call's id.
        value: What it returns.
    """
    return _resolve(BODY, call, value)


def throws(call: str, error: str = "plain", kind: str = BODY) -> JsonMap:
    """A body fails, or a policy.

    Args:
        call: The call's id.
        error: What it fails with: a name of `ERRORS`.
        kind: The kind of the function.
    """
    return {"do": "gate.reject", "args": {**gate(kind, call), "error": {"$error": ERRORS[error]}}}


def allow(call: str) -> JsonMap:
    """The command by which policy lets a call go on."""
    return _resolve(BEFORE, call, {"kind": "allow"})


def deny(call: str) -> JsonMap:
    """The command by which policy does not let a call go on."""
    return _resolve(BEFORE, call, {"kind": "deny", "reason": "not today"})


def accept(call: str, content: str | None = None) -> JsonMap:
    """Policy takes a result, with other content or as it is.

    Args:
        call: The call's id.
        content: The text that takes the place of the content.

    Returns:
        The command.
    """
    given: JsonMap = {} if content is None else {"content": _text(content)}
    return _resolve(BEHIND, call, {"kind": "accept", **given})


def block(call: str, context: str | None = None) -> JsonMap:
    """Policy does not take a result; it may send a context of its own.

    Args:
        call: The call's id.
        context: The id of the context.

    Returns:
        The command.
    """
    given: JsonMap = {} if context is None else {"additionalContexts": [message(context)]}
    return _resolve(BEHIND, call, {"kind": "block", "feedback": _text("not good"), **given})


def _resolve(kind: str, call: str, value: Json) -> JsonMap:
    return {"do": "gate.resolve", "args": {**gate(kind, call), "value": value}}


def _text(text: str) -> Json:
    return [{"type": "text", "text": text}]


# ---------------------------------------------------------------------- reading


def cap_of(args: JsonMap) -> int | None:
    """Read the cap of a world; none where it is the default.

    Args:
        args: The arguments of `world.open`.

    Returns:
        The cap, at least 1.

    Raises:
        CommandError: The world has another configuration, or a cap that is none.
    """
    config = args.get("config", {})
    if not isinstance(config, Mapping) or config.keys() - {"maxParallelToolCalls"}:
        raise CommandError(f"a world of the scheduling contract has `maxParallelToolCalls` at most, not {config!r}")
    cap = config.get("maxParallelToolCalls")
    if cap is None or (isinstance(cap, int) and not isinstance(cap, bool) and cap > 0):
        return cap
    raise CommandError(f"`maxParallelToolCalls` is a positive integer, not {cap!r}")


def asks_for_call(args: JsonMap) -> bool:
    """Whether the model's next item is a call.

    Args:
        args: The arguments of `stream.chunk`.
    """
    item = args.get("chunk")
    return isinstance(item, Mapping) and item.get("type") == "block-end"


def called_kind(args: JsonMap) -> tuple[str, str]:
    """Read which gate of which call a command answers; texts that name nothing where it says none.

    Args:
        args: The arguments of the answer.
    """
    named = args.get("gate")
    if not isinstance(named, Mapping):
        return "", ""
    return str(named.get("kind")), str(named.get("call"))


def error_of(args: JsonMap) -> JsonMap:
    """Read the error that a command throws.

    Args:
        args: The arguments of `gate.reject`.

    Returns:
        The error, without its notation.

    Raises:
        CommandError: There is none that the contract knows.
    """
    form = inbox_commands.thrown(args)
    if form is not None and form in ERRORS.values():
        return form
    raise CommandError(f"{args.get('error')!r} is no error of the scheduling contract: {', '.join(ERRORS)}")


def reason_of(args: JsonMap) -> str | None:
    """Read why a call is denied; nothing where it is allowed.

    Args:
        args: The arguments of `gate.resolve`.

    Returns:
        The reason.

    Raises:
        CommandError: It is neither.
    """
    value = args.get("value")
    if value == {"kind": "allow"}:
        return None
    if isinstance(value, Mapping) and value.get("kind") == "deny" and isinstance(value.get("reason"), str):
        return str(value["reason"])
    raise CommandError(f"{value!r} is no answer of policy: allow, or deny with a reason")


@dataclass(frozen=True, slots=True)
class Review:
    """What policy says of a result.

    Args:
        content: Other content, if any.
        feedback: What is said instead of it, if it is blocked.
        contexts: Contexts of the policy's own.
    """

    content: str | None = None
    feedback: str | None = None
    contexts: tuple[JsonMap, ...] = ()


def review_of(args: JsonMap) -> Review:
    """Read what policy says of a result.

    Args:
        args: The arguments of `gate.resolve`.

    Returns:
        Other content, or feedback with contexts.

    Raises:
        CommandError: It is nothing that the contract knows.
    """
    value = args.get("value")
    members = dict(value) if isinstance(value, Mapping) else {}
    kind, content, feedback = members.pop("kind", None), members.pop("content", None), members.pop("feedback", None)
    contexts = inbox_commands.messages_in(members.pop("additionalContexts", []))
    if not members and kind == "accept" and feedback is None and not contexts:
        return Review(content=None if content is None else _only_text(content))
    if not members and kind == "block" and content is None:
        return Review(feedback=_only_text(feedback), contexts=tuple(contexts))
    raise CommandError(f"{value!r} is no review: accept, also with content, or block with feedback and contexts")


def _only_text(content: Json) -> str:
    found = shown_text({"content": content})
    if found is None or not found.strip():
        raise CommandError(f"a list of one block of text is needed, not {content!r}")
    return found


def value_of(args: JsonMap) -> Json:
    """Read what a body returns.

    Args:
        args: The arguments of `gate.resolve`.

    Returns:
        The value.

    Raises:
        CommandError: It returns nothing, of which the platforms differ.
    """
    if "value" in args:
        return args["value"]
    raise CommandError("a body of the scheduling contract returns a `value`")


# ---------------------------------------------------------------------- less, and plainer


def simpler(written: JsonMap) -> list[JsonMap]:
    """Commands that say less than this one.

    Args:
        written: As a scenario writes it.
    """
    op, args = read_command(written)
    if op == "world.open":
        return [] if cap_of(args) is None else [world()]
    if op == "gate.reject":
        kind, call = called_kind(args)
        plain = throws(call, kind=kind)
        return [plain_end(kind, call), *([plain] if written != plain else [])]
    if op == "gate.resolve":
        plain = plain_end(*called_kind(args))
        return [plain] if written != plain else []
    if op in {"tool.register", "undo"}:
        return []
    calls = _asked_by(args) if op == "burst" else None
    return inbox_commands.simpler(written) if calls is None else _fewer_calls(args, calls)


def plain_end(kind: str, call: str) -> JsonMap:
    """The plainest answer of a function that has to do with a call.

    Args:
        kind: The kind of the function.
        call: The call's id.
    """
    return {BODY: returns, BEFORE: allow, BEHIND: accept}[kind](call)


def _asked_by(args: JsonMap) -> list[Asked] | None:
    """The calls of a whole answer in a burst, if there is one."""
    chunks = [read_command(item)[1].get("chunk") for item in items_of(args)]
    blocks = [item.get("block") for item in chunks if isinstance(item, Mapping) and item.get("type") == "block-end"]
    calls = [
        Asked(*(str(one[key]) for key in ("id", "name", "arguments"))) for one in blocks if isinstance(one, Mapping)
    ]
    return calls or None


def _fewer_calls(args: JsonMap, calls: Sequence[Asked]) -> list[JsonMap]:
    """Bursts of which the answer has fewer calls, or plainer ones, and those without what else is done in them."""
    items = items_of(args)
    answer = [item for item in items if item.get("op") in STREAM_ANSWERS]
    rest = [item for item in items if item.get("op") not in STREAM_ANSWERS]
    head = [item for item in answer if _chunk_type(item) == "text-delta"]
    kinds = [kind for item in answer if _chunk_type(item) == "finish" and (kind := _finish_of(item)) is not None]
    if len(answer) != len(head) + len(calls) + 2 or not kinds or items[: len(answer)] != answer:
        return inbox_commands.simpler({"do": "burst", "args": args})

    def rebuilt(of: Sequence[Asked], then: Sequence[JsonMap], kind: str = kinds[0]) -> JsonMap:
        whole = items_of(_args(asks(*of, kind=kind, begin=len(head)))) if of else [*map(_item, (finish(kind), end()))]
        return {"do": "burst", "args": {"do": [*head, *whole, *then]}}

    options = [rebuilt([*calls[:at], *calls[at + 1 :]], rest) for at in range(len(calls))]
    options += [rebuilt(calls, [*rest[:at], *rest[at + 1 :]]) for at in range(len(rest))]
    for at, call in enumerate(calls):
        if call.arguments != "{}":
            options.append(rebuilt([*calls[:at], Asked(call.identity, call.tool), *calls[at + 1 :]], rest))
    return options if kinds[0] == "tool-calls" else [*options, rebuilt(calls, rest, "tool-calls")]


def _args(command: JsonMap) -> JsonMap:
    return read_command(command)[1]


def _item(command: JsonMap) -> JsonMap:
    return {"op": command["do"], "args": command["args"]}


def _chunk_type(item: JsonMap) -> Json:
    held = read_command(item)[1].get("chunk")
    return held.get("type") if isinstance(held, Mapping) else None


def _finish_of(item: JsonMap) -> str | None:
    held = read_command(item)[1].get("chunk")
    return kind_of(held.get("reason")) if isinstance(held, Mapping) else None


def tidied(written: Sequence[JsonMap]) -> list[JsonMap]:
    """The same commands, their messages named `m1`, `m2`, … and their calls `c1`, `c2`, … in order of appearance.

    Args:
        written: The commands of one example.
    """
    calls: dict[str, str] = {}
    messages: dict[str, str] = {}

    def call(identity: str) -> str:
        return calls.setdefault(identity, f"c{len(calls) + 1}")

    def renamed(value: Json) -> Json:
        if isinstance(value, Mapping):
            identity = value.get("id")
            if value.get("type") == "tool-call":
                return {**value, "id": call(str(identity))}
            if "role" in value and isinstance(identity, str):
                text = shown_text(value)
                name = messages.setdefault(identity, f"m{len(messages) + 1}")
                return message(name, None if text in {None, identity} else text)
            return {
                key: call(item) if key == "call" and isinstance(item, str) else renamed(item)
                for key, item in value.items()
            }
        return [renamed(item) for item in value] if isinstance(value, list | tuple) else value

    return [{"do": op, "args": renamed(args)} for op, args in map(read_command, written)]
