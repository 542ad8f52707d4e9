"""The enforced subset: which schemas belong to it, and which values fit them."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from dshcore.tools import JsonSchemaError, assert_object, assert_supported, violations_of

KEYWORD = (
    "is not a supported keyword "
    "(subset: type/oneOf/properties/required/additionalProperties/items/enum/const + annotations)"
)


def found(schema: object) -> list[str]:
    try:
        assert_supported(schema)
    except JsonSchemaError as error:
        return list(error.violations)
    return []


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"description": "x"},
        {"type": "object"},
        {"type": "null"},
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
        {"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False},
        {"type": "integer", "enum": [1, 2], "const": 2},
    ],
)
def test_what_belongs(schema: object) -> None:
    """SCHEMA-RAW-01."""
    assert found(schema) == []


@pytest.mark.parametrize(
    ("schema", "violations"),
    [
        ({"type": "string", "minLength": 2, "$ref": "#"}, [f"schema.minLength {KEYWORD}", f"schema.$ref {KEYWORD}"]),
        (
            {"type": "tuple", "description": 5, "foo": 1},
            [
                f"schema.foo {KEYWORD}",
                "schema.description must be a string",
                "schema.type must be one of object/array/string/number/integer/boolean/null",
            ],
        ),
        (
            {"type": "array", "enum": [1], "const": 1},
            ['schema.enum is not supported on type "array"', 'schema.const is not supported on type "array"'],
        ),
        ({"enum": ["a"]}, ["schema.enum requires type or oneOf"]),
        (
            {"oneOf": [{}, {"type": 1}], "enum": [1]},
            [
                "schema.oneOf[1].type must be one of object/array/string/number/integer/boolean/null",
                "schema.enum is not supported beside oneOf",
            ],
        ),
        ({"oneOf": {}}, ["schema.oneOf must be an array of at least two schemas"]),
        ({"type": ["string", "null"]}, ["schema.type must be a single type string (type arrays are not supported)"]),
        ({"type": "string", "oneOf": [{}, {}], "enum": 5}, ["schema cannot declare both type and oneOf"]),
        (
            {"type": "object", "properties": {"a": {"type": "q"}}, "required": ["b"], "additionalProperties": 1},
            [
                "schema.properties.a.type must be one of object/array/string/number/integer/boolean/null",
                'schema.required names "b" which is not in properties',
                "schema.additionalProperties must be a boolean",
            ],
        ),
        (
            {"type": "object", "properties": 5, "required": "a"},
            ["schema.properties must be an object of schemas", "schema.required must be an array of strings"],
        ),
        ({"type": "array", "items": True}, ["schema.items must be a schema object"]),
        (
            {"title": None, "examples": {1}},
            ["schema.examples annotation must be lossless JSON data", "schema.title must be a string"],
        ),
        (5, ["schema must be a schema object"]),
    ],
)
def test_what_does_not_belong(schema: object, violations: list[str]) -> None:
    """Every violation is told, parents before children (SCHEMA-RAW-02 to SCHEMA-RAW-06)."""
    assert found(schema) == violations


def test_what_contains_itself() -> None:
    """SCHEMA-RAW-06."""
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema
    assert found(schema) == ["schema.items is circular"]


@pytest.mark.parametrize("schema", [{}, {"type": "string"}, {"oneOf": [{"type": "object"}, {"type": "object"}]}])
def test_an_object_root(schema: object) -> None:
    """Reported when nothing else is wrong (SCHEMA-RAW-07)."""
    with pytest.raises(JsonSchemaError) as error:
        assert_object(schema)
    assert error.value.violations == ('schema.type must be "object" (structured output is object-rooted)',)
    assert_object({"type": "object"})
    with pytest.raises(JsonSchemaError, match=r"schema\.foo"):
        assert_object({"type": "object", "foo": 1})


@pytest.mark.parametrize(
    ("schema", "value", "violations"),
    [
        ({"type": "number"}, True, ['"value" must be a number']),
        ({"type": "integer"}, True, ['"value" must be an integer']),
        ({"type": "integer"}, 1.0, []),
        ({"type": "integer"}, 1.5, ['"value" must be an integer']),
        ({"type": "integer"}, float("inf"), ['"value" must be an integer']),
        ({"type": "number"}, "1", ['"value" must be a number']),
        ({"type": "number"}, -0.0, ['"value" must be a finite JSON number']),
        ({"type": "number"}, float("nan"), ['"value" must be a finite JSON number']),
        ({"type": "integer"}, -0.0, ['"value" must be an integer']),
        ({"type": "string"}, None, ['"value" must be a string']),
        ({"type": "boolean"}, 1, ['"value" must be a boolean']),
        ({"type": "null"}, 0, ['"value" must be null']),
        ({"type": "null"}, None, []),
        ({"type": "array"}, "abc", ['"value" must be an array']),
        ({"type": "object"}, [], ['"value" must be an object']),
        ({"type": "string", "enum": ["a", "é"]}, "b", ['"value" must be one of ["a","é"]']),
        ({"type": "string", "enum": ["a"], "const": "a"}, "b", ['"value" must be one of ["a"]']),
        ({"type": "number", "const": 2.5}, 1, ['"value" must be 2.5']),
        ({"type": "number", "const": 1.0}, 2, ['"value" must be 1']),
        ({"type": "number", "enum": [1]}, 1.0, []),
        (
            {"oneOf": [{"type": "number"}, {"type": "integer"}]},
            1,
            ['"value" must match exactly one oneOf branch (matched 2)'],
        ),
        (
            {"oneOf": [{"type": "number"}, {"type": "integer"}]},
            None,
            ['"value" must match exactly one oneOf branch (matched 0)'],
        ),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, 1.5, []),
        ({}, {"any": [1]}, []),
        ({}, {1}, ['"value" must be a lossless JSON value']),
        ({"type": "object"}, {"q": 1}, []),
        (
            {"type": "object", "additionalProperties": False},
            {"q": 1},
            ['"value.q" is not a declared property (additionalProperties: false)'],
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {}},
                "required": ["b"],
                "additionalProperties": False,
            },
            {"z": 1, "a": 1, "y": 2},
            [
                'missing required property "value.b"',
                '"value.a" must be a string',
                '"value.z" is not a declared property (additionalProperties: false)',
                '"value.y" is not a declared property (additionalProperties: false)',
            ],
        ),
        (
            {"type": "array", "items": {"type": "null"}},
            [None, 1, 2],
            ['"value[1]" must be null', '"value[2]" must be null'],
        ),
        ({"type": "object"}, {"x": {1}}, ['"value" must be a lossless JSON object']),
        (
            {"type": "object", "properties": {"l": {"type": "array"}}},
            {"l": [{1}]},
            ['"value.l" must be a dense lossless JSON array'],
        ),
        ({"type": "object", "properties": {"n": {"type": "null"}}}, {"n": 1, "x": {1}}, ['"value.n" must be null']),
    ],
)
def test_how_values_do_not_fit(schema: Any, value: object, violations: list[str]) -> None:
    """SCHEMA-VALUE-02 to SCHEMA-VALUE-08."""
    assert violations_of(schema, value) == violations


def test_arguments_stand_alone() -> None:
    """With an empty label; names are inserted as they are (SCHEMA-VALUE-01, SCHEMA-VALUE-04)."""
    boolean = {"type": "object", "properties": {"k": {"type": "boolean"}}}
    schema = {"type": "object", "properties": {"c": {"type": "array", "items": boolean}, 'q"': {"type": "null"}}}
    assert violations_of(schema, {"c": [{}, {"k": 1}], 'q"': 1}, "") == [
        '"c[1].k" must be a boolean',
        '"q"" must be null',
    ]
    assert violations_of(schema, "text", "") == ['"arguments" must be an object']
    assert violations_of({"type": "array", "items": {"type": "null"}}, [None, 1], "") == ['"[1]" must be null']
    required = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert violations_of(required, {"a": None}, "") == ['"a" must be a string']
    assert violations_of(required, {}, "") == ['missing required property "a"']


def test_a_value_whose_own_code_fails() -> None:
    """Validation never raises (SCHEMA-VALUE-09)."""

    class Hostile(Mapping[str, object]):
        def __getitem__(self, key: str) -> object:
            raise ValueError(key)

        def __iter__(self) -> Iterator[str]:
            return iter(("a",))

        def __len__(self) -> int:
            return 1

    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert violations_of(schema, Hostile()) == ['"value" must be a lossless JSON value']
    assert violations_of({"type": "array", "items": schema}, [Hostile()]) == [
        '"value[0]" must be a lossless JSON value'
    ]


@pytest.mark.parametrize("schema", [{"type": "bogus"}, {"type": "array", "items": {"type": "json"}}])
def test_a_type_that_there_is_not_fits_no_value(schema: Any) -> None:
    """It is the schema that is wrong: nothing is let through by it."""
    with pytest.raises(JsonSchemaError, match="is none of object/array/string"):
        violations_of(schema, [5] if "items" in schema else 5)


def test_nesting_is_bounded_by_memory_alone() -> None:
    """SCHEMA-NODE-13."""
    schema: dict[str, Any] = {"type": "null"}
    value: object = 1
    for _ in range(6000):
        schema, value = {"type": "array", "items": schema}, [value]
    assert found(schema) == []
    assert violations_of(schema, value) == [f'"value{"[0]" * 6000}" must be null']
