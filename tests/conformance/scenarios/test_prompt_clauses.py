"""The scenarios of the profile `prompt`."""

from dshconform.checks.catalog import all_checks
from dshconform.scenarios.check import ScenarioCheck
from dshconform.spec import load_specification
from dshconform.spec.clause import Level, Profile


def test_every_clause_of_the_profile_is_demanded() -> None:
    """Each `must` of the profile is demanded by a scenario that runs where the profile is declared."""
    demanded = {
        clause
        for check in all_checks()
        if isinstance(check, ScenarioCheck) and check.profile in {"core", "prompt"}
        for clause in check.clauses
    }
    musts = load_specification().select(levels=[Level.MUST], profiles=[Profile.PROMPT])
    assert [clause.id for clause in musts if clause.id not in demanded] == []
