"""Builds documentation for a test, as a reader would."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def build_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the project's documentation once for all tests of a run, in however many processes.

    `DSH_SITE` names a folder where it has been built already, from the same files.
    """
    from dshconform.adapters.one_at_a_time import (
        one_at_a_time,
    )  # typeguard watches only what is imported after conftest

    given = os.environ.get("DSH_SITE")
    if given:
        site = Path(given).resolve()
        assert (site / "index.html").is_file(), f"DSH_SITE={given}: no site was built there"
        return site
    own = tmp_path_factory.getbasetemp()
    run = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    site, done = run / "project-site", run / "project-site.built"
    with one_at_a_time(run / "project-site.lock", lambda: None):
        if not done.exists():
            result = build(CHECKOUT / "mkdocs.yml", site)
            assert result.returncode == 0, result.stderr
            done.touch()
    return site
