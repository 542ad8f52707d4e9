import asyncio
import json
import math
from enum import StrEnum
from http import HTTPStatus
from typing import Any, ClassVar

import pytest

from dshcore.cancel_signal import Aborted, CancelSignal
from dshcore.errors import DshError
from dshcore.llm import InvalidLlmError, LlmError, turn_failure
from dshcore.llm.failures import normalise


class _Foreign(Exception):
    def __init__(self, message: str, code: object, failure: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.failure = failure


def _given_up(reason: str) -> Aborted:
    signal = CancelSignal()
    signal.abort(reason)
    return Aborted(signal)


class _Trap(Exception):
    @property
    def failure(self) -> object:
        raise RuntimeError("no")

    def __str__(self) -> str:
        raise RuntimeError("no")


class _Harness(DshError):
    default_code = "HARNESS"


class _Code(StrEnum):
    BUSY = "BUSY"


class _Enumerated(DshError):
    default_code = _Code.BUSY


class _Numbered(DshError):
    default_code: ClassVar[Any] = 42


class _Unreadable(DshError):
    def __getattribute__(self, name: str) -> Any:
        if name == "code":
            raise RuntimeError("no")
        return super().__getattribute__(name)


def test_facts_that_were_not_given_are_absent() -> None:
    """LERR-FIELDS-01."""
    assert LlmError("m", "C").failure == {"message": "m", "code": "C"}
    full = LlmError("m", "C", status=429, provider_retry_after_ms=1.5, request_id="r")
    assert full.failure == {"message": "m", "code": "C", "status": 429, "providerRetryAfterMs": 1.5, "requestId": "r"}
    assert (full.code, str(full)) == ("C", "m")
    failure: Any = full.failure
    with pytest.raises(TypeError):
        failure["code"] = "D"


@pytest.mark.parametrize(
    ("facts", "refusal"),
    [
        ({"message": ""}, "LlmError message must be a non-empty string"),
        ({"code": ""}, "LlmError code must be a non-empty string"),
        ({"message": "", "code": ""}, "LlmError message must be a non-empty string"),
        ({"status": 99}, "LlmError status must be an integer from 100 through 599"),
        ({"status": 600}, "LlmError status must be an integer from 100 through 599"),
        ({"status": True}, "LlmError status must be an integer from 100 through 599"),
        ({"provider_retry_after_ms": 0}, "LlmError providerRetryAfterMs must be a positive finite number"),
        ({"provider_retry_after_ms": math.inf}, "LlmError providerRetryAfterMs must be a positive finite number"),
        ({"provider_retry_after_ms": math.nan}, "LlmError providerRetryAfterMs must be a positive finite number"),
        ({"request_id": ""}, "LlmError requestId must be a non-empty string"),
        ({"status": 5, "request_id": ""}, "LlmError status must be an integer from 100 through 599"),
    ],
)
def test_facts_are_checked_in_order(facts: dict[str, Any], refusal: str) -> None:
    """LERR-FIELDS-01: the first wrong one is named."""
    with pytest.raises(InvalidLlmError) as refused:
        LlmError(**{"message": "m", "code": "C", **facts})
    assert str(refused.value) == refusal
    assert turn_failure(refused.value) == {"message": refusal, "code": "UNKNOWN"}


@pytest.mark.parametrize("facts", [{"status": 100}, {"status": 599}, {"provider_retry_after_ms": 0.5}])
def test_the_ends_of_a_range_are_in_it(facts: dict[str, Any]) -> None:
    assert set(facts.values()) < set(LlmError("m", "C", **facts).failure.values())


@pytest.mark.parametrize(
    ("facts", "failure"),
    [
        ({"message": "m", "code": "X", "junk": 1}, {"message": "m", "code": "X"}),
        (
            {"message": "m", "code": "X", "status": 500, "requestId": "r"},
            {"message": "m", "code": "X", "status": 500, "requestId": "r"},
        ),
    ],
)
def test_delivered_facts_become_the_error_of_the_turn(facts: dict[str, Any], failure: dict[str, Any]) -> None:
    """LERR-TURN-02, LOOP-ERR-01: the five known ones only, unchanged."""
    assert turn_failure(LlmError.from_facts(facts)) == failure


@pytest.mark.parametrize(
    ("facts", "refusal"),
    [
        ({"message": "", "code": "X"}, "message must be a non-empty string"),
        ({"message": "m", "code": "X", "status": 5}, "status must be an integer from 100 through 599"),
        ({"message": "m", "code": "X", "status": 200.5}, "status must be an integer from 100 through 599"),
        ({"message": "m", "code": "X", "status": None}, "status must be an integer from 100 through 599"),
        ({"message": "m"}, "code must be a non-empty string"),
        ({"message": "m", "code": 5}, "code must be a non-empty string"),
        ({"message": "m", "code": "X", "providerRetryAfterMs": "5"}, "must be a positive finite number"),
        ({"message": "m", "code": "X", "providerRetryAfterMs": True}, "must be a positive finite number"),
        (None, "message must be a non-empty string"),
        ("text", "message must be a non-empty string"),
    ],
)
def test_facts_of_no_failure_are_refused(facts: Any, refusal: str) -> None:
    """LERR-TURN-02."""
    with pytest.raises(InvalidLlmError, match=refusal):
        LlmError.from_facts(facts)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (LlmError("m", "RATE_LIMIT", status=429), {"message": "m", "code": "RATE_LIMIT", "status": 429}),
        (
            _Foreign("outer", "F", {"message": "inner", "code": "F", "status": 500, "extra": 1}),
            {"message": "inner", "code": "F", "status": 500},
        ),
        (_Foreign("outer", "A", {"message": "inner", "code": "F"}), {"message": "outer", "code": "UNKNOWN"}),
        (
            _Foreign("outer", "F", {"message": "inner", "code": "F", "status": 5}),
            {"message": "outer", "code": "UNKNOWN"},
        ),
        (_Foreign("outer", "ECONN"), {"message": "outer", "code": "UNKNOWN"}),
        (_Harness("m"), {"message": "m", "code": "HARNESS"}),
        (_Harness("m", code=""), {"message": "m", "code": "UNKNOWN"}),
        (_given_up("why"), {"message": "aborted: 'why'", "code": "ABORTED"}),
        (ValueError(), {"message": "LLM adapter failed", "code": "UNKNOWN"}),
        (_Trap(), {"message": "LLM adapter failed", "code": "UNKNOWN"}),
        (asyncio.CancelledError(), {"message": "LLM adapter failed", "code": "UNKNOWN"}),
        (ExceptionGroup("group", [ValueError("x")]), {"message": "group", "code": "UNKNOWN"}),
    ],
)
def test_what_an_adapter_raises_is_normalised(error: BaseException, failure: dict[str, Any]) -> None:
    """LERR-NORM-01, LERR-NORM-02: codes of foreign errors mean nothing; causes are not included."""
    error.__cause__ = ValueError("cause")
    assert normalise(error) == failure


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (LlmError("m", "X", status=500), {"message": "m", "code": "X", "status": 500}),
        (_Harness("m"), {"message": "m: cause", "code": "UNKNOWN"}),
        (_Foreign("m", "F", {"message": "inner", "code": "F"}), {"message": "m: cause", "code": "UNKNOWN"}),
    ],
)
def test_a_turn_that_fails_otherwise_has_the_chain_of_its_error(error: BaseException, failure: dict[str, Any]) -> None:
    """LOOP-ERR-01, LOOP-ERR-02: whatever code it has."""
    error.__cause__ = ValueError("cause")
    assert turn_failure(error) == failure


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (_Enumerated("m"), {"message": "m", "code": "BUSY"}),
        (_Numbered("m"), {"message": "m", "code": "UNKNOWN"}),
        (_Unreadable("m"), {"message": "m", "code": "UNKNOWN"}),
        (_Foreign("m", "C", {"message": "in", "code": "C", "status": HTTPStatus.BAD_GATEWAY}), 502),
        (_Foreign("m", "C", {"message": "in", "code": "C", "providerRetryAfterMs": 10**400}), "UNKNOWN"),
    ],
)
def test_no_error_keeps_its_facts_from_being_made(error: BaseException, failure: Any) -> None:
    """STREAM-FAIL-01, STREAM-FAIL-02, LERR-NORM-02: a code is a non-empty text, facts are JSON; nothing raises."""
    made = normalise(error)
    assert failure in (made, made["code"], made.get("status"))
    assert type(made["code"]) is str
    assert json.loads(json.dumps(made)) == made


def test_facts_of_an_enumeration_are_plain() -> None:
    """LERR-FIELDS-01: an enumeration's text or number is taken for what it stands for."""
    error = LlmError("m", _Code.BUSY, status=HTTPStatus.TOO_MANY_REQUESTS)
    assert error.failure == {"message": "m", "code": "BUSY", "status": 429}
    assert [type(fact) for fact in (error.failure["code"], error.failure["status"], error.code)] == [str, int, str]


def test_a_delay_that_no_double_holds_is_refused() -> None:
    """LERR-FIELDS-01: like an infinite one."""
    with pytest.raises(InvalidLlmError, match="providerRetryAfterMs must be a positive finite number"):
        LlmError("m", "C", provider_retry_after_ms=10**400)
