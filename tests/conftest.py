"""Hypothesis profiles: `dev` is quick, `ci` the same on every machine, `deep` for a night (HYPOTHESIS_PROFILE)."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("deep", max_examples=5000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


@pytest.fixture(scope="session")
def project_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's documentation, built."""
    from tests.site.building import build_project  # it imports the suite, which typeguard has to be there before

    return build_project(tmp_path_factory)
