"""Failures of model calls: their facts, and how any error becomes facts.

The facts are JSON: ``message``, ``code`` and, where known, ``status``, ``providerRetryAfterMs``, ``requestId``.
"""

from collections.abc import Callable, Mapping
from typing import Final

from dshcore.errors import DshError, error_chain, message_of
from dshcore.json import Json, JsonObject, freeze, is_finite, is_object, is_text

UNKNOWN_CODE: Final = "UNKNOWN"
"""The code of a failure of which nothing is known."""

ABORTED_CODE: Final = "ABORTED"
"""The code of a failure because of an abort."""

_NO_MESSAGE: Final = "LLM adapter failed"


def _is_status(value: object) -> bool:
    return isinstance(value, int) and 100 <= value <= 599  # noqa: PLR2004 - HTTP's range


def _is_delay(value: object) -> bool:
    return is_finite(value) and value > 0


# LERR-FIELDS-01, LERR-TURN-02: fact, whether it must be there, its check, what the refusal calls it; in this order
_FACTS: Final[tuple[tuple[str, bool, Callable[[object], bool], str], ...]] = (
    ("message", True, is_text, "a non-empty string"),
    ("code", True, is_text, "a non-empty string"),
    ("status", False, _is_status, "an integer from 100 through 599"),
    ("providerRetryAfterMs", False, _is_delay, "a positive finite number"),
    ("requestId", False, is_text, "a non-empty string"),
)


class InvalidLlmError(DshError, TypeError):
    """Facts that no `LlmError` can have.

    Spec:
        LERR-FIELDS-01
    """

    default_code = UNKNOWN_CODE


class LlmError(DshError):
    """A failure of a model call.

    Args:
        message: What went wrong; not empty.
        code: Its kind, for those who decide by it; not empty.
        status: The status of the provider's response, 100 to 599.
        provider_retry_after_ms: How long the provider asks to wait.
        request_id: The request's name in the provider's books.

    Attributes:
        failure: The facts as JSON; those that were not given are absent.

    Raises:
        InvalidLlmError: A fact has a value that it cannot have.

    Spec:
        LERR-FIELDS-01
    """

    def __init__(
        self,
        message: str,
        code: str,
        *,
        status: int | None = None,
        provider_retry_after_ms: float | None = None,
        request_id: str | None = None,
    ) -> None:
        optional = {"status": status, "providerRetryAfterMs": provider_retry_after_ms, "requestId": request_id}
        given = {name: value for name, value in optional.items() if value is not None}
        self.failure: JsonObject = _checked_facts({"message": message, "code": code, **given})
        super().__init__(self.failure["message"], code=self.failure["code"])

    @classmethod
    def from_facts(cls, facts: Json) -> "LlmError":
        """Make the error that delivered facts stand for; facts beyond the five are left out.

        Raises:
            InvalidLlmError: The facts are those of no failure; the first wrong one is named.

        Spec:
            LERR-TURN-02
        """
        failure = _checked_facts(facts if is_object(facts) else {})
        error = cls(failure["message"], failure["code"])
        error.failure = failure
        return error


def _checked_facts(facts: Mapping[str, object]) -> JsonObject:
    wrong = _first_wrong(facts)
    if wrong is not None:
        raise InvalidLlmError(f"LlmError {wrong}")
    return freeze({name: _plain(facts[name]) for name, *_ in _FACTS if name in facts})


def _plain(fact: object) -> object:
    """Return a fact without the class that somebody's enumeration gave it: facts are JSON."""
    if isinstance(fact, str):
        return str.__str__(fact)
    if isinstance(fact, int):
        return int(fact)
    return float(fact) if isinstance(fact, float) else fact


def _first_wrong(facts: Mapping[str, object]) -> str | None:
    for name, required, is_right, description in _FACTS:
        if (required or name in facts) and not is_right(facts.get(name)):
            return f"{name} must be {description}"
    return None


def normalise(error: BaseException) -> JsonObject:
    """Return the facts of an error that an adapter raised.

    Facts that the error carries are taken if they are well-formed and agree with its code. Otherwise its message
    counts, and its code if it is an error of the harness: the codes of others mean nothing here. Never raises.

    Spec:
        LERR-NORM-01, LERR-NORM-02
    """
    facts = _carried_facts(error)
    if facts is not None:
        return facts
    code = _code_of(error) if isinstance(error, DshError) else ""
    return freeze({"message": message_of(error) or _NO_MESSAGE, "code": code or UNKNOWN_CODE})


def _code_of(error: DshError) -> str:
    try:
        code: object = error.code
    except Exception:  # noqa: BLE001 - a code that cannot be read is none
        return ""
    return str.__str__(code) if is_text(code) else ""


def _carried_facts(error: BaseException) -> JsonObject | None:
    try:
        facts = getattr(error, "failure", None)
        if not is_object(facts) or facts.get("code") != getattr(error, "code", None):
            return None
        return _checked_facts(facts)
    except Exception:  # noqa: BLE001 - facts that are malformed or cannot be read are no facts
        return None


def turn_failure(error: BaseException) -> JsonObject:
    """Return what the end of a turn says about the error that it failed with.

    Spec:
        LOOP-ERR-01, LOOP-ERR-02
    """
    if isinstance(error, LlmError):
        return error.failure
    return freeze({"message": error_chain(error), "code": UNKNOWN_CODE})
