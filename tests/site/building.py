"""Builds documentation for a test, as a reader would."""

import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def build(config: Path, site: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build strictly: a warning is a failure.

    Args:
        config: The `mkdocs.yml`.
        site: The folder for what is built.
        environment: Variables beside those of this process.
    """
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(
        [*command, "--config-file", str(config), "--site-dir", str(site)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(CHECKOUT / "conformance")} | environment,
    )
