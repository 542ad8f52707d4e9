import pytest

from dshcore.json import JsonObject, freeze
from dshcore.variants import OpenUnion, Unknown, Unreadable, Variant


class _Shape(Variant, frozen=True, tag_field="kind"):
    pass


class _Circle(_Shape, frozen=True, tag="circle"):
    radius: int


class _Square(_Shape, frozen=True, tag="square"):
    side: int
    style: JsonObject


class _Nameless(Variant, frozen=True):
    pass


class _Elsewhere(Variant, frozen=True, tag="x", tag_field="type"):
    pass


def test_a_value_is_read_by_its_tag() -> None:
    """Members that the reading does not know are passed over; parts are shared with the record."""
    shapes = OpenUnion[_Shape]("kind", _Circle, _Square)
    assert shapes.read(freeze({"kind": "circle", "radius": 1, "extra": 2})) == _Circle(1)
    square = freeze({"kind": "square", "side": 2, "style": {"fill": [1]}})
    match shapes.read(square):
        case _Square(side=2, style=style):
            assert style is square["style"]
        case other:
            pytest.fail(f"read as {other}")


@pytest.mark.parametrize("value", [{"kind": "blob", "x": 1}, {"x": 1}, {"kind": 3}, {"kind": ["circle"]}])
def test_what_nobody_registered_stays_as_it_is(value: dict[str, object]) -> None:
    """PATTERN-EXT-02."""
    frozen = freeze(value)
    read = OpenUnion[_Shape]("kind", _Circle).read(frozen)
    assert isinstance(read, Unknown)
    assert read.json is frozen
    assert read.tag == (value.get("kind") if isinstance(value.get("kind"), str) else "")


def test_a_variant_comes_and_goes_with_its_registration() -> None:
    """PATTERN-EXT-01: without a change to the owner of the map."""
    shapes = OpenUnion[_Shape]("kind")
    circle = freeze({"kind": "circle", "radius": 1})
    unregister = shapes.register(_Circle)
    assert shapes.read(circle) == _Circle(1)
    unregister()
    assert isinstance(shapes.read(circle), Unknown)
    again = shapes.register(_Circle)
    unregister()
    assert shapes.read(circle) == _Circle(1), "a spent unregistration takes nothing out"
    again()


def test_a_tag_is_taken_once() -> None:
    with pytest.raises(ValueError, match='"circle" is already registered, by _Circle'):
        OpenUnion[_Shape]("kind", _Circle, _Circle)


class _Numbered(Variant, frozen=True, tag=1, tag_field="kind"):
    pass


@pytest.mark.parametrize("variant", [_Nameless, _Elsewhere, _Numbered])
def test_a_variant_needs_a_tag_in_the_member_of_the_map(variant: type[Variant]) -> None:
    with pytest.raises(ValueError, match=f'{variant.__name__} has no tag "kind"'):
        OpenUnion[Variant]("kind", variant)


def test_a_known_tag_with_wrong_members_is_unreadable() -> None:
    with pytest.raises(Unreadable, match=r'malformed "circle".*radius'):
        OpenUnion[_Shape]("kind", _Circle).read(freeze({"kind": "circle", "radius": "1"}))
