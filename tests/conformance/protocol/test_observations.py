"""Lines that are unusual, and still replies or not."""

import pytest

from dshconform.protocol.observations import MalformedReplyError, NotJsonError, read_reply


def line(result: str) -> bytes:
    return f'{{"id":1,"observed":[],"open":[],"result":{result}}}'.encode()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"\\ud800"', "\ud800"),
        ('{"\\udfff":["\\ud800"]}', {"\udfff": ["\ud800"]}),
        ('"\\u0000\\u2028"', "\0\u2028"),
        ("12345678901234567890123", 12345678901234567890123),
        ("-0.0", -0.0),
        (" [ ]\t", []),
    ],
)
def test_all_of_json_is_read(text: str, value: object) -> None:
    """What is JSON arrives, halves of characters and large numbers included."""
    assert repr(read_reply(line(text)).result) == repr(value)


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff", b"hello", b"{", line("NaN"), line("-Infinity"), line("01"), line('"\t"'), line("[" * 100_000)],
)
def test_what_is_no_json_is_told_apart(text: bytes) -> None:
    """Garbage is another fault than a malformed reply; nesting without end is neither read nor a crash."""
    with pytest.raises(NotJsonError):
        read_reply(text)


@pytest.mark.parametrize("text", [b"null", b"[]", b"1", b'"\\ud800"', b'{"id":1,"x":"\\ud800"}'])
def test_json_that_is_no_reply_is_malformed(text: bytes) -> None:
    """Whatever way it had to be read."""
    with pytest.raises(MalformedReplyError):
        read_reply(text)
