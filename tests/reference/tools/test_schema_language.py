"""How parameters and values are written, and what that comes to."""

import json
from typing import Any

import pytest

from dshcore.tools import JsonSchemaError, compile_parameters, compile_value


def refused(compile_: Any, spec: object) -> tuple[str, ...]:
    with pytest.raises(JsonSchemaError) as error:
        compile_(spec)
    assert str(error.value) == f"unsupported JSON schema: {'; '.join(error.value.violations)}"
    assert error.value.code == "UNSUPPORTED_SCHEMA"
    return error.value.violations


@pytest.mark.parametrize(
    ("spec", "schema"),
    [
        ({"type": "string", "enum": ["a"], "const": "a"}, {"type": "string", "enum": ["a"], "const": "a"}),
        ({"type": "array"}, {"type": "array"}),
        ({"type": "array", "items": {"type": "json"}}, {"type": "array", "items": {}}),
        ({"type": "object", "additionalProperties": True}, {"type": "object", "additionalProperties": True}),
        ({"type": "json"}, {}),
        ({"type": "json", "description": "any"}, {"description": "any"}),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, {"oneOf": [{"type": "string"}, {"type": "null"}]}),
        (
            {"type": "string", "enum": ["a"], "default": "z", "examples": [1]},
            {"type": "string", "default": "z", "examples": [1], "enum": ["a"]},
        ),
        (
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {"a": {"type": "string", "required": True}, "b": {"type": "number"}},
            },
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {"a": {"type": "string"}, "b": {"type": "number"}},
                "required": ["a"],
            },
        ),
    ],
)
def test_a_value_comes_to_a_schema(spec: Any, schema: Any) -> None:
    """SCHEMA-NODE-02, -03, -04, -05, -06, -07, -09."""
    assert json.loads(json.dumps(compile_value(spec))) == schema


def test_parameters_come_to_an_open_object() -> None:
    """Without a word on openness (SCHEMA-NODE-10); markers are collected in order (SCHEMA-NODE-05)."""
    assert compile_parameters({}) == {"type": "object", "properties": {}}
    spec = {"b": {"type": "json", "required": True}, "o": {"type": "null"}, "a": {"type": "json", "required": True}}
    assert compile_parameters(spec)["required"] == ("b", "a")


def test_members_come_in_a_fixed_order() -> None:
    """Equal tools give the same text (SCHEMA-NODE-12)."""
    scalar = {
        "const": "a",
        "enum": ["a"],
        "examples": [],
        "default": "d",
        "title": "t",
        "description": "d",
        "type": "string",
    }
    assert list(compile_value(scalar)) == ["type", "description", "title", "default", "examples", "enum", "const"]
    record = {
        "properties": {"a": {"type": "json", "required": True}},
        "additionalProperties": True,
        "title": "t",
        "type": "object",
    }
    assert list(compile_value(record)) == ["type", "title", "additionalProperties", "properties", "required"]
    assert list(compile_value({"title": "t", "oneOf": [{"type": "null"}, {"type": "string"}]})) == ["oneOf", "title"]


@pytest.mark.parametrize(
    ("spec", "violation"),
    [
        ({}, "schema.type must be string/number/integer/boolean/null/array/object/json, or use oneOf"),
        (
            {"type": ["string"]},
            "schema.type must be string/number/integer/boolean/null/array/object/json, or use oneOf",
        ),
        ({"type": "weird", "pattern": "x"}, "schema.type must be string/"),
        (42, "schema must be a value schema object"),
        ({"type": "string", "pattern": "x"}, "schema.pattern is not supported by the value schema DSL"),
        ({"type": "array", "enum": [1]}, "schema.enum is not supported by the value schema DSL"),
        ({"type": "json", "enum": [1]}, "schema.enum is not supported by the value schema DSL"),
        ({"type": "string", "required": True}, "schema.required is not supported by the value schema DSL"),
        ({"type": "array", "items": {"type": "null", "required": True}}, "schema.items.required is not supported"),
        ({"type": "object"}, "schema.additionalProperties must be explicitly true or false"),
        ({"type": "object", "zz": 1}, "schema.zz is not supported by the value schema DSL"),
        ({"type": "object", "additionalProperties": 1}, "schema.additionalProperties must be explicitly true or false"),
        (
            {"type": "object", "additionalProperties": True, "properties": 5},
            "schema.properties must be an object of value schemas",
        ),
        ({"type": "string", "enum": 5}, "schema.enum must be a non-empty array of scalar values"),
        ({"type": "string", "oneOf": []}, "schema cannot declare both type and oneOf"),
        ({"oneOf": 5}, "schema.oneOf must be an array of at least two value schemas"),
        ({"oneOf": 5, "zz": 1}, "schema.zz is not supported by the value schema DSL"),
        ({"oneOf": [{"type": "null"}]}, "schema.oneOf must be an array of at least two schemas"),
        ({"oneOf": [{"type": "null"}, {"type": "q"}]}, "schema.oneOf[1].type must be"),
    ],
)
def test_the_first_thing_that_is_wrong_is_told(spec: object, violation: str) -> None:
    """In the order of the checks of a node (SCHEMA-NODE-01, -02, -04, -07, -08, -14)."""
    (found,) = refused(compile_value, spec)
    assert found.startswith(violation)


@pytest.mark.parametrize(
    ("spec", "violations"),
    [
        (5, ["parameters must be an object of value schemas"]),
        ({"a": 5}, ["parameters.a must be a value schema object"]),
        ({"a": {"type": "bad"}, "b": {"type": "bad"}}, ["parameters.a.type must be"]),
        ({"a": {"type": "null", "required": False}}, ["parameters.a.required must be true when present"]),
        ({"a": {"type": "q", "required": 1}}, ["parameters.a.required must be true when present"]),
        (
            {"v": {"type": "string", "enum": [1]}, "w": {"type": "number", "const": "x"}},
            [
                "schema.properties.v.enum must be a non-empty array of string values",
                "schema.properties.w.const must be a number value",
            ],
        ),
        (
            {"a": {"type": "string", "description": 5, "enum": [1]}},
            [
                "schema.properties.a.description must be a string",
                "schema.properties.a.enum must be a non-empty array of string values",
            ],
        ),
        (
            {
                "a": {
                    "type": "object",
                    "additionalProperties": True,
                    "properties": {"b": {"type": "array", "items": {"type": 1}}},
                }
            },
            ["parameters.a.properties.b.items.type must be"],
        ),
    ],
)
def test_two_steps(spec: object, violations: list[str]) -> None:
    """The first fails at its first violation, the second tells them all (SCHEMA-NODE-11)."""
    found = refused(compile_parameters, spec)
    assert len(found) == len(violations)
    assert all(text.startswith(wanted) for text, wanted in zip(found, violations, strict=True))


@pytest.mark.parametrize(
    ("spec", "violation"),
    [
        ({"type": "number", "enum": ["1"]}, "schema.enum must be a non-empty array of number values"),
        ({"type": "string", "enum": []}, "schema.enum must be a non-empty array of string values"),
        ({"type": "integer", "const": 1.5}, "schema.const must be a integer value"),
        ({"type": "integer", "const": True}, "schema.const must be a integer value"),
        (
            {"type": "string", "enum": ["a"], "const": "b"},
            "schema.const must be one of schema.enum when both are declared",
        ),
        ({"type": "null", "default": float("nan")}, "schema.default annotation must be lossless JSON data"),
    ],
)
def test_values_within_nodes_are_checked(spec: object, violation: str) -> None:
    """SCHEMA-NODE-02, SCHEMA-NODE-09."""
    assert refused(compile_value, spec) == (violation,)


def test_what_contains_itself_is_refused() -> None:
    """One node in several places is fine (SCHEMA-RAW-06)."""
    shared = {"type": "string"}
    assert compile_value({"oneOf": [{"type": "array", "items": shared}, shared]})
    circular: dict[str, Any] = {"type": "array"}
    circular["items"] = circular
    assert refused(compile_value, circular) == ("schema.items is circular",)
    properties: dict[str, Any] = {}
    properties["a"] = {"type": "object", "additionalProperties": True, "properties": properties}
    assert refused(compile_parameters, properties) == ("parameters.a.properties is circular",)


def test_nesting_is_bounded_by_memory_alone() -> None:
    """SCHEMA-NODE-13."""
    spec: dict[str, Any] = {"type": "null"}
    for _ in range(6000):
        spec = {"type": "array", "items": spec}
    assert compile_value(spec)["type"] == "array"


def test_a_schema_is_detached_from_what_was_written() -> None:
    """Later changes do not show."""
    spec: dict[str, Any] = {"type": "string", "enum": ["a"]}
    schema = compile_value(spec)
    spec["enum"].append("b")
    assert schema == {"type": "string", "enum": ("a",)}
