"""Shorthands of scenario files, expanded before anything is sent or compared.

| shorthand | stands for |
|---|---|
| `{$message: A}` | a user message with the id and the text `A`; `{$message: A, text: T}` with another text |
| `{$text: x}` | in `model`: one text block, then `finish: stop` |
| `{$max: x}` | the same with `finish: max-tokens` |
| `{$hang: x}` | one text delta, then a wait that ends only when its signal fires, and then fails |
| `{$fail: CODE}` | a model failure at once; `{$fail: CODE, message: M}` with its text |
| `{$chunks: x}` | in commands: the list of the chunks of `{$text: x}` |
| `{$chunks: x, turn: 1, step: 1, by: …}` | as an expected row: one `log assistant/chunk` for each of them |
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap


class MacroError(ValueError):
    """A shorthand with a wrong argument."""


def message(identity: str, text: str | None = None) -> JsonMap:
    """A user message of which the text is its id, unless given."""
    return {
        "id": identity,
        "role": "user",
        "content": [{"type": "text", "text": identity if text is None else text}],
        "source": {"kind": "user"},
    }


def text_chunks(text: str, finish: str = "stop") -> list[JsonMap]:
    """The chunks of one text block and the finish."""
    return [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": text},
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": text}},
        {"type": "finish", "reason": {"kind": finish}},
    ]


def expand(value: Json) -> Json:
    """Replace every shorthand inside a value.

    Raises:
        MacroError: A shorthand has a wrong argument.
    """
    if isinstance(value, Mapping):
        if "$message" in value:
            return _message(value)
        if "$chunks" in value:
            return list(text_chunks(_text("$chunks", value["$chunks"])))
        return {key: expand(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [expand(item) for item in value]
    return value


def expand_rows(rows: Sequence[JsonMap]) -> list[JsonMap]:
    """Replace the shorthands of a list of expected rows.

    Raises:
        MacroError: A shorthand has a wrong argument.
    """
    expanded: list[JsonMap] = []
    for row in rows:
        if "$chunks" in row:
            place = {key: value for key, value in row.items() if key not in {"$chunks", "by"}}
            chunks = text_chunks(_text("$chunks", row["$chunks"]))
            by: JsonMap = {"by": row["by"]} if "by" in row else {}
            expanded += [{"log": "assistant/chunk", "data": {**place, "chunk": chunk}, **by} for chunk in chunks]
        else:
            whole = expand(row)
            assert isinstance(whole, dict)
            expanded.append(whole)
    return expanded


def model_scripts(written: Json) -> list[Json]:
    """Read the `model` of a scenario: one script per request, the last one for all later ones.

    Each item is a shorthand of this module's table, `gate`, or a list of actions as the protocol has them.

    Raises:
        MacroError: An item is none of these.
    """
    if written == "gate":
        return [[{"do": "gate"}]]
    if not isinstance(written, list) or not written:
        raise MacroError(f"`model` must be `gate` or a list with one script per request, not {written!r}")
    return [_script(item) for item in written]


def _script(item: Json) -> Json:
    if item == "gate":
        return [{"do": "gate"}]
    if isinstance(item, list):
        return [expand(action) for action in item]
    if isinstance(item, Mapping):
        for name, build in _SCRIPTS.items():
            if name in item:
                return build(item)
    raise MacroError(f"{item!r} is no model script; known: gate, {', '.join(_SCRIPTS)}, or a list of actions")


def _hang(item: JsonMap) -> Json:
    text = _text("$hang", item["$hang"])
    chunks: list[Json] = [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": text},
    ]
    return [{"do": "chunks", "list": chunks}, {"do": "gate"}]


def _fail(item: JsonMap) -> Json:
    code = _text("$fail", item["$fail"])
    text = _text("message", item.get("message", f"failed with {code}"))
    return [{"do": "throw", "error": {"$error": {"kind": "model", "message": text, "code": code}}}]


_SCRIPTS: Final[Mapping[str, Callable[[JsonMap], Json]]] = {
    "$text": lambda item: [{"do": "chunks", "list": text_chunks(_text("$text", item["$text"]))}],
    "$max": lambda item: [{"do": "chunks", "list": text_chunks(_text("$max", item["$max"]), "max-tokens")}],
    "$hang": _hang,
    "$fail": _fail,
}


def _message(value: JsonMap) -> JsonMap:
    text = value.get("text")
    return message(_text("$message", value["$message"]), None if text is None else _text("text", text))


def _text(where: str, value: Json) -> str:
    if not isinstance(value, str):
        raise MacroError(f"{where} needs a text, not {value!r}")
    return value


def shorten(value: Json) -> Json:
    """Write messages that a shorthand stands for as that shorthand; `expand` reads the result back."""
    if isinstance(value, Mapping):
        identity = value.get("id")
        if isinstance(identity, str) and "role" in value:
            text = shown_text(value)
            if text is not None and value == message(identity, text):
                return {"$message": identity} if text == identity else {"$message": identity, "text": text}
        return {key: shorten(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [shorten(item) for item in value]
    return value


def shown_text(written: JsonMap) -> str | None:
    """The text of a message that has one block, a text."""
    content = written.get("content")
    block = content[0] if isinstance(content, list) and len(content) == 1 else None
    text = block.get("text") if isinstance(block, Mapping) else None
    return text if isinstance(text, str) else None
