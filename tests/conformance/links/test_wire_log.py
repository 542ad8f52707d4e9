"""The file with every line of a wire."""

import json
from pathlib import Path

from dshconform.links.wire_log import WireLog


def texts(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_text().splitlines()]


def test_lines_are_text_whatever_came(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 and halves of characters are written as escapes."""
    log = WireLog(tmp_path / "log")
    log.write("received", b"\xff\xc3\xa9")
    log.write("note", "half \ud83d")
    assert texts(log.keep()) == ["\\xffé", "half \\ud83d"]


def test_a_long_log_keeps_its_end(tmp_path: Path) -> None:
    """Beyond the limit the older half is set aside, and only the one before it is lost."""
    log = WireLog(tmp_path / "log", limit=1000)
    for number in range(100):
        log.write("sent", str(number))
    kept = texts(log.older) + texts(log.keep())
    assert kept == [str(number) for number in range(int(kept[0]), 100)]
    assert log.older.stat().st_size >= 1000
    assert log.path.stat().st_size <= 1000
    log.discard()
    assert list(tmp_path.iterdir()) == []


def test_an_ended_log_takes_nothing_more(tmp_path: Path) -> None:
    """What comes after the end is dropped, and a removed log does not come back."""
    log = WireLog(tmp_path / "log")
    log.discard()
    log.write("note", "too late")
    assert not log.path.exists()


def test_a_log_without_a_path_has_a_file_of_its_own() -> None:
    """Two links of one run do not share a file."""
    first, second = WireLog(), WireLog()
    try:
        assert first.path != second.path
        assert first.path.exists()
    finally:
        first.discard()
        second.discard()
