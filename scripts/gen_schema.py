"""Writes docs/protocol/lockstep-1.schema.json from the types of the protocol; with --check only compares."""

import argparse
import sys
from pathlib import Path

from dshconform.protocol.schema import FILE_NAME, schema_text

TARGET = Path(__file__).resolve().parent.parent / "docs" / "protocol" / FILE_NAME


def main() -> int:
    """Writes the file, or says whether it is fresh."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the file is stale")
    options = parser.parse_args()
    text = schema_text()
    fresh = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
    if options.check and not fresh:
        print(f"{TARGET.name} is stale: run scripts/gen_schema.py", file=sys.stderr)
        return 1
    if not fresh:
        TARGET.parent.mkdir(parents=True, exist_ok=True)
        TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
