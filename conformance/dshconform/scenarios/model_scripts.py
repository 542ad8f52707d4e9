"""Scripts of the model, in short.

| shorthand | stands for |
|---|---|
| `{$text: x}` | one text block, then `finish: stop` |
| `{$max: x}` | the same with `finish: max-tokens` |
| `{$calls: [c1:echo, …]}` | a block for each tool call, then `finish: tool-calls`; a call with arguments of its own is `{call: c1, tool: echo, arguments: '{"x":1}'}` |
| `{$hang: x}` | one text delta, then a wait that ends only when its signal fires, and then fails |
| `{$fail: CODE}` | a model failure at once; `{$fail: CODE, message: M}` with its text, `{$fail: CODE, after: x}` behind one text delta |
| `gate` | a wait at once |
"""  # noqa: E501 - a row of a table is one line

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap


class MacroError(ValueError):
    """A shorthand with a wrong argument."""


def text_chunks(text: str, finish: str = "stop") -> list[JsonMap]:
    """The chunks of one text block and the finish."""
    return [
        *_delta(text),
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": text}},
        _finish(finish),
    ]


def call_chunks(calls: Sequence[JsonMap]) -> list[JsonMap]:
    """The chunks of complete tool-call blocks and the finish.

    Args:
        calls: The blocks, as `call_blocks` answers them.
    """
    chunks: list[JsonMap] = []
    for index, block in enumerate(calls):
        chunks.append({"type": "block-start", "index": index, "blockType": "tool-call"})
        chunks.append({"type": "block-end", "index": index, "block": block})
    return [*chunks, _finish("tool-calls")]


def call_blocks(written: Json) -> list[JsonMap]:
    """Read the calls of `$calls`.

    Args:
        written: The member `$calls` of a shorthand.

    Raises:
        MacroError: They are no list of calls.
    """
    if not isinstance(written, list) or not written:
        raise MacroError(f"$calls needs a list of calls, `c1:echo` or {{call, tool, arguments}}, not {written!r}")
    return [_call_block(item) for item in written]


def read_scripts(written: Json) -> list[Json]:
    """Read one script per request, the last one for all later ones.

    Each item is a shorthand of this module's table, or a list of actions as the protocol has them.

    Args:
        written: The member `model` of a scenario, or `"gate"` for a model that asks the suite each time.

    Raises:
        MacroError: An item is none of these.
    """
    if written == "gate":
        return [[{"do": "gate"}]]
    if not isinstance(written, list) or not written:
        raise MacroError(f"`model` must be `gate` or a list with one script per request, not {written!r}")
    return [_script(item) for item in written]


def text_of(where: str, value: Json) -> str:
    """Read the text that a shorthand needs.

    Args:
        where: What the text stands in, for the error.
        value: What should be a text.

    Raises:
        MacroError: It is none.
    """
    if not isinstance(value, str):
        raise MacroError(f"{where} needs a text, not {value!r}")
    return value


def _script(item: Json) -> Json:
    if item == "gate":
        return [{"do": "gate"}]
    if isinstance(item, list):
        return item
    if isinstance(item, Mapping):
        for name, build in SCRIPTS.items():
            if name in item:
                return build(item)
    raise MacroError(f"{item!r} is no model script; known: gate, {', '.join(SCRIPTS)}, or a list of actions")


def _delta(text: str) -> list[JsonMap]:
    return [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": text},
    ]


def _finish(kind: str) -> JsonMap:
    return {"type": "finish", "reason": {"kind": kind}}


def _call_block(item: Json) -> JsonMap:
    if isinstance(item, str) and item.count(":") == 1:
        call, tool = item.split(":")
        return {"type": "tool-call", "id": call, "name": tool, "arguments": "{}"}
    if isinstance(item, Mapping) and item.keys() == {"call", "tool", "arguments"}:
        texts = [text_of(f"`{name}` of $calls", item[name]) for name in ("call", "tool", "arguments")]
        return dict(zip(("type", "id", "name", "arguments"), ("tool-call", *texts), strict=True))
    raise MacroError(f"{item!r} is no call: write `c1:echo`, or {{call, tool, arguments}}")


def _chunks(chunks: Sequence[JsonMap]) -> Json:
    return [{"do": "chunks", "list": list(chunks)}]


def _hang(item: JsonMap) -> Json:
    return [{"do": "chunks", "list": list(_delta(text_of("$hang", item["$hang"])))}, {"do": "gate"}]


def _fail(item: JsonMap) -> Json:
    code = text_of("$fail", item["$fail"])
    text = text_of("message", item.get("message", f"failed with {code}"))
    before: list[Json] = []
    if "after" in item:
        before.append({"do": "chunks", "list": list(_delta(text_of("after", item["after"])))})
    return [*before, {"do": "throw", "error": {"$error": {"kind": "model", "message": text, "code": code}}}]


SCRIPTS: Final[Mapping[str, Callable[[JsonMap], Json]]] = {
    "$text": lambda item: _chunks(text_chunks(text_of("$text", item["$text"]))),
    "$max": lambda item: _chunks(text_chunks(text_of("$max", item["$max"]), "max-tokens")),
    "$calls": lambda item: _chunks(call_chunks(call_blocks(item["$calls"]))),
    "$hang": _hang,
    "$fail": _fail,
}
"""Every shorthand for a script, with what writes it out."""
