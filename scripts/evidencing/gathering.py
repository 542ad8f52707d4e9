"""Everything that is known of the clauses, gathered from the checkout."""

from collections.abc import Mapping
from pathlib import Path

from check_citations import read_listed

from dshconform.faults import ALL_FAULTS
from dshconform.faults.coverage import load_exceptions
from dshconform.spec.clause import Clause
from evidencing.block import Evidence
from evidencing.citations import cited_in
from evidencing.holding import checks_by_clause, faults_by_clause
from evidencing.statuses import read_statuses, standings


def gather(root: Path, clauses: Mapping[str, Clause]) -> Mapping[str, Evidence]:
    """Read what stands behind each clause.

    Args:
        root: The checkout.
        clauses: All that there are.

    Raises:
        OSError: A data file cannot be read.
        YamlError: One is no YAML.
        msgspec.DecodeError: One says something else than it should, or is no JSON.
    """
    data = root / "docs" / "data"
    code = cited_in(root / "reference" / "dshcore")
    tests = cited_in(root / "tests" / "reference")
    checks, faults = checks_by_clause(), faults_by_clause(data / "coverage.json")
    statuses = read_statuses(data / "status.json")
    uncited = {entry.clause: entry.why for entry in read_listed(data / "uncited.yaml").uncited}
    unfaulted = {entry.clause: entry.reason for entry in load_exceptions(clauses, ALL_FAULTS)}
    return {
        clause: Evidence(
            code=code.get(clause, ()),
            uncited=uncited.get(clause),
            checks=checks.get(clause, ()),
            tests=[place for place in tests.get(clause, ()) if place.symbol.startswith("test_")],
            faults=faults.get(clause, ()),
            unfaulted=unfaulted.get(clause),
            standings=standings(statuses, clause),
        )
        for clause in clauses
    }
