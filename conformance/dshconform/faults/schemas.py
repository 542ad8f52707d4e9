"""Faults of the schema language: how it is compiled, which raw schemas it allows, and how values are validated."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore.tools import contract, json_schema, schema_language, typed
from dshcore.tools.pipeline import PendingCall

_COMPILED: Final[tuple[Fault, ...]] = (
    Fault(
        "no-type-is-any-value",
        "SCHEMA-NODE-01",
        "A node without a type is taken for one that fits everything.",
        edit(schema_language, "_value", ('spec.get("type")', 'spec.get("type", "json")')),
    ),
    Fault(
        "enum-of-any-type",
        "SCHEMA-NODE-02",
        "The members of an enum may be of another type than their node, and never match.",
        edit(json_schema, "_check_scalar", (" and all(_is_of(kind, entry) for entry in allowed)", "")),
    ),
    Fault(
        "items-are-texts",
        "SCHEMA-NODE-03",
        "An array that says nothing of its items holds texts.",
        edit(
            schema_language,
            "_value",
            ('if "items" in spec:', 'if kind == "array":'),
            ('_value(spec["items"], ', '_value(spec.get("items", {"type": "string"}), '),
        ),
    ),
    Fault(
        "objects-are-open-unless-they-say-so",
        "SCHEMA-NODE-04",
        "An object that does not say whether it is open is open.",
        edit(
            schema_language,
            "_object",
            ('spec.get("additionalProperties"), bool)', 'spec.get("additionalProperties", True), bool)'),
            ('{"additionalProperties": spec["additionalProperties"]}', '{"additionalProperties": True}'),
        ),
    ),
    Fault(
        "required-may-be-false",
        "SCHEMA-NODE-05",
        "A property that says that it is not required is optional.",
        edit(
            schema_language,
            "_value",
            ('spec.get("required", True) is not True', 'not isinstance(spec.get("required", True), bool)'),
        ),
    ),
    Fault(
        "json-is-an-open-object",
        "SCHEMA-NODE-06",
        "A node of any JSON is compiled to an object.",
        edit(schema_language, "_value", ('({} if kind == "json"', '({"type": "object"} if kind == "json"')),
    ),
    Fault(
        "one-branch-will-do",
        "SCHEMA-NODE-07",
        "A union of a single branch is accepted.",
        edit(json_schema, "_check_kind", ("len(branches) > 1", "len(branches) > 0")),
    ),
    Fault(
        "nodes-say-what-they-like",
        "SCHEMA-NODE-08",
        "Nobody looks for keys that the language does not know.",
        edit(schema_language, "_check_keys", ("if key not in allowed", "if False")),
    ),
    Fault(
        "a-number-describes",
        "SCHEMA-NODE-09",
        "A description may be no text.",
        edit(json_schema, "_check_keywords", ("if key in schema and not isinstance(schema[key], str)", "if False")),
    ),
    Fault(
        "parameters-are-closed",
        "SCHEMA-NODE-10",
        "Arguments may have no member that is not declared.",
        edit(
            schema_language,
            "compile_parameters",
            ('{"type": "object", ', '{"type": "object", "additionalProperties": False, '),
        ),
    ),
    Fault(
        "compiled-schemas-are-not-asserted",
        "SCHEMA-NODE-11",
        "What the first step leaves to the second is not looked at.",
        edit(schema_language, "_asserted", ("assert_supported(schema)", "pass")),
    ),
    Fault(
        "keys-before-the-type",
        "SCHEMA-NODE-14",
        "A node with a wrong type and an unknown key is told of the key.",
        edit(
            schema_language,
            "_value",
            (
                'kind = spec.get("type")\n',
                (
                    'kind = spec.get("type")\n'
                    "            _check_keys(spec, path, (*common, *(key for row in _VOCABULARY.values() for "
                    "key in row)))\n"
                ),
            ),
        ),
    ),
)

_RAW: Final[tuple[Fault, ...]] = (
    Fault(
        "raw-nodes-need-a-type",
        "SCHEMA-RAW-01",
        "A raw schema without a type is refused.",
        edit(
            json_schema,
            "_check_kind",
            (
                'found.extend(f"{path}.{key} requires type or oneOf" for key in _FITTING if key in schema)',
                'found.append(f"{path}.type is missing")',
            ),
        ),
    ),
    Fault(
        "unknown-keywords-are-ignored",
        "SCHEMA-RAW-02",
        "A keyword that is not enforced is accepted, as any validator of JSON Schema would.",
        edit(json_schema, "_check_keywords", ("elif key not in _SUPPORTED:", "elif False:")),
    ),
    Fault(
        "misplaced-keywords-are-ignored",
        "SCHEMA-RAW-03",
        "A keyword may stand on a type that it does not fit.",
        edit(json_schema, "_check_kind", ("if key in schema and kind not in types", "if False")),
    ),
    Fault(
        "a-list-of-types-is-a-union",
        "SCHEMA-RAW-04",
        "A node may have a list of types.",
        edit(
            json_schema,
            "_check_kind",
            ('found.append(f"{path}.type must be a single type string (type arrays are not supported)")', "pass"),
        ),
    ),
    Fault(
        "openness-may-be-a-schema",
        "SCHEMA-RAW-05",
        "The members that an object does not declare may have a schema.",
        edit(
            json_schema,
            "_check_object",
            (
                'schema.get("additionalProperties", True), bool)',
                'schema.get("additionalProperties", True), bool | dict)',
            ),
        ),
    ),
    Fault(
        "yes-is-a-schema",
        "SCHEMA-RAW-06",
        "True stands for a schema that everything fits.",
        edit(
            json_schema,
            "_check_node",
            ("if not is_record(schema):", "if schema is True:\n        return\n    if not is_record(schema):"),
        ),
    ),
    Fault(
        "a-union-of-objects-is-an-object",
        "SCHEMA-RAW-07",
        "Structured output may be rooted in alternatives.",
        edit(
            json_schema,
            "assert_object",
            ('schema.get("type") == "object"', '("oneOf" in schema or schema.get("type") == "object")'),
        ),
    ),
)

_VALUES: Final[tuple[Fault, ...]] = (
    Fault(
        "paths-have-slashes",
        "SCHEMA-VALUE-01",
        "Paths are told as JSON pointers.",
        edit(json_schema, "_member", ('f"{path}.{name}"', 'f"{path}/{name}"')),
    ),
    Fault(
        "true-is-one",
        "SCHEMA-VALUE-02",
        "A boolean passes for a number.",
        edit(json_schema, "_is_number", (" and not isinstance(value, bool)", "")),
    ),
    Fault(
        "values-are-printed-with-spaces",
        "SCHEMA-VALUE-03",
        "The values of an enum are told with a space behind each comma.",
        edit(json_schema, "_text", ("decode()", 'decode().replace(",", ", ")')),
    ),
    Fault(
        "null-is-missing",
        "SCHEMA-VALUE-04",
        "A required member that is null is told as missing.",
        edit(json_schema, "_check_members", ("if name not in value\n", "if value.get(name) is None\n")),
    ),
    Fault(
        "the-first-violation-is-all",
        "SCHEMA-VALUE-05",
        "Validation stops at the first violation.",
        edit(json_schema, "violations_of", ("_is_json(value)))", "_is_json(value)))[:1]")),
    ),
    Fault(
        "declared-objects-are-closed",
        "SCHEMA-VALUE-06",
        "An object that says nothing of other members has none.",
        edit(
            json_schema,
            "_check_members",
            ('schema.get("additionalProperties") is False', 'schema.get("additionalProperties") is not True'),
        ),
    ),
    Fault(
        "some-branch-fits",
        "SCHEMA-VALUE-07",
        "A value that several branches fit passes.",
        edit(json_schema, "_check_value", ("if matched == 1 else", "if matched else")),
    ),
    Fault(
        "negative-zero-fits",
        "SCHEMA-VALUE-08",
        "A number need not be one that JSON carries without loss.",
        edit(json_schema, "_is_of", ("_is_number(value) and _is_json(value)", "_is_number(value)")),
    ),
)

_BOUNDARY: Final[tuple[Fault, ...]] = (
    Fault(
        "arguments-are-checked-in-passing",
        "SCHEMA-ARGS-01",
        "A body runs with arguments that do not fit.",
        edit(typed, "_checked", ("raise ToolArgsError(violations)", "pass")),
    ),
    Fault(
        "every-tool-is-typed",
        "SCHEMA-ARGS-03",
        "The arguments of a raw tool are validated against its parameters.",
        edit(
            PendingCall,
            "_attempt_body",
            (
                "signal, release = ",
                (
                    "from dshcore.tools.json_schema import violations_of\n"
                    "    if violations_of(definition.parameters, self._arguments):\n"
                    "        return ABORTED\n"
                    "    signal, release = "
                ),
            ),
        ),
    ),
    Fault(
        "values-are-taken-as-they-are",
        "SCHEMA-OUT-01",
        "A value need not fit the output schema.",
        edit(contract, "canonical_of", ("raise ToolOutputError(definition.name, violations)", "pass")),
    ),
    Fault(
        "a-renderer-that-fails-is-replaced",
        "SCHEMA-OUT-02",
        "Where the renderer fails the value is printed.",
        edit(
            contract,
            "made_by",
            (
                'raise ToolOutputError(definition.name, (f"{part} failed: {text_of(error)}",)) from error',
                "made = ()",
            ),
        ),
    ),
    Fault(
        "output-schemas-are-compiled-late",
        "SCHEMA-OUT-03",
        "The output schema of a typed tool is not compiled where it is defined.",
        edit(
            typed,
            "_checked",
            ("replace(written.output, schema=compile_value(written.output.schema))", "written.output"),
        ),
    ),
)

SCHEMA_FAULTS: Final[tuple[Fault, ...]] = (*_COMPILED, *_RAW, *_VALUES, *_BOUNDARY)
