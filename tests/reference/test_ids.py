import pytest

from dshcore.ids import (
    CallId,
    MessageId,
    ProviderRequestId,
    ReasoningEffortId,
    SessionId,
    mint_message_id,
    mint_session_id,
)


@pytest.mark.parametrize("brand", [SessionId, MessageId, CallId, ProviderRequestId, ReasoningEffortId])
@pytest.mark.parametrize("text", ["", " A/b\\ü\n", "\ud800", "x" * 1000])
def test_a_brand_neither_checks_nor_changes_the_text(brand: type[str], text: str) -> None:
    """PATTERN-ID-01, PATTERN-ID-02: an id is an ordinary string at run time."""
    assert brand(text) is text


def test_minted_ids_are_distinct_texts() -> None:
    """MSG-ID-01."""
    minted = [mint() for mint in (mint_message_id, mint_session_id) for _ in range(100)]
    assert len(set(minted)) == len(minted)
    assert all(minted)
    assert {type(id_) for id_ in minted} == {str}
