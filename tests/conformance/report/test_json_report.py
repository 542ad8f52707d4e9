"""The report as JSON."""

import json
from pathlib import Path

from dshconform.protocol.json_value import JsonMap
from dshconform.report.json_report import write_report


def test_a_lone_surrogate_is_written_as_json_escapes_it(tmp_path: Path) -> None:
    """An implementation may answer one; the file is UTF-8 all the same, and reads back as what was observed."""
    document: JsonMap = {"observed": "a\ud800\\b", "text": "é \U0001f600"}
    write_report(tmp_path / "r.json", document)
    text = (tmp_path / "r.json").read_text(encoding="utf-8")
    assert '"a\\ud800\\\\b"' in text
    assert "é \U0001f600" in text
    assert json.loads(text) == document
