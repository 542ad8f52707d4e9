"""Shorthands for values in scenario files, expanded before anything is sent or compared.

| shorthand | stands for |
|---|---|
| `{$message: A}` | a user message with the id and the text `A`; `{$message: A, text: T}` with another text |
| `{$chunks: x}` | the list of the chunks of one text block and `finish: stop` |
| `{$scripts: […]}` | the list of these scripts of a model, each as in `dshconform.scenarios.model_scripts` |
| `{$tool: name, …}` | the definition of a tool, as in `dshconform.scenarios.tools` |
| `{$log: […]}`, `{$append: s, …}`, `{$assistant: A}`, `{$answer: c1}` | events and messages, as in `dshconform.scenarios.logs` |

Shorthands for whole groups of expected rows: `dshconform.scenarios.row_groups`.
"""  # noqa: E501 - a row of a table is one line

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios import logs
from dshconform.scenarios.model_scripts import MacroError, read_scripts, text_chunks, text_of
from dshconform.scenarios.tools import definition

__all__ = ["VALUES", "MacroError", "expand", "message", "shorten", "shown_text"]


def message(identity: str, text: str | None = None) -> JsonMap:
    """A user message of which the text is its id, unless given.

    Args:
        identity: Its id.
        text: Its text; the id unless given.
    """
    return {
        "id": identity,
        "role": "user",
        "content": [{"type": "text", "text": identity if text is None else text}],
        "source": {"kind": "user"},
    }


def expand(value: Json) -> Json:
    """Replace every shorthand inside a value.

    Returns:
        The value as the protocol has it.

    Raises:
        MacroError: A shorthand has a wrong argument.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        shorthand = next((name for name in value if name in VALUES), None)
        if shorthand is not None:
            return VALUES[shorthand](value)
        return {key: expand(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [expand(item) for item in value]
    return value


def _message(value: JsonMap) -> JsonMap:
    text = value.get("text")
    return message(text_of("$message", value["$message"]), None if text is None else text_of("text", text))


def _inside(value: JsonMap) -> JsonMap:
    """The value with the shorthands inside it expanded."""
    return {key: expand(item) for key, item in value.items()}


VALUES: Final[Mapping[str, Callable[[JsonMap], Json]]] = {
    "$message": _message,
    "$chunks": lambda value: list(text_chunks(text_of("$chunks", value["$chunks"]))),
    "$scripts": lambda value: expand(read_scripts(value["$scripts"])),
    "$tool": lambda value: expand(definition(value)),
    "$log": lambda value: list(logs.log(_inside(value))),
    "$append": lambda value: logs.append(_inside(value)),
    "$assistant": logs.assistant,
    "$answer": logs.answer,
}
"""Every shorthand for a value, with what writes it out."""


def shorten(value: Json) -> Json:
    """Write messages that a shorthand stands for as that shorthand; `expand` reads the result back.

    Args:
        value: A command, or a part of one.
    """
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
    """The text of a message that has one block, a text.

    Args:
        written: A message as the protocol has it.
    """
    content = written.get("content")
    block = content[0] if isinstance(content, list) and len(content) == 1 else None
    text = block.get("text") if isinstance(block, Mapping) else None
    return text if isinstance(text, str) else None
