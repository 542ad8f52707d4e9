"""The fast comparison says yes exactly where the full one finds nothing, and leaves the same traces."""

from hypothesis import example, given
from hypothesis import strategies as st

from dshconform.protocol.json_value import Json
from dshconform.trace.pattern import Difference, Matching, PatternError

LEAVES = st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "a", "b"]) | st.just(1.0)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


def _special(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    members = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    absent: st.SearchStrategy[Json] = st.just({"$absent": True})
    return st.one_of(
        st.lists(inner, max_size=3),
        members,
        st.dictionaries(st.sampled_from("abc"), absent | absent.map(lambda one: {"$by": "A-B-02", "is": one})),
        members.map(lambda one: {"$exact": one}),
        inner.map(lambda one: {"$by": "A-B-01", "is": one}),
        inner.map(lambda one: {"$by": ("A-B-03", "A-B-04"), "is": one}),
        st.sampled_from(["x", "y"]).map(lambda name: {"$bind": name}),
        st.sampled_from(["string", "integer", "object"]).map(lambda name: {"$type": name}),
        st.lists(inner, max_size=2).map(lambda options: {"$oneOf": options}),
        st.just({"$any": True}),
    )


PATTERNS = st.recursive(LEAVES, _special, max_leaves=6)


@st.composite
def matched(draw: st.DrawFn) -> tuple[Json, Json]:
    """A value, and a pattern that says something like it."""
    value = draw(VALUES)
    return _hidden(draw, value), value


def _hidden(draw: st.DrawFn, value: Json) -> Json:
    """A value with parts of it behind special forms."""
    if isinstance(value, dict):
        value = {key: _hidden(draw, item) for key, item in value.items()}
        form = draw(st.sampled_from(["", "$exact", "$by", "absent"]))
        if form == "absent":
            return {**value, draw(st.sampled_from("abcd")): {"$absent": True}}
    else:
        if isinstance(value, list):
            value = [_hidden(draw, item) for item in value]
        form = draw(st.sampled_from(["", "$by", "$any", "$bind"]))
    forms: dict[str, Json] = {
        "": value,
        "$exact": {"$exact": value},
        "$by": {"$by": "A-B-01", "is": value},
        "$any": {"$any": True},
        "$bind": {"$bind": "x"},
    }
    return forms[form]


def outcome(matching: Matching, pattern: Json, value: Json, *, fast: bool) -> Difference | str | None:
    """What one comparison answers; `fast` goes through the fast half first."""
    try:
        if fast:
            return matching.annotated(pattern, value, ("C-D-01",), "place")
        return matching._blame(pattern, value, ("C-D-01",), (), "place")
    except PatternError as error:
        return str(error)


@given(st.one_of(matched(), st.tuples(PATTERNS, VALUES)))
@example((1, True))
@example(({"a": {"$bind": "x"}, "b": {"$bind": "x"}}, {"a": 1, "b": 2}))
@example(({"$exact": {"a": {"$absent": True}}}, {}))
def test_both_comparisons_agree(pair: tuple[Json, Json]) -> None:
    """The answer, the clauses counted as held and the names bound are the same with and without the fast half."""
    pattern, value = pair
    one, other = Matching(), Matching()
    found = outcome(one, pattern, value, fast=True)
    assert found == outcome(other, pattern, value, fast=False)
    if found is None:
        assert one.held == other.held
        assert one.bound == other.bound


def test_a_comparison_that_fails_binds_no_name() -> None:
    """Names that the fast half bound on the way to a no are free again."""
    matching = Matching()
    pattern: Json = {"a": {"$bind": "x"}, "b": 1}
    assert not matching.fits(pattern, {"a": 5, "b": 2}, ())
    assert matching.bound == {}
    assert matching.fits(pattern, {"a": 6, "b": 1}, ())
    assert matching.bound == {"x": 6}


@given(st.one_of(matched(), st.tuples(PATTERNS, VALUES)))
def test_what_was_met_before_is_judged_alike(pair: tuple[Json, Json]) -> None:
    """Meeting the same two objects again, in this world or in another, changes no answer and no count."""
    pattern, value = pair
    first = Matching()
    found = outcome(first, pattern, value, fast=True)
    for world in (first, Matching()):
        before = dict(world.held)
        assert outcome(world, pattern, value, fast=True) == found
        if found is None:
            told = {clause: times - before.get(clause, 0) for clause, times in world.held.items()}
            assert all(told.values())


def test_what_fitted_by_a_name_is_compared_again() -> None:
    """A pair that fitted because a name was free does not fit where the name stands for something else."""
    members: Json = {"id": {"$bind": "x"}}
    pattern, value = {"$exact": members}, {"id": "a"}
    assert Matching().fits(pattern, value, ())
    assert not Matching(bound={"x": "b"}).fits(pattern, value, ())
