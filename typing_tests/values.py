"""Frozen JSON has no writers, and a union is read with a default arm or to its end."""

from typing import assert_type

from dshcore.json import Json, JsonObject, decode, freeze
from dshcore.llm import BLOCKS, CallConfig, GenerateOptions
from dshcore.llm.vocabulary import Block, Text, ToolCall
from dshcore.variants import Unknown

frozen = freeze({"a": [1]})
assert_type(frozen, JsonObject)
assert_type(freeze([1]), Json)
assert_type(decode("[1]"), Json)
changed: JsonObject = freeze({**frozen, "b": 2})

frozen["b"] = 1  # error: index
del frozen["a"]  # error: attr-defined
frozen.update(b=1)  # error: attr-defined
frozen.pop("a")  # error: attr-defined


def render(block: JsonObject) -> str:
    match BLOCKS.read(block):
        case Text(text=text):
            return text
        case ToolCall(name=name, id=id_):
            return name + id_
        case Unknown(tag=tag):
            return tag
        case other:
            assert_type(other, Block)
            return ""


config = CallConfig(provider="p", max_tokens=1)
config.provider = "q"  # error: misc
CallConfig(maxTokens=1)  # error: call-arg
GenerateOptions(config, [{"role": "user"}])  # error: list-item
