import math
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from tests.conformance.adapters.reference.suite import Suite

from dshconform.adapters.reference import paths
from dshconform.adapters.reference.dispatch import TABLE
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.paths import MISSING
from dshconform.adapters.reference.places import TOP
from dshconform.adapters.reference.scopes import scope_at
from dshconform.adapters.reference.values import decode, encode
from dshconform.adapters.reference.world import World
from dshcore.json import freeze
from dshcore.settling import SettlingLoop


def read(value: Any) -> Any:
    world = World(TABLE, scope_at, SettlingLoop())
    try:
        return decode(value, scope_at(world, TOP))
    finally:
        world.close()


def show(value: object) -> Any:
    return encode(value, lambda _: None)


@pytest.mark.parametrize("value", [None, True, 3, 2.5, "x", [], {}, [1, [2, {"a": None}]], {"a": [{"$b": 1}]}])
def test_json_stands_for_itself_both_ways(value: Any) -> None:
    """What is no notation is read as an equal value and shown as it was sent."""
    assert read(value) == value
    assert show(read(value)) == value


def test_read_values_share_nothing_with_what_was_sent() -> None:
    """A test may change what it handed in; the command it sent stays as it was."""
    sent = {"a": [{"b": 1}], "raw": {"$raw": {"c": []}}}
    got = read(sent)
    got["a"][0]["b"] = 2
    got["raw"]["c"].append(1)
    assert sent == {"a": [{"b": 1}], "raw": {"$raw": {"c": []}}}


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity", "-0"])
def test_numbers_that_json_lacks_go_both_ways(name: str) -> None:
    """A special number is read as that number and shown under its name."""
    value = read([{"$value": name}])
    assert isinstance(value[0], float)
    assert show(value) == [{"$value": name}]


def test_other_special_values() -> None:
    """`undefined` is the empty value; the others are what the language has for them."""
    assert read({"$value": "undefined"}) is None
    assert callable(read({"$value": "function"}))
    with pytest.raises(ValueError, match="unprintable"):
        str(read({"$value": "unprintable"}))


def test_a_pending_computation_can_be_handed_in(suite: Suite) -> None:
    """`awaitable` is a value that the implementation could wait for."""
    suite.open()
    suite.call("value.keep", {"as": "k", "value": {"$value": "awaitable"}})
    assert suite.call("value.get", {"of": "k"}).result == {"$value": "awaitable"}


def test_value_can_contain_itself_both_ways() -> None:
    """`$up` counts the containers around it, the nearest first."""
    value = read({"a": [{"$up": 1}, {"$up": 2}]})
    assert value["a"][0] is value["a"]
    assert value["a"][1] is value
    assert show(value) == {"a": [{"$up": 1}, {"$up": 2}]}


def test_raw_keeps_notation_literal_both_ways() -> None:
    """`$raw` sends a notation's own key, and whatever has one is shown under `$raw`."""
    literal = {"x": {"$value": "NaN", "$raw": [1, {"$fn": {"$up": 1}}]}}
    assert read({"$raw": literal}) == literal
    assert show(literal) == {"x": {"$raw": literal["x"]}}
    assert read(show(literal)) == literal
    assert show(freeze({"x": {"$fn": "f"}})) == {"x": {"$raw": {"$fn": "f"}}}


def test_frozen_json_is_shown_without_a_copy() -> None:
    """The log's own JSON is shared with the row; only what holds a notation's key is written anew."""
    frozen = freeze({"a": ({"b": 1},)})
    assert show(frozen) is frozen


def test_what_changes_later_is_shown_as_it_was() -> None:
    """A row is a record of its moment."""
    value = {"a": [1]}
    shown = show(value)
    value["a"].append(2)
    assert shown == {"a": [1]}


class Point(msgspec.Struct, rename="camel", tag="point", tag_field="kind"):
    the_x: int
    the_y: int | msgspec.UnsetType = msgspec.UNSET


@dataclass
class Pair:
    first_one: object
    second: object = None


def test_records_are_shown_with_the_names_of_the_specification() -> None:
    """Attributes appear in the specification's spelling; what is absent is left out, the tag is not."""
    assert show(Point(1)) == {"kind": "point", "theX": 1}
    assert show([Pair(Point(1, 2))]) == [{"firstOne": {"kind": "point", "theX": 1, "theY": 2}, "second": None}]


class Stream:
    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> object:
        raise StopAsyncIteration


class Later(Awaitable[None]):
    def __await__(self) -> Any:
        return iter(())


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Stream(), {"$value": "stream"}),
        (Later(), {"$value": "awaitable"}),
        (print, {"$value": "function"}),
        (object(), {"other": "object"}),
    ],
)
def test_what_is_no_json_is_shown_by_its_nature(value: object, shown: Any) -> None:
    """Streams, awaitables and functions have notations; anything else tells its class."""
    assert show(value) == shown


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"$value": "no"}, "NaN"),
        ({"$value": 5}, "malformed"),
        ({"$up": 1}, "containers"),
        ({"a": {"$up": 0}}, "containers"),
        ({"$arg": "x"}, "call of a function"),
        ({"$next": 0}, "call of a function"),
        ({"$stream": []}, "call of a function"),
        ({"$kept": "x"}, "names nothing"),
        ({"$signal": "x"}, "names nothing"),
        ({"$disposer": "x"}, "names nothing"),
        ({"$token": "x"}, "names nothing"),
        ({"$signal": "x", "b": 1}, "'b'"),
        ({"$fn": "f", "doo": []}, "'doo'"),
        ({"$fn": "f", "do": [{"do": "sing"}]}, "'sing' is no action"),
        ({"$fn": "f", "do": [{"do": "pause"}]}, "pause needs 'ticks'"),
        ({"$fn": "f", "do": [{"do": "gate"}, {"do": "pass"}]}, "item 0: `gate` is the last"),
        ({"$fn": "f", "do": [{"op": "x", "arg": {}}]}, "no member 'arg'"),
        ({"$fn": "f", "do": [], "calls": [[]]}, "both"),
        ({"$fn": "f", "calls": []}, "calls"),
        ({"$fn": "f", "abort": "maybe"}, "'maybe'"),
        ({"$fn": "f", "onAbort": [{"do": "pass"}]}, "onAbort"),
        ({"$error": {"message": "x", "kind": "odd"}}, "'odd'"),
        ({"$error": {"kind": "plain"}}, "message must be a text"),
        ({"$error": {"message": "x", "colour": 1}}, "'colour'"),
        ({"$error": {"message": "x", "cause": 5}}, "throw-any"),
        ({"$error": {"message": "x", "kind": "aggregate"}}, "members"),
        ({"$error": {"message": "", "kind": "model", "code": "C"}}, "non-empty"),
    ],
)
def test_malformed_notation_is_a_fault_that_names_it(value: Any, problem: str) -> None:
    """What cannot be read names itself."""
    with pytest.raises(Fault, match=problem.replace("(", r"\(")):
        read(value)


def test_plain_json_of_any_depth_can_be_sent() -> None:
    """Depth is no limit of the adapter; only notation has to stand near the surface."""
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    copied = read({"a": deep})["a"]
    levels = 0
    while copied != 1:
        copied, levels = copied[0], levels + 1
    assert levels == 5000
    literal: Any = {"$value": "NaN"}
    for _ in range(200):
        literal = [literal]
    copied = read({"$raw": literal})
    assert copied == literal
    while isinstance(literal, list):
        assert copied is not literal
        copied, literal = copied[0], literal[0]
    notation: Any = {"$value": "NaN"}
    for _ in range(5000):
        notation = [notation]
    with pytest.raises(Fault, match="levels deep"):
        read(notation)


def test_paths_lead_through_items_members_and_attributes() -> None:
    """Names are items of mappings, indexes of lists, else attributes in Python's spelling."""
    value = {"a": [Pair({"b": 1})]}
    assert paths.read(value, "a.0.firstOne.b") == 1
    assert paths.read(value, "") is value
    assert paths.read(value, "a.1") is MISSING
    assert paths.read(value, "a.x") is MISSING
    assert paths.read(value, "a.0.third") is MISSING
    paths.write(value, "a.0.firstOne", 2)
    paths.write(value, "c", 3)
    assert paths.read(value, "a.0.first_one") == 2
    paths.remove(value, "a.0")
    assert value == {"a": [], "c": 3}
    with pytest.raises(Fault, match="leads nowhere"):
        paths.write(value, "x.y", 1)


def test_special_numbers_are_those_numbers() -> None:
    """Each name stands for the number of that name."""
    nan, infinity, zero = read([{"$value": "NaN"}, {"$value": "-Infinity"}, {"$value": "-0"}])
    assert math.isnan(nan)
    assert infinity == -math.inf
    assert math.copysign(1, zero) == -1


def test_kept_value_shows_what_the_implementation_made_of_it(suite: Suite) -> None:
    """A message that is changed after it was handed in: the kept object changes, the pending copy does not."""
    suite.open()
    text = {"id": "A", "role": "user", "content": [{"type": "text", "text": "A"}], "source": {"kind": "user"}}
    suite.call("value.keep", {"as": "k", "value": text})
    suite.call("agent.inject", {"agent": "a", "message": {"$kept": "k"}})
    suite.call("value.set", {"of": "k", "path": "content.0.text", "value": "changed"})
    suite.call("value.remove", {"of": "k", "path": "source"})
    assert suite.call("value.get", {"of": "k"}).result["content"] == [{"type": "text", "text": "changed"}]
    assert suite.inspect()["nextStep"] == [text]
    suite.call("agent.inspect", {"agent": "a", "keep": "seen"})
    assert suite.call("value.get", {"of": "seen", "path": "nextStep.0.id"}).result == "A"


def test_answers_of_next_and_of_asynchronous_commands_can_be_kept(suite: Suite) -> None:
    """`keep` holds the object itself: what `next` answered, and what an operation came to."""
    suite.open(agents=())
    suite.create("a", keep="agent")
    assert suite.call("value.get", {"of": "agent"}).result == "a"
    assert suite.call("value.get", {"of": "agent", "path": "status"}).result == "idle"
    suite.listen("agent/pre-step", [{"do": "next", "keep": "decision"}])
    suite.followup("A")
    assert suite.call("value.get", {"of": "decision", "path": "messages.0.id"}).result == "A"
