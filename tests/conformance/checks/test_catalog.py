"""Checks are selected by name, contract or clause; unknown names are answered with what was perhaps meant."""

import pytest

from dshconform.checks.catalog import UnknownName, all_checks, checks_for, select
from dshconform.spec.specification import load_specification

CHECKS = all_checks()


def names(**by: tuple[str, ...]) -> list[str]:
    return [check.name for check in select(CHECKS, **by)]


def test_nothing_given_selects_all() -> None:
    """The default run is every check, scenarios first."""
    assert select(CHECKS) == CHECKS
    assert CHECKS[0].name == "scenario/plain-turn"
    assert CHECKS[-1].name.startswith("machine/")


def test_by_name_contract_and_clause() -> None:
    """Names may leave out the kind; several selections add up, in the order of the catalog."""
    assert names(names=("queue", "scenario/plain-turn")) == ["scenario/plain-turn", "scenario/queue"]
    assert names(contracts=("configuration",)) == [
        "scenario/configured-agents",
        "scenario/conflicting-identities",
        "scenario/identities-of-a-launcher",
        "scenario/failing-configured-agent",
        "scenario/contained-start-failures",
    ]
    assert "scenario/reject" in names(clauses=("LOOP-PRE-05",))
    assert names(clauses=("PER-LRU-01",)) == []


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ({"names": ("plain-trun",)}, "there is no check 'plain-trun'; did you mean scenario/plain-turn"),
        ({"contracts": ("inbx",)}, "there is no contract 'inbx'; did you mean inbox?"),
        ({"contracts": ("zzz",)}, "there is no contract 'zzz'; known: cancellation, configuration, contexts, effects"),
    ],
)
def test_unknown_names(by: dict[str, tuple[str, ...]], message: str) -> None:
    """The error has the near misses, or all names."""
    with pytest.raises(UnknownName) as caught:
        names(**by)
    assert message in str(caught.value)


def test_every_cited_clause_exists_and_is_checkable() -> None:
    """No check cites an unknown clause, nor one of level `may`."""
    specification = load_specification()
    for check in CHECKS:
        for clause in check.clauses:
            assert specification.clause(clause).level in {"must", "should"}


def test_the_checks_of_a_clause() -> None:
    """`explain` lists scenarios, machines and invariants that cite a clause."""
    assert "scenario/inject" in checks_for("INBOX-CLAIM-01")
    assert checks_for("PER-LRU-01") == []
