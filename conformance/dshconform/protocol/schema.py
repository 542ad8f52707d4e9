"""The JSON Schema of the protocol, generated from its types.

What types can say comes from msgspec. What they cannot is added here: that a reply and some rows have exactly one
outcome, that a command's arguments depend on its operation, the two forms of an error, and that an object with a key
of the value notation is that notation. What only a session can tell (ids, gates, order) no schema says.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from dshconform.protocol.commands import OPERATIONS, Operation
from dshconform.protocol.functions import AnyScriptedAction, CommandAction, FunctionSpec, Item
from dshconform.protocol.json_value import Json
from dshconform.protocol.messages import PROTOCOL_VERSION, ErrorForm, Hello, Thrown
from dshconform.protocol.observations import WireReply
from dshconform.protocol.values import NOTATIONS, SHOWN, Special

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema, or a part of one."""

FILE_NAME: Final = f"lockstep-{PROTOCOL_VERSION}.schema.json"
"""What the published file is called."""

_JSON_TYPES: Final = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_OUTCOMES: Final[Mapping[str, tuple[str, ...]]] = {
    "Reply": ("result", "error", "fault"),
    "Returned": ("result", "error"),
    "NextSettled": ("value", "error"),
    "TaskSettled": ("value", "error"),
}


def schema() -> Schema:
    """Builds the schema of every message, JSON Schema 2020-12.

    Returns:
        A schema that accepts a command or a reply; `$defs` has both, and every part of them, by name.
    """
    defs = _shown() | _sent()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:dshconform:lockstep:{PROTOCOL_VERSION}",
        "title": f"Lockstep, version {PROTOCOL_VERSION}",
        "description": "The messages between the conformance suite and an adapter: a command, or the reply to one. "
        "Generated from dshconform.protocol; the text is docs/protocol/lockstep.md.",
        "if": {"required": ["op"]},
        "then": _ref("Command"),
        "else": _ref("Reply"),
        "$defs": {name: defs[name] for name in sorted(defs)},
    }


def schema_text() -> str:
    """The schema as its file has it: the same text for the same types."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _shown() -> dict[str, Schema]:
    """What adapters write."""
    defs = _components([WireReply, Hello, ErrorForm, Thrown], "ShownValue")
    defs["Reply"] = {**defs.pop("WireReply"), "title": "Reply"}
    for name, members in _OUTCOMES.items():
        defs[name]["oneOf"] = [{"required": [member]} for member in members]
    defs["Error"] = {
        "description": "An error in its one form, or something thrown that is no error.",
        "if": {"required": ["value"]},
        "then": _ref("Thrown"),
        "else": _ref("ErrorForm"),
    }
    defs["ShownValue"] = _value("ShownValue", SHOWN, "What the implementation handed over, in the value notation.")
    return defs


def _sent() -> dict[str, Schema]:
    """What the suite writes."""
    types = [operation.args for operation in OPERATIONS.values()]
    parts = [AnyScriptedAction, CommandAction, Item, FunctionSpec, *NOTATIONS.values()]
    defs = _components([*types, *parts], "SentValue")
    defs["Raw"]["properties"]["$raw"] = {}
    defs[Special.__name__]["description"] += " The suite does not send `stream`."
    defs["SentValue"] = _value("SentValue", list(NOTATIONS), "A value for the implementation, in the value notation.")
    scripted, _ = msgspec.json.schema_components([AnyScriptedAction], ref_template="#/$defs/{name}")
    defs["Action"] = {
        "description": "One item of a script: a command, or an action of its own.",
        "if": {"required": ["op"]},
        "then": _ref("CommandAction"),
        "else": _tidy(scripted[0], "SentValue"),
    }
    defs["Call"] = _call(OPERATIONS)
    below = [name for name, operation in OPERATIONS.items() if not operation.top_level]
    for name in ("CommandAction", "Item"):
        defs[name]["properties"]["op"] = {"enum": below}
        defs[name]["allOf"] = [_ref("Call")]
    defs["Command"] = {
        "title": "Command",
        "description": "One operation for the adapter to execute.",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "op": {"enum": list(OPERATIONS)}, "args": {"type": "object"}},
        "required": ["id", "op", "args"],
        "additionalProperties": False,
        "allOf": [_ref("Call")],
    }
    return defs


def _call(table: Mapping[str, Operation]) -> Schema:
    return {
        "description": "The arguments fit the operation.",
        "type": "object",
        "allOf": [
            {
                "if": {"properties": {"op": {"const": op}}, "required": ["op"]},
                "then": {"properties": {"args": _ref(operation.args.__name__)}, **_needs_args(operation)},
            }
            for op, operation in table.items()
        ],
    }


def _needs_args(operation: Operation) -> Schema:
    """A command in a script may leave out `args` only where no argument is required."""
    fields = msgspec.structs.fields(operation.args)
    return {"required": ["args"]} if any(field.required for field in fields) else {}


def _value(name: str, notations: Sequence[str], description: str) -> Schema:
    """Any JSON in which an object with the key of a notation is that notation."""
    plain_members: Schema = {"additionalProperties": _ref(name), "items": _ref(name)}
    schema: Schema = plain_members
    for notation in reversed(notations):
        schema = {
            "if": {"type": "object", "required": [notation]},
            "then": _ref(NOTATIONS[notation].__name__),
            "else": schema,
        }
    return {"description": description, **schema}


def _components(types: Sequence[object], any_json: str) -> dict[str, Schema]:
    _, defs = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    return {name: _tidy(part, any_json) for name, part in defs.items()}


def _tidy(part: Schema, any_json: str) -> Schema:
    """Makes msgspec's schemas plain 2020-12, with any JSON as a reference to the notation that it is read in."""
    if "$ref" in part:
        return {"$ref": part["$ref"].replace("/WireReply", "/Reply")}
    alternatives = part.get("anyOf")
    if alternatives is not None and {one.get("type") for one in alternatives} == _JSON_TYPES:
        rest = {key: value for key, value in part.items() if key != "anyOf"}
        return {**rest, **_ref(any_json)}
    if "discriminator" in part:
        return _tagged(part["discriminator"]["propertyName"], part["discriminator"]["mapping"])
    tidy = _each(part, lambda inner: _tidy(inner, any_json))
    if isinstance(tidy.get("description"), str):
        tidy["description"] = _text(tidy["description"])
    return tidy


def _each(part: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """A schema with its direct parts changed."""
    changed: Schema = {}
    for key, value in part.items():
        if key == "properties":
            changed[key] = {name: change(inner) for name, inner in value.items()}
        elif isinstance(value, dict):
            changed[key] = change(value)
        elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
            changed[key] = [change(item) for item in value]
        else:
            changed[key] = value
    return changed


def _tagged(tag: str, mapping: Mapping[str, str]) -> Schema:
    """One of several objects, told apart by a member: its value says by which of them to judge."""
    return {
        "type": "object",
        "required": [tag],
        "properties": {tag: {"enum": list(mapping)}},
        "allOf": [
            {"if": {"properties": {tag: {"const": value}}, "required": [tag]}, "then": {"$ref": ref}}
            for value, ref in mapping.items()
        ],
    }


def _text(docstring: str) -> str:
    """A docstring as running text: lines joined, paragraphs kept."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in docstring.split("\n\n"))


def _ref(name: str) -> dict[str, Json]:
    return {"$ref": f"#/$defs/{name}"}
