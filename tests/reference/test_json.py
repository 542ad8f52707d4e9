import copy
import math
import pickle
from collections import OrderedDict
from collections.abc import Callable
from datetime import date
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshcore import json_text
from dshcore.json import JsonObject, NotJson, decode, encode, freeze, same

DEEP = 20_000

texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: math.copysign(1, number) > 0 or number != 0
)
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def nested(depth: int, wrap: Callable[[Any], Any], core: Any = None) -> Any:
    value = core
    for _ in range(depth):
        value = wrap(value)
    return value


def depth_of(value: Any) -> int:
    depth = 0
    while isinstance(value, (tuple, list, dict)) and value:
        value = value[0] if isinstance(value, (tuple, list)) else value["a"]
        depth += 1
    return depth


@pytest.mark.parametrize("value", [None, True, "x", 1.5, [1], {}, ""])
def test_any_json_value_is_accepted_at_top_level(value: Any) -> None:
    """LOG-JSON-01: null, booleans, texts, numbers, arrays and objects alike."""
    assert same(freeze(value), value)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, -0.0, 2**53 + 1, -(2**53) - 1, 2**1024, 10**400])
@pytest.mark.parametrize(
    "place", [lambda n: n, lambda n: [n], lambda n: {"a": n}, lambda n: nested(100, lambda v: [v], n)]
)
def test_numbers_that_json_cannot_carry_are_refused_anywhere(number: float, place: Callable[[Any], Any]) -> None:
    """LOG-JSON-02: not finite, negative zero, integers that a double cannot hold."""
    with pytest.raises(NotJson):
        freeze(place(number))


@pytest.mark.parametrize(
    ("number", "form"),
    [
        (1.0, 1),
        (-3.0, -3),
        (2.0**53, 2**53),
        (1e20, 10**20),
        (10**21, 1e21),
        (2**60, 2**60),
        (1e300, 1e300),
        (0.5, 0.5),
    ],
)
def test_a_double_has_one_form(number: float, form: float) -> None:
    """Whole numbers are integers up to 1e21, where ECMAScript starts to write exponents."""
    frozen = freeze(number)
    assert frozen == form
    assert type(frozen) is type(form)


class _Text(str):
    __slots__ = ()


class _Number(IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    "value",
    [
        date(2026, 1, 1),
        {1, 2},
        b"x",
        OrderedDict(a=1),
        _Text("x"),
        _Number.ONE,
        object(),
        len,
        {1: 2},
        {None: 2},
        {_Text("k"): 1},
        range(3),
        iter([1]),
        Ellipsis,
    ],
)
@pytest.mark.parametrize("depth", [0, 1, 100])
def test_only_plain_containers_and_scalars_are_json(value: Any, depth: int) -> None:
    """LOG-JSON-03, LOG-JSON-04: other classes are refused even when they could be converted."""
    with pytest.raises(NotJson):
        freeze(nested(depth, lambda inner: [inner], value))


def test_a_refusal_names_the_value_and_where_it_stands() -> None:
    with pytest.raises(NotJson, match=r"class set is not JSON.*, at \['a'\]\[1\]\['b'\]") as refused:
        freeze({"a": [0, {"b": {1}}]})
    assert refused.value.path == ("a", 1, "b")
    assert refused.value.code == "NOT_JSON"


@pytest.mark.parametrize("depth", [0, 64, 200])
def test_a_refused_key_is_named_and_its_object_is_the_place(depth: int) -> None:
    with pytest.raises(NotJson, match="the key 7 of class int is not text") as refused:
        freeze(nested(depth, lambda inner: [inner], {"a": {"b": 1, 7: 2}}))
    assert refused.value.path == (*[0] * depth, "a")


@pytest.mark.parametrize("depth", [60, 64, 65, 70, 200])
def test_a_refusal_far_down_names_the_whole_path(depth: int) -> None:
    """The path is the same whether the walk is recursive or not."""
    with pytest.raises(NotJson) as refused:
        freeze({"top": [7, nested(depth, lambda inner: {"a": inner}, [0, {1}])]})
    assert refused.value.path == ("top", 1, *["a"] * depth, 1)


def test_a_refusal_is_short_whatever_was_refused() -> None:
    with pytest.raises(NotJson) as refused:
        freeze(nested(DEEP, lambda inner: [inner], {("key",) * 1000: 1}))
    assert len(str(refused.value)) < 250
    assert "more levels" in str(refused.value)
    assert len(refused.value.path) == DEEP


@pytest.mark.parametrize("depth", [1, 30, 64, 80])
def test_a_value_that_contains_itself_is_refused(depth: int) -> None:
    """LOG-JSON-05."""
    ring: list[Any] = []
    ring.append(nested(depth, lambda inner: {"a": inner}, ring))
    with pytest.raises(NotJson, match="contains itself"):
        freeze(ring)


@pytest.mark.parametrize("depth", [0, 100])
def test_a_part_reached_twice_is_no_cycle(depth: int) -> None:
    """LOG-JSON-05: it is stored twice."""
    shared: list[Any] = [1]
    frozen: Any = freeze(nested(depth, lambda inner: [inner], {"x": shared, "y": [shared, shared]}))
    for _ in range(depth):
        frozen = frozen[0]
    assert frozen == {"x": (1,), "y": ((1,), (1,))}


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}, lambda inner: (inner,)])
def test_depth_is_bounded_by_memory_alone(wrap: Callable[[Any], Any]) -> None:
    """LOG-JSON-06: checking, copying, writing, reading and comparing survive what the call stack would not."""
    frozen = freeze(nested(DEEP, wrap, [1]))
    assert depth_of(frozen) == DEEP + 1
    again = decode(encode(frozen))
    assert depth_of(again) == DEEP + 1
    assert same(frozen, again)


def test_the_copy_shares_nothing_that_can_change() -> None:
    inner: list[Any] = [1]
    source = {"a": inner, "b": {"c": inner}}
    frozen = freeze(source)
    inner.append(2)
    source["d"] = inner
    assert frozen == {"a": (1,), "b": {"c": (1,)}}


@pytest.mark.parametrize("depth", [0, 100])
@pytest.mark.parametrize(
    "change",
    [
        lambda frozen: frozen.__setitem__("a", 1),
        lambda frozen: frozen.__delitem__("a"),
        lambda frozen: frozen.__ior__({"a": 1}),
        lambda frozen: frozen.update(a=1),
        lambda frozen: frozen.pop("a"),
        lambda frozen: frozen.popitem(),
        lambda frozen: frozen.clear(),
        lambda frozen: frozen.setdefault("z", 1),
        lambda frozen: frozen.__init__(a=1),
        lambda frozen: setattr(frozen, "x", 1),
    ],
)
def test_an_object_cannot_change(change: Callable[[Any], Any], depth: int) -> None:
    """Every writer of a dict raises, at every depth."""
    frozen: Any = freeze(nested(depth, lambda inner: {"a": inner}, {"a": 0}))
    for _ in range(depth):
        frozen = frozen["a"]
    with pytest.raises((TypeError, AttributeError)):
        change(frozen)
    assert frozen == {"a": 0}


def test_what_is_frozen_is_shared() -> None:
    """Logging again, forking and seeding copy nothing."""
    part = freeze({"x": [1]})
    assert freeze(part) is part
    whole: Any = freeze({"part": part, "list": [part]})
    assert whole["part"] is part
    assert whole["list"][0] is part


def test_a_frozen_object_is_its_own_copy_and_survives_pickling() -> None:
    frozen = freeze({"a": [{"b": 1}]})
    assert copy.copy(frozen) is frozen
    assert copy.deepcopy(frozen) is frozen
    again = pickle.loads(pickle.dumps(frozen))
    assert again == frozen
    assert type(again) is JsonObject


def test_members_and_their_order_survive() -> None:
    """LOG-JSON-08: also the empty name and names that mean something elsewhere."""
    names = ["__proto__", "", "__class__", "b", "a", "constructor"]
    read = decode(encode(freeze({name: {"x": name} for name in names})))
    assert isinstance(read, JsonObject)
    assert list(read) == names


@given(values)
def test_freezing_keeps_the_value_and_is_idempotent(value: Any) -> None:
    frozen = freeze(value)
    assert same(frozen, value)
    assert repr(freeze(frozen)) == repr(frozen)


@given(values)
def test_how_deep_a_value_stands_makes_no_difference_to_it(value: Any) -> None:
    """Below the recursive levels it is walked another way."""
    deep: Any = freeze(nested(100, lambda inner: [inner], value))
    for _ in range(100):
        (deep,) = deep
    assert repr(deep) == repr(freeze(value))


@given(values)
def test_text_stands_for_the_value_it_was_written_from(value: Any) -> None:
    """Lone surrogates included; and both writers and both readers agree."""
    frozen = freeze(value)
    assert repr(decode(encode(frozen))) == repr(frozen)
    assert repr(freeze(json_text.read(json_text.write(frozen)))) == repr(frozen)
    assert repr(freeze(json_text.read(encode(frozen).decode()))) == repr(frozen)


def test_lone_surrogates_are_written_escaped() -> None:
    assert encode(freeze({"\ud800": "é\udfff"})) == '{"\\ud800":"é\\udfff"}'.encode()
    assert decode('"\ud800"') == "\ud800"


@pytest.mark.parametrize("depth", [0, 1, 100])
@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("\ud83d\ude00", "\U0001f600"),
        ("a\ud83d\ud83d\ude00\ude00é", "a\ud83d\U0001f600\ude00é"),
        ("\ude00\ud83d", "\ude00\ud83d"),
    ],
)
def test_halves_of_a_character_that_meet_are_that_character(text: str, form: str, depth: int) -> None:
    """LOG-JSON-06: so that what is written can be read again as it was, in texts and in keys."""
    for wrap in (lambda inner: [inner], lambda inner: {"a": inner}):
        frozen = freeze(nested(depth, wrap, text))
        assert frozen == freeze(nested(depth, wrap, form))
        assert decode(encode(frozen)) == frozen
        frozen = freeze(nested(depth, wrap, {text: 1}))
        assert frozen == freeze(nested(depth, wrap, {form: 1}))
        assert decode(encode(frozen)) == frozen


def test_space_between_tokens_means_nothing() -> None:
    text = ' { "a" : [ 1 , true , [ ] ] ,\r\n\t"b" : { } , "c" : { "d" : null } } '
    assert json_text.read(text) == {"a": [1, True, []], "b": {}, "c": {"d": None}}


def test_digits_stand_for_the_nearest_double() -> None:
    """ECMAScript writes 2**60 with digits that are no double's own."""
    assert decode("1152921504606847000") == 2**60
    assert decode("[9007199254740993]") == (2**53,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a value at character 0"),
        ("[1,]", "expected a value at character 3"),
        ('{"a":1,}', "expected a key in double quotes at character 7"),
        ("{a:1}", "expected a key in double quotes at character 1"),
        ('{"a" 1}', "expected ':' at character 5"),
        ("[1 2]", "expected ',' or ']' at character 3"),
        ('{"a":1 "b":2}', "expected ',' or the end of the object at character 7"),
        ("[1", "expected ',' or ']' at character 2"),
        ('"abc', "expected the end of the text that starts here, a double quote, at character 0"),
        ('["\\x"]', "expected a valid escape or character at character 2"),
        ("1 2", "expected the end of the text at character 2"),
        ("[]]", "expected the end of the text at character 2"),
        ("nan", "expected a value at character 0"),
        ("01", "expected the end of the text at character 1"),
        ("[1e999]", "inf is not a JSON number, at [0]"),
        ("-0.0", "negative zero"),
        (b"\xff", "not UTF-8 at byte 0"),
        ("[" * 5000, "expected a value at character 5000"),
    ],
)
def test_text_that_is_no_json_is_refused_with_its_position(text: str | bytes, message: str) -> None:
    with pytest.raises(NotJson) as refused:
        decode(text)
    assert message in str(refused.value)


@given(st.text('[]{}",:0123456789.eE+-\\untrfalsl ', max_size=12))
def test_both_readers_accept_the_same_texts(text: str) -> None:
    """The slow reader is no more tolerant than the fast one."""
    try:
        read = freeze(json_text.read(text))
    except (json_text.MalformedText, NotJson):
        with pytest.raises(NotJson):
            decode(text)
    else:
        assert repr(decode(text)) == repr(read)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ({"a": 1, "b": [2]}, {"b": (2,), "a": 1.0}, True),
        ({"a": True}, {"a": 1}, False),
        ([0], [False], False),
        ({"a": None}, {}, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ("ab", ["a", "b"], False),
        ({}, [], False),
        ([], {}, False),
        (None, False, False),
        ([[1, {"a": [None]}]], [[1, {"a": [None]}]], True),
        ([[1, {"a": [None]}]], [[1, {"a": [0]}]], False),
    ],
)
def test_values_are_compared_as_json(left: Any, right: Any, expected: bool) -> None:
    """Order of members and the holder of an array do not count; a boolean is no number."""
    assert same(left, right) is expected
