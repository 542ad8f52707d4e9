"""Patterns say what a value must be, and which clause says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshconform.protocol.json_value import Json, same
from dshconform.trace.pattern import (
    MISSING,
    Difference,
    Matching,
    PatternError,
    check_pattern,
    clauses_in,
    plain,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=8,
)


def differ(pattern: Json, value: Json) -> Difference | None:
    return Matching().annotated(pattern, value, ("X-Y-01",), "place")


@given(JSON)
def test_a_value_matches_itself(value: Json) -> None:
    """Plain JSON is the pattern of the equal value."""
    assert differ(value, value) is None


@given(JSON, JSON)
def test_same_is_equality_of_json(one: Json, other: Json) -> None:
    """`same` agrees with a comparison of canonical texts."""
    import json

    texts = [json.dumps(value, sort_keys=True) for value in (one, other)]
    assert same(one, other) == (texts[0] == texts[1])


@pytest.mark.parametrize(
    ("pattern", "value", "path", "expected", "observed"),
    [
        (1, 2, (), 1, 2),
        (True, 1, (), True, 1),
        (1, True, (), 1, True),
        ({"a": 1}, {}, ("a",), 1, MISSING),
        ({"a": [1, 2]}, {"a": [1]}, ("a", 1), 2, MISSING),
        ({"a": [1]}, {"a": [1, 2]}, ("a", 1), MISSING, 2),
        ([1], "x", (), [1], "x"),
        ({"a": 1}, 3, (), {"a": 1}, 3),
        ({"a": {"$absent": True}}, {"a": None}, ("a",), MISSING, None),
        ({"$exact": {"a": 1}}, {"a": 1, "b": 2}, ("b",), MISSING, 2),
        ({"$type": "integer"}, True, (), {"$type": "integer"}, True),
        ({"$oneOf": [1, 2]}, 3, (), {"$oneOf": [1, 2]}, 3),
        ({"$starts": "ab"}, "ac", (), {"$starts": "ab"}, "ac"),
        ({"$starts": "ab"}, 3, (), {"$starts": "ab"}, 3),
    ],
)
def test_the_first_difference_is_named(
    pattern: Json, value: Json, path: tuple[str | int, ...], expected: Json, observed: Json
) -> None:
    """A difference tells where it is, what was expected there and what was found."""
    found = differ(pattern, value)
    assert found is not None
    assert (found.path, found.expected, found.observed) == (path, expected, observed)
    assert found.clauses == ("X-Y-01",)
    assert found.found == value


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": {"$absent": True}}, {"b": 1}),
        ({"$any": True}, None),
        ({"$exact": {"a": {"$any": True}}}, {"a": 1}),
        ({"$oneOf": [{"$type": "string"}, None]}, "x"),
        ({"$starts": "ab"}, "abc"),
        ([1, {"$any": True}], (1, [])),
        ({"$value": "undefined"}, {"$value": "undefined"}),
    ],
)
def test_special_forms_match(pattern: Json, value: Json) -> None:
    """Every special form has values that it matches; value notation stands for itself."""
    assert differ(pattern, value) is None


def test_a_bound_name_stays_the_same_value() -> None:
    """`$bind` takes anything once and only the same again, over all comparisons of a world."""
    matching = Matching()
    pattern: Json = {"id": {"$bind": "message"}}
    assert matching.annotated(pattern, {"id": "m1"}, (), "row") is None
    assert matching.annotated(pattern, {"id": "m1"}, (), "row") is None
    found = matching.annotated(pattern, {"id": "m2"}, (), "row")
    assert found is not None
    assert (found.expected, found.observed) == ("m1", "m2")


def test_the_innermost_annotation_is_blamed() -> None:
    """A difference inside `$by` blames that clause, names that place, and shows the value found there."""
    pattern: Json = {"a": {"$by": "IN-NER-01", "is": {"b": 1}}, "c": 2}
    found = differ(pattern, {"a": {"b": 9}, "c": 2})
    assert found is not None
    assert (found.clauses, found.at, found.path, found.found) == (("IN-NER-01",), "place.a", ("b",), {"b": 9})
    outer = differ(pattern, {"a": {"b": 1}, "c": 3})
    assert outer is not None
    assert outer.clauses == ("X-Y-01",)


def test_a_tolerated_difference_is_taken_for_the_expected_value() -> None:
    """Where the ledger tolerates, the comparison goes on, and the clause does not count as held."""
    seen: list[str] = []

    def tolerate(difference: Difference) -> bool:
        seen.append(difference.at)
        return True

    matching = Matching(tolerate)
    pattern: Json = {"a": {"$by": "IN-NER-01", "is": 1}, "b": {"$by": "IN-NER-02", "is": 2}}
    assert matching.annotated(pattern, {"a": 9, "b": 2}, ("X-Y-01",), "row") is None
    assert seen == ["row.a"]
    assert matching.held == {"IN-NER-02": 1, "X-Y-01": 1}


@pytest.mark.parametrize(
    "pattern",
    [
        {"$type": "thing"},
        {"$exact": 1},
        {"$exact": {"$any": True}},
        {"$oneOf": 1},
        {"$starts": 1},
        {"$bind": 1},
        {"$by": 1, "is": 1},
        {"$by": "A-A-01"},
        {"$absent": True},
        [{"$absent": True}],
        {"$regex": 3},
        {"a": {"$by": "A-A-01", "is": [{"$type": "thing"}]}},
        {"$oneOf": [{"$starts": 1}]},
        {"$exact": {"a": {"$regex": 3}}},
    ],
)
def test_a_malformed_pattern_is_an_error(pattern: Json) -> None:
    """A pattern that is none, or has none inside, is an error of the suite, never a difference."""
    with pytest.raises(PatternError):
        check_pattern(pattern)
    with pytest.raises(PatternError):
        differ(pattern, 1)


def test_a_special_form_has_no_other_members() -> None:
    """What stands beside one would never be compared."""
    with pytest.raises(PatternError, match=r"\$any has the members \$any, not \$any, a"):
        check_pattern({"$any": True, "a": 1})


@given(JSON)
def test_what_is_well_formed_passes(value: Json) -> None:
    """JSON, value notation and the special forms, wherever they may stand."""
    check_pattern(value)
    check_pattern({"a": {"$by": "A-A-01", "is": {"$absent": True}}, "b": {"$value": "undefined"}})
    check_pattern(
        {
            "$oneOf": [value, {"$exact": {"a": {"$absent": True}}}],
        }
    )
    check_pattern({"$raw": {"$regex": value}})
    check_pattern({"$absent": True}, member=True)


def test_a_text_is_never_taken_for_nothing() -> None:
    """A member that reads `(nothing)` is there."""
    found = differ({"a": {"$absent": True}, "b": 1}, {"a": "(nothing)", "b": 1})
    assert found is not None
    assert found.sentence == "place.a should not be there"
    other = differ({"a": 1}, {"a": "(nothing)"})
    assert other is not None
    assert other.sentence == "place.a differs"


def test_options_that_did_not_match_leave_no_trace() -> None:
    """What a failed option bound, held or asked the ledger about is forgotten; the one that matched counts."""
    asked: list[str] = []

    def tolerate(difference: Difference) -> bool:
        asked.append(difference.at)
        return True

    matching = Matching(tolerate)
    wrong: Json = {"a": {"$bind": "x"}, "b": {"$by": "A-A-01", "is": 2}, "c": {"$by": "A-A-02", "is": 9}}
    right: Json = {"a": {"$bind": "y"}, "c": {"$by": "A-A-03", "is": 3}}
    assert matching.annotated({"$oneOf": [wrong, right]}, {"a": 1, "b": 2, "c": 3}, (), "row") is None
    assert matching.bound == {"y": 1}
    assert matching.held == {"A-A-03": 1}
    assert asked == []


def test_clauses_and_the_plain_form() -> None:
    """The clauses inside a pattern are found in order, and people see it without them."""
    pattern: Json = {"a": {"$by": ["A-A-01", "A-A-02"], "is": [{"$by": "B-B-01", "is": 1}]}, "b": {"$exact": {"c": 1}}}
    assert clauses_in(pattern) == ["A-A-01", "A-A-02", "B-B-01"]
    assert plain(pattern) == {"a": [1], "b": {"c": 1}}
