"""The schema language: how parameters and values of tools are written, and the JSON Schema that this comes to.

A property says itself whether it is required; an object says whether it is open; `json` stands for any value.
"""

from collections.abc import Generator, Mapping
from typing import Any, Final, NoReturn

from dshcore.json import JsonObject, freeze
from dshcore.tools.errors import JsonSchemaError
from dshcore.tools.json_schema import ANNOTATIONS, SCALARS, assert_supported, is_list, is_record
from dshcore.tools.walking import Circular, inside, walk

_VOCABULARY: Final[Mapping[str, tuple[str, ...]]] = {
    "json": (),
    "object": ("properties", "additionalProperties"),
    "array": ("items",),
    **dict.fromkeys(("string", "number", "integer", "boolean", "null"), ("enum", "const")),
}
"""What a node of each type may say besides `type` and annotations (SCHEMA-NODE-08)."""


def compile_value(spec: object) -> JsonObject:
    """Return the schema that a node of the language comes to.

    Args:
        spec: The specification.

    Returns:
        The JSON Schema.

    Raises:
        JsonSchemaError: The first thing that is wrong with the node; if nothing is, all that is wrong with its values.

    Spec:
        SCHEMA-NODE-01, SCHEMA-NODE-11
    """
    return _asserted(walk(_value(spec, "schema", set(), is_property=False)))


def compile_parameters(spec: object) -> JsonObject:
    """Return the schema that a map of parameters comes to: an object with no word on openness.

    Args:
        spec: The specification.

    Returns:
        The JSON Schema of an object.

    Raises:
        JsonSchemaError: As `compile_value`.

    Spec:
        SCHEMA-NODE-10, SCHEMA-NODE-11
    """
    properties, required = walk(_properties(spec, "parameters", set()))
    return _asserted({"type": "object", "properties": properties, **({"required": required} if required else {})})


def _asserted(schema: dict[str, Any]) -> JsonObject:
    assert_supported(schema)
    compiled: JsonObject = freeze(schema)
    return compiled


def _value(spec: object, path: str, around: set[int], *, is_property: bool) -> Generator[Any, Any, dict[str, Any]]:
    """Compile one node; its checks come in the order of SCHEMA-NODE-14."""
    if not is_record(spec):
        _refuse(f"{path} must be a value schema object")
    if is_property and spec.get("required", True) is not True:
        _refuse(f"{path}.required must be true when present")  # SCHEMA-NODE-05
    common = (*ANNOTATIONS, "type", *(("required",) if is_property else ()))
    try:
        with inside(spec, around):
            if "oneOf" in spec:
                return (yield from _union(spec, path, around, common))
            kind = spec.get("type")
            if not isinstance(kind, str) or kind not in _VOCABULARY:
                _refuse(f"{path}.type must be string/number/integer/boolean/null/array/object/json, or use oneOf")
            _check_keys(spec, path, (*common, *_VOCABULARY[kind]))
            node = ({} if kind == "json" else {"type": kind}) | _annotations(spec)  # SCHEMA-NODE-06
            if kind == "object":
                return node | (yield from _object(spec, path, around))
            if "items" in spec:  # SCHEMA-NODE-03
                node["items"] = yield _value(spec["items"], f"{path}.items", around, is_property=False)
            return node | (_confinement(spec, path) if kind in SCALARS else {})
    except Circular:
        _refuse(f"{path} is circular")


def _union(
    spec: Mapping[str, Any], path: str, around: set[int], common: tuple[str, ...]
) -> Generator[Any, Any, dict[str, Any]]:
    """Compile alternatives (SCHEMA-NODE-07)."""
    _check_keys(spec, path, (*common, "oneOf"))
    if "type" in spec:
        _refuse(f"{path} cannot declare both type and oneOf")
    if not is_list(spec["oneOf"]):
        _refuse(f"{path}.oneOf must be an array of at least two value schemas")
    branches: list[Any] = []
    for index, branch in enumerate(spec["oneOf"]):
        branches.append((yield _value(branch, f"{path}.oneOf[{index}]", around, is_property=False)))
    return {"oneOf": branches} | _annotations(spec)


def _object(spec: Mapping[str, Any], path: str, around: set[int]) -> Generator[Any, Any, dict[str, Any]]:
    """Compile what an object says of its members (SCHEMA-NODE-04)."""
    if not isinstance(spec.get("additionalProperties"), bool):
        _refuse(f"{path}.additionalProperties must be explicitly true or false")
    said: dict[str, Any] = {"additionalProperties": spec["additionalProperties"]}
    if "properties" in spec:
        said["properties"], required = yield _properties(spec["properties"], f"{path}.properties", around)
        if required:
            said["required"] = required
    return said


def _properties(spec: object, path: str, around: set[int]) -> Generator[Any, Any, tuple[dict[str, Any], list[str]]]:
    """Compile a map of properties; answer it with the names of the required ones (SCHEMA-NODE-05)."""
    if not is_record(spec):
        _refuse(f"{path} must be an object of value schemas")
    properties: dict[str, Any] = {}
    try:
        with inside(spec, around):
            for name, child in spec.items():
                properties[name] = yield _value(child, f"{path}.{name}", around, is_property=True)
    except Circular:
        _refuse(f"{path} is circular")
    return properties, [name for name, child in spec.items() if child.get("required") is True]


def _confinement(spec: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Copy the values that a scalar is confined to (SCHEMA-NODE-02)."""
    if "enum" in spec and not is_list(spec["enum"]):
        _refuse(f"{path}.enum must be a non-empty array of scalar values")
    return {name: spec[name] for name in ("enum", "const") if name in spec}


def _annotations(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Copy what validates nothing, in a fixed order (SCHEMA-NODE-09, SCHEMA-NODE-12)."""
    return {name: spec[name] for name in ANNOTATIONS if name in spec}


def _check_keys(spec: Mapping[str, Any], path: str, allowed: tuple[str, ...]) -> None:
    for key in spec:
        if key not in allowed:
            _refuse(f"{path}.{key} is not supported by the value schema DSL")


def _refuse(violation: str) -> NoReturn:
    raise JsonSchemaError((violation,))
