from typing import Any

import pytest

from dshcore.errors import DshError, describe, error_chain, message_of


class _Specific(DshError):
    default_code = "SPECIFIC"


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot say")


class _Shouting(str):
    __slots__ = ()


class _OddText(Exception):
    def __str__(self) -> str:
        return _Shouting("odd")


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def chain_of(*messages: str) -> BaseException:
    error: BaseException = ValueError(messages[-1])
    for message in reversed(messages[:-1]):
        error = caused(ValueError(message), error)
    return error


def test_an_error_has_the_code_of_its_class_unless_it_is_given_one() -> None:
    assert _Specific("m").code == "SPECIFIC"
    assert _Specific("m", code="OTHER").code == "OTHER"
    assert str(_Specific("m")) == "m"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("m"), "ValueError: m"),
        (ValueError(), "ValueError"),
        (_Mute(), "_Mute"),
        (ExceptionGroup("g", [ValueError("m")]), "ExceptionGroup: g"),
    ],
)
def test_a_description_names_class_and_message(error: BaseException, text: str) -> None:
    assert describe(error) == text


def test_a_message_is_plain_text_and_reading_it_never_raises() -> None:
    assert message_of(_Mute()) == ""
    assert type(message_of(_OddText())) is str


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("m"), "m"),
        (ValueError(), "ValueError"),
        (chain_of("outer", "inner", "inner"), "outer: inner"),
        (chain_of("outer", "outer"), "outer"),
        (chain_of("a", "a", "b"), "a: a: b"),
        (chain_of("a", "ab"), "a: ab"),
        (caused(ValueError("a"), _Specific("b")), "a: b"),
        (
            caused(ValueError("fetch failed"), ExceptionGroup("", [ValueError("x"), ValueError("y")])),
            "fetch failed: ExceptionGroup [x; y]",
        ),
        (caused(ExceptionGroup("agg", [chain_of("x", "y"), ValueError("z")]), ValueError("c")), "agg [x: y; z]: c"),  # type: ignore[type-var]  # members are exceptions here
        (_Mute(), "<unrenderable value>"),
        (caused(ValueError("a"), _Mute()), "a: <unrenderable value>"),
    ],
)
def test_a_chain_has_message_members_and_causes(error: BaseException, text: str) -> None:
    """LERR-CHAIN-01, LERR-CHAIN-02, LOOP-ERR-02."""
    assert error_chain(error) == text


def test_a_cause_met_again_on_its_own_path_is_circular() -> None:
    """LERR-CHAIN-03."""
    first, second = ValueError("c1"), ValueError("c2")
    first.__cause__, second.__cause__ = second, first
    assert error_chain(first) == "c1: c2: <circular cause>"


def test_a_cause_shared_by_two_members_is_rendered_twice() -> None:
    """LERR-CHAIN-03: only the own path counts."""
    shared = ValueError("s")
    group = ExceptionGroup("g", [ValueError("a"), ValueError("b")])
    for member in group.exceptions:
        member.__cause__ = shared
    assert error_chain(group) == "g [a: s; b: s]"


def test_only_an_explicit_cause_counts() -> None:
    def fail() -> None:
        try:
            int("hidden")
        except ValueError:
            raise KeyError("shown")  # noqa: B904 - that is the point

    with pytest.raises(KeyError, match="shown") as raised:
        fail()
    assert error_chain(raised.value) == "'shown'"


class _Record:
    def __init__(self, message: object) -> None:
        self.message = message


@pytest.mark.parametrize(
    ("value", "text"),
    [("text", "text"), (0, "0"), ({"message": "m"}, "m"), ({"message": 1}, "{'message': 1}"), (_Record("r"), "r")],
)
def test_what_is_no_error_shows_its_message_or_its_text(value: Any, text: str) -> None:
    """LERR-CHAIN-03."""
    assert error_chain(value) == text


def test_a_chain_deeper_than_the_stack_is_rendered_as_far_as_possible() -> None:
    """Rendering never raises."""
    text = error_chain(chain_of(*(f"e{at}" for at in range(5000))))
    assert text.startswith("e0: e1: e2")
    assert text.endswith("<unrenderable value>")
