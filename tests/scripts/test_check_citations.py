"""The comparison of clauses and citations finds what is missing, listed in vain, or listed too often."""

from collections.abc import Sequence

import check_citations as script
import pytest
from check_citations import Listed, Sheet, Uncited, counts, problems

from dshconform.spec.clause import Clause, Level, Profile

TEST = "tests/scripts/test_check_citations.py::test_a_clause_that_nothing_cites_is_missing"
CLAUSES = [
    Clause(
        id=f"TEST-PAGE-{number:02}",
        level=Level.SHOULD if number == 25 else Level.MUST,
        profile=Profile.PERSISTENCE if number == 24 else Profile.CORE,
        text="",
        observe="",
        violation="",
        basis="",
        section="",
        page="10-test.md",
        line=number,
    )
    for number in range(1, 26)
]
EVERY = frozenset(clause.id for clause in CLAUSES[:23])
COMPLETE = [Sheet(page="10-test.md", later=("persistence",))]


def told(cited: frozenset[str], uncited: Sequence[Uncited] = (), complete: Sequence[Sheet] = COMPLETE) -> list[str]:
    """What is said to be wrong."""
    listed = Listed(complete=list(complete), uncited=list(uncited))
    return problems(list(counts(CLAUSES, cited, listed)), cited, listed, {clause.id: clause for clause in CLAUSES})


def uncited(clause: str, test: str = TEST) -> Uncited:
    """An entry of the list."""
    return Uncited(clause=clause, test=test, why="it states an absence")


def test_a_sheet_of_which_everything_is_cited_is_in_order() -> None:
    """A clause that is no must, and one of a profile that comes later, need no citation."""
    assert told(EVERY) == []


def test_a_clause_that_nothing_cites_is_missing() -> None:
    """Of a complete sheet it is named, of another one it is only counted."""
    (problem,) = told(EVERY - {"TEST-PAGE-07"})
    assert problem.startswith("TEST-PAGE-07 of 10-test.md is cited nowhere")
    assert told(frozenset(), complete=()) == []


def test_what_is_listed_need_not_be_cited() -> None:
    """One clause of twenty-three is under one in twenty, two are not."""
    assert told(EVERY - {"TEST-PAGE-07"}, [uncited("TEST-PAGE-07")]) == []
    (problem,) = told(EVERY - {"TEST-PAGE-07", "TEST-PAGE-08"}, [uncited("TEST-PAGE-07"), uncited("TEST-PAGE-08")])
    assert problem == "10-test.md: 2 of 23 clauses are listed as uncited; under 5 % may be"


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([uncited("TEST-PAGE-01")], "TEST-PAGE-01 is listed as uncited, but the reference cites it"),
        ([uncited("TEST-PAGE-99")], "there is no such clause"),
        ([uncited("TEST-PAGE-24", "tests/scripts/test_x.py::test_y")], "there is no test 'tests/scripts/test_x.py"),
        ([uncited("TEST-PAGE-24", TEST + "_not")], "there is no test"),
        ([uncited("TEST-PAGE-24", TEST.replace("test_a_clause", "a_clause"))], "there is no test"),
        ([uncited("TEST-PAGE-24"), uncited("TEST-PAGE-24")], "each clause once"),
        ([uncited("TEST-PAGE-25"), uncited("TEST-PAGE-24")], "must be sorted"),
    ],
)
def test_an_entry_that_is_wrong_is_named(entries: Sequence[Uncited], problem: str) -> None:
    """What is cited, what does not exist, a test that is none, a clause twice, and disorder."""
    assert any(problem in line for line in told(EVERY, entries))


def test_a_sheet_that_is_none_is_named() -> None:
    """A misspelt page would otherwise demand nothing."""
    assert told(EVERY, complete=[Sheet(page="11-test.md")]) == ["11-test.md is no sheet of the specification"]


def test_the_reference_cites_what_it_implements(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list in the repository is true."""
    monkeypatch.setattr("sys.argv", ["check_citations.py", "--check"])
    assert script.main() == 0, capsys.readouterr().err
