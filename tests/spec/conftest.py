"""Small specifications to test with."""

from collections.abc import Callable
from pathlib import Path

import pytest

CLAUSE = """\
### INBOX-CLAIM-01 · must · core
The queue is claimed in order.
- observe: claim twice.
- violation: the last one is claimed first.
- basis: seed
"""

PAGES = {
    "00-conventions.md": "# Conventions\n\n| word | values |\n|---|---|\n| end | `'a'\\|'b'` |\n",
    "05-rulings.md": """\
# Rulings

| id | question | ruling | clauses touched |
|---|---|---|---|
| R-01 | Which end of the queue? | The front. | INBOX-CLAIM-02 |
""",
    "10-inbox.md": f"""\
# 10 · Inbox

## Claims

{CLAUSE}
### INBOX-CLAIM-02 · should · reference
The front is claimed `first`.
It is claimed once (INBOX-CLAIM-01).
- observe: in process: look at `items[0]`.
- violation: the back is claimed.
- basis: ruling R-01 (the sources differ)

## Left out

| retired | now |
|---|---|
| INBOX-POP-01 to INBOX-POP-03 | INBOX-CLAIM-01 |
""",
    "index.md": "# Index\n\n[words](00-conventions.md), [rulings](05-rulings.md), [inbox](10-inbox.md)\n",
}


@pytest.fixture
def write_pages(tmp_path: Path) -> Callable[..., Path]:
    """Write a small specification; a pair of texts replaces the first by the second on the page of the inbox."""

    def write(*edits: tuple[str, str], page: str = "10-inbox.md") -> Path:
        root = tmp_path / "spec"
        root.mkdir(exist_ok=True)
        pages = dict(PAGES)
        for old, new in edits:
            assert pages[page].count(old) >= 1, f"{old!r} does not stand on {page}"
            pages[page] = pages[page].replace(old, new, 1)
        for name, text in pages.items():
            (root / name).write_text(text, encoding="utf-8")
        return root

    return write
