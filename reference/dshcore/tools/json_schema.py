"""The enforced subset of JSON Schema: which schemas belong to it, and whether a value fits one.

A schema has no constraint at all, one `type`, or `oneOf`. Every violation is told, with the path to it.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final, TypeGuard, cast

from dshcore.json import Json, encode, freeze, same
from dshcore.tools.errors import JsonSchemaError
from dshcore.tools.walking import Circular, inside, walk

ANNOTATIONS: Final = ("description", "title", "default", "examples")
"""The keywords that say something about a schema and constrain nothing."""

SCALARS: Final = frozenset({"string", "number", "integer", "boolean", "null"})
"""The types whose values have no parts."""

_TYPES: Final = ("object", "array", "string", "number", "integer", "boolean", "null")
_FITTING: Final[Mapping[str, frozenset[str]]] = {
    "properties": frozenset({"object"}),
    "required": frozenset({"object"}),
    "additionalProperties": frozenset({"object"}),
    "items": frozenset({"array"}),
    "enum": SCALARS,
    "const": SCALARS,
}
"""The constraints beside `type` and `oneOf`, with the types that they fit, in the order in which they are told."""

_SUPPORTED: Final = frozenset({"type", "oneOf", *_FITTING})
_NAMES: Final = "type/oneOf/properties/required/additionalProperties/items/enum/const + annotations"


def is_record(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether a value is an object whose keys are texts."""
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in cast("Mapping[object, object]", value))


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Tell whether a value is an array."""
    return isinstance(value, list | tuple)


# --- schemas ---------------------------------------------------------------------------------------------------------


def assert_supported(schema: object) -> None:
    """Refuse a schema that is not in the subset.

    Raises:
        JsonSchemaError: With every violation.

    Spec:
        SCHEMA-RAW-01, SCHEMA-RAW-02
    """
    if found := _violations_of_schema(schema):
        raise JsonSchemaError(found)


def assert_object(schema: object) -> None:
    """Refuse a schema that is not in the subset, or whose values are no objects.

    Raises:
        JsonSchemaError: With every violation.

    Spec:
        SCHEMA-RAW-07
    """
    found = _violations_of_schema(schema)
    if not found and not (is_record(schema) and schema.get("type") == "object"):
        found = ['schema.type must be "object" (structured output is object-rooted)']
    if found:
        raise JsonSchemaError(found)


def _violations_of_schema(schema: object) -> list[str]:
    found: list[str] = []
    walk(_check_node(schema, "schema", found, set()))
    return found


def _check_node(schema: object, path: str, found: list[str], around: set[int]) -> Generator[Any, Any, None]:
    """Tell what is wrong with a node: its keywords, its annotations, its kind (SCHEMA-RAW-02, SCHEMA-RAW-06)."""
    if not is_record(schema):
        found.append(f"{path} must be a schema object")
        return
    try:
        with inside(schema, around):
            _check_keywords(schema, path, found)
            yield from _check_kind(schema, path, found, around)
    except Circular:
        found.append(f"{path} is circular")


def _check_keywords(schema: Mapping[str, Any], path: str, found: list[str]) -> None:
    for key in schema:
        if key in ANNOTATIONS:
            if not _is_json(schema[key]):
                found.append(f"{path}.{key} annotation must be lossless JSON data")
        elif key not in _SUPPORTED:
            found.append(f"{path}.{key} is not a supported keyword (subset: {_NAMES})")
    found.extend(
        f"{path}.{key} must be a string"
        for key in ("description", "title")
        if key in schema and not isinstance(schema[key], str)
    )


def _check_kind(schema: Mapping[str, Any], path: str, found: list[str], around: set[int]) -> Generator[Any, Any, None]:
    """Tell what is wrong with a node's type or union (SCHEMA-RAW-03, SCHEMA-RAW-04)."""
    if "type" in schema and "oneOf" in schema:
        found.append(f"{path} cannot declare both type and oneOf")
    elif "oneOf" in schema:
        branches = schema["oneOf"]
        if is_list(branches) and len(branches) > 1:
            for index, branch in enumerate(branches):
                yield _check_node(branch, f"{path}.oneOf[{index}]", found, around)
        else:
            found.append(f"{path}.oneOf must be an array of at least two schemas")
        found.extend(f"{path}.{key} is not supported beside oneOf" for key in _FITTING if key in schema)
    elif "type" not in schema:
        found.extend(f"{path}.{key} requires type or oneOf" for key in _FITTING if key in schema)
    elif is_list(schema["type"]):
        found.append(f"{path}.type must be a single type string (type arrays are not supported)")
    elif schema["type"] not in _TYPES:
        found.append(f"{path}.type must be one of {'/'.join(_TYPES)}")
    else:
        kind: str = schema["type"]
        found.extend(
            f'{path}.{key} is not supported on type "{kind}"'
            for key, types in _FITTING.items()
            if key in schema and kind not in types
        )
        if kind == "object":
            yield from _check_object(schema, path, found, around)
        elif kind in SCALARS:
            _check_scalar(schema, kind, path, found)
        elif "items" in schema:
            yield _check_node(schema["items"], f"{path}.items", found, around)


def _check_object(
    schema: Mapping[str, Any], path: str, found: list[str], around: set[int]
) -> Generator[Any, Any, None]:
    """Tell what is wrong with properties, then with the required names, then with openness (SCHEMA-RAW-05)."""
    properties = schema.get("properties", {})
    if is_record(properties):
        for name, child in properties.items():
            yield _check_node(child, f"{path}.properties.{name}", found, around)
    else:
        found.append(f"{path}.properties must be an object of schemas")
        properties = {}
    required = schema.get("required", ())
    if not is_list(required) or not all(isinstance(name, str) for name in required):
        found.append(f"{path}.required must be an array of strings")
    else:
        found.extend(
            f'{path}.required names "{name}" which is not in properties' for name in required if name not in properties
        )
    if not isinstance(schema.get("additionalProperties", True), bool):
        found.append(f"{path}.additionalProperties must be a boolean")


def _check_scalar(schema: Mapping[str, Any], kind: str, path: str, found: list[str]) -> None:
    """Tell what is wrong with the values that a scalar is confined to (SCHEMA-NODE-02, SCHEMA-RAW-06)."""
    allowed = schema.get("enum")
    fits = is_list(allowed) and bool(allowed) and all(_is_of(kind, entry) for entry in allowed)
    if "enum" in schema and not fits:
        found.append(f"{path}.enum must be a non-empty array of {kind} values")
    if "const" not in schema:
        return
    if not _is_of(kind, schema["const"]):
        found.append(f"{path}.const must be a {kind} value")
    elif is_list(allowed) and fits and not _is_among(schema["const"], allowed):
        found.append(f"{path}.const must be one of {path}.enum when both are declared")


# --- values ----------------------------------------------------------------------------------------------------------


def violations_of(schema: Mapping[str, Any], value: object, root: str = "value") -> list[str]:
    """Tell how a value does not fit a schema. Never fails over a value.

    Args:
        schema: A schema of the subset.
        value: Anything.
        root: What the value is called; empty for arguments, whose members stand alone.

    Returns:
        Every violation, in the order of the walk; none where the value fits.

    Raises:
        JsonSchemaError: The schema has a type that there is not.

    Spec:
        SCHEMA-VALUE-01, SCHEMA-VALUE-05, SCHEMA-VALUE-09
    """
    return walk(_check_value(schema, value, root, _is_json(value)))


def _check_value(schema: Mapping[str, Any], value: object, path: str, lossless: bool) -> Generator[Any, Any, list[str]]:
    """Tell how a value does not fit a node; `lossless` says that nothing in it need be checked for that."""
    try:
        if "oneOf" in schema:  # SCHEMA-VALUE-07
            matched = 0
            for branch in schema["oneOf"]:
                found = yield _check_value(branch, value, path, lossless)
                matched += not found
            return [] if matched == 1 else [f"{_shown(path)} must match exactly one oneOf branch (matched {matched})"]
        match schema.get("type"):
            case None:
                return [] if lossless or _is_json(value) else [f"{_shown(path)} must be a lossless JSON value"]
            case "object":
                return (yield from _check_members(schema, value, path, lossless))
            case "array":
                return (yield from _check_items(schema, value, path, lossless))
            case kind:
                return _scalar_violations(schema, str(kind), value, path)
    except JsonSchemaError:
        raise
    except Exception:  # noqa: BLE001 - SCHEMA-VALUE-09: whatever the value's own code raises
        return [f"{_shown(path)} must be a lossless JSON value"]


def _check_members(
    schema: Mapping[str, Any], value: object, path: str, lossless: bool
) -> Generator[Any, Any, list[str]]:
    """Tell of missing names, then of declared members, then of undeclared ones of a closed object.

    Spec:
        SCHEMA-VALUE-04, SCHEMA-VALUE-05, SCHEMA-VALUE-06
    """
    if not is_record(value):
        return [f"{_shown(path)} must be an object"]
    properties: Mapping[str, Any] = schema.get("properties", {})
    found = [
        f'missing required property "{_member(path, name)}"' for name in schema.get("required", ()) if name not in value
    ]
    for name, child in properties.items():
        if name in value:
            found += yield _check_value(child, value[name], _member(path, name), lossless)
    if schema.get("additionalProperties") is False:
        found += [
            f'"{_member(path, name)}" is not a declared property (additionalProperties: false)'
            for name in value
            if name not in properties
        ]
    if not found and not lossless and not _is_json(value):  # SCHEMA-VALUE-08: the innermost container tells it
        return [f"{_shown(path)} must be a lossless JSON object"]
    return found


def _check_items(schema: Mapping[str, Any], value: object, path: str, lossless: bool) -> Generator[Any, Any, list[str]]:
    if not is_list(value):
        return [f"{_shown(path)} must be an array"]
    found: list[str] = []
    if "items" in schema:
        for index, item in enumerate(value):
            found += yield _check_value(schema["items"], item, f"{path}[{index}]", lossless)
    if not found and not lossless and not _is_json(value):
        return [f"{_shown(path)} must be a dense lossless JSON array"]
    return found


def _scalar_violations(schema: Mapping[str, Any], kind: str, value: object, path: str) -> list[str]:
    """Answer the first of: the type, the list of values, the value (SCHEMA-VALUE-02, SCHEMA-VALUE-03)."""
    if not _is_of(kind, value):
        if kind == "number" and _is_number(value):
            return [f"{_shown(path)} must be a finite JSON number"]
        return [f"{_shown(path)} must be {_ARTICLES[kind]}"]
    if "enum" in schema and not _is_among(value, schema["enum"]):
        return [f"{_shown(path)} must be one of {_text(schema['enum'])}"]
    if "const" in schema and not _is_among(value, (schema["const"],)):
        return [f"{_shown(path)} must be {_text(schema['const'])}"]
    return []


_ARTICLES: Final[Mapping[str, str]] = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "a boolean",
    "null": "null",
}


def _is_of(kind: str, value: object) -> bool:
    """Tell whether a value has a scalar type; a number is one that JSON carries without loss."""
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "number":
            return _is_number(value) and _is_json(value)
        case "integer":
            return isinstance(value, int | float) and _is_of("number", value) and value == int(value)
        case _:
            raise JsonSchemaError((f"the type {kind} is none of {'/'.join(_TYPES)}",))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_among(value: object, allowed: Sequence[Json]) -> bool:
    frozen = freeze(value)
    return any(same(frozen, freeze(entry)) for entry in allowed)


def _is_json(value: object) -> bool:
    try:
        freeze(value)
    except Exception:  # noqa: BLE001 - NotJson, or what the value's own code raises
        return False
    return True


def _text(value: Json) -> str:
    return encode(value).decode()


def _shown(path: str) -> str:
    return f'"{path or "arguments"}"'


def _member(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
