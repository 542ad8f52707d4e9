import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dshconform.spec import Level, Profile, UnknownClause, load_specification, read_specification, spec_root

PageWriter = Callable[..., Path]


def test_every_clause_heading_of_the_pages_becomes_a_clause() -> None:
    """The denominator of every report is what a plain search of the pages counts."""
    pages = [path.read_text(encoding="utf-8") for path in sorted(spec_root().glob("[1-9]*.md"))]
    headings = [found for text in pages for found in re.findall(r"(?m)^### (\S+) · \S+ · \S+$", text)]
    assert list(load_specification().clauses) == headings
    assert len(headings) > 1000


def test_a_clause_is_found_whatever_the_capitals(write_pages: PageWriter) -> None:
    """What is typed in a hurry is understood."""
    assert read_specification(write_pages()).clause("inbox-claim-01").id == "INBOX-CLAIM-01"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("INBOX-CLAIM-09", ("INBOX-CLAIM-01", "INBOX-CLAIM-02")),
        ("INBOX-CLAM-02", ("INBOX-CLAIM-02", "INBOX-CLAIM-01")),
        ("inbox-claim", ("INBOX-CLAIM-01", "INBOX-CLAIM-02")),
        ("INBOX", ("INBOX-CLAIM-01", "INBOX-CLAIM-02")),
        ("ZZZ", ()),
    ],
)
def test_an_unknown_clause_is_refused_with_the_near_misses(
    write_pages: PageWriter, name: str, near: Sequence[str]
) -> None:
    """A typing error, a wrong number and the name of a group lead to the clauses meant."""
    with pytest.raises(UnknownClause, match=f"no clause '{name}'") as caught:
        read_specification(write_pages()).clause(name)
    assert caught.value.near == near


def test_a_retired_clause_is_refused_with_the_place_of_the_fact(write_pages: PageWriter) -> None:
    """Whoever follows an old reference learns where it leads now."""
    with pytest.raises(UnknownClause, match="'INBOX-POP-02' is retired; the fact stands now in INBOX-CLAIM-01"):
        read_specification(write_pages()).clause("INBOX-POP-02")


@pytest.mark.parametrize(
    ("profiles", "levels", "groups", "expected"),
    [
        ([], [], [], ["INBOX-CLAIM-01", "INBOX-CLAIM-02"]),
        ([Profile.CORE], [], [], ["INBOX-CLAIM-01"]),
        ([], [Level.SHOULD], [], ["INBOX-CLAIM-02"]),
        ([Profile.CORE], [Level.SHOULD], [], []),
        ([], [], ["inbox-claim"], ["INBOX-CLAIM-01", "INBOX-CLAIM-02"]),
        ([Profile.CORE, Profile.REFERENCE], [], ["INBOX"], ["INBOX-CLAIM-01", "INBOX-CLAIM-02"]),
    ],
)
def test_a_selection_fits_profile_level_and_group(
    write_pages: PageWriter,
    profiles: Sequence[Profile],
    levels: Sequence[Level],
    groups: Sequence[str],
    expected: Sequence[str],
) -> None:
    """Several names of one kind widen the choice, several kinds narrow it."""
    chosen = read_specification(write_pages()).select(profiles=profiles, levels=levels, groups=groups)
    assert [clause.id for clause in chosen] == expected


def test_an_unknown_group_is_refused_with_the_near_misses(write_pages: PageWriter) -> None:
    """It does not select nothing in silence."""
    with pytest.raises(UnknownClause, match="no group 'INBOX-CLAM' in the specification; near misses: INBOX-CLAIM"):
        read_specification(write_pages()).select(groups=["INBOX-CLAM"])
