import pytest

from dshconform.spec.mentions import find_mentions, mentioned_ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("see INBOX-CLAIM-01.", ["INBOX-CLAIM-01"]),
        ("(SEED-VAL-07, -08)", ["SEED-VAL-07", "SEED-VAL-08"]),
        ("NODE-A-02, -07 and -09", ["NODE-A-02", "NODE-A-07", "NODE-A-09"]),
        ("FACT-CALL-01/02", ["FACT-CALL-01", "FACT-CALL-02"]),
        ("SEED-MSG-01 to -04", ["SEED-MSG-01", "SEED-MSG-02", "SEED-MSG-03", "SEED-MSG-04"]),
        ("A-B-01 to A-B-03", ["A-B-01", "A-B-02", "A-B-03"]),
        ("A-B-01 to C-D-03", ["A-B-01", "C-D-03"]),
        ("A-B-01, C-D-02, -03", ["A-B-01", "C-D-02", "C-D-03"]),
        ("LOCK2-B3-01 is an id too", ["LOCK2-B3-01"]),
    ],
)
def test_ids_and_the_short_forms_behind_them_are_mentions(text: str, ids: list[str]) -> None:
    """A number, a list and a range continue the id before them."""
    assert list(mentioned_ids(text)) == ids


@pytest.mark.parametrize(
    "text", ["AREA-TOPIC-NN", "R-01", "UTF-8", "inbox-claim-01", "INBOX-CLAIM-011", "X-INBOX-CLAIM-01-b"]
)
def test_what_only_resembles_an_id_is_no_mention(text: str) -> None:
    """Templates, rulings, encodings and longer words are passed over."""
    assert list(mentioned_ids(text)) == []


def test_a_number_that_continues_no_id_is_no_mention() -> None:
    """Prose with numbers stays prose."""
    assert list(mentioned_ids("INBOX-CLAIM-01, 12 of them, and -05 degrees to -07")) == ["INBOX-CLAIM-01"]


def test_the_span_of_a_mention_is_what_stands_for_it() -> None:
    """A link can be put exactly on the id, or on the number with its hyphen."""
    text = "by SEED-VAL-07, -08 and FACT-CALL-01/02"
    assert [text[found.start : found.end] for found in find_mentions(text)] == [
        "SEED-VAL-07",
        "-08",
        "FACT-CALL-01",
        "02",
    ]
