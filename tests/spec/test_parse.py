from collections.abc import Callable
from pathlib import Path

import pytest

from dshconform.spec import Clause, Level, MalformedSpecification, Profile, Retired, Ruling, read_specification
from dshconform.spec.parse import parse_page

PageWriter = Callable[..., Path]


def test_a_clause_is_read_with_everything_that_it_says(write_pages: PageWriter) -> None:
    """Heading, text, bullets, section and place become one value."""
    assert read_specification(write_pages()).clauses["INBOX-CLAIM-02"] == Clause(
        id="INBOX-CLAIM-02",
        level=Level.SHOULD,
        profile=Profile.REFERENCE,
        text="The front is claimed `first`.\nIt is claimed once (INBOX-CLAIM-01).",
        observe="in process: look at `items[0]`.",
        violation="the back is claimed.",
        basis="ruling R-01 (the sources differ)",
        section="Claims",
        page="10-inbox.md",
        line=11,
    )


def test_a_clause_knows_its_group_area_and_rulings(write_pages: PageWriter) -> None:
    """They are read off id and basis."""
    clause = read_specification(write_pages()).clauses["INBOX-CLAIM-02"]
    assert (clause.group, clause.area, clause.rulings) == ("INBOX-CLAIM", "INBOX", ("R-01",))


def test_rulings_and_retired_numbers_are_read_from_their_tables(write_pages: PageWriter) -> None:
    """A range in the table retires every number in it."""
    specification = read_specification(write_pages())
    ruling = Ruling(id="R-01", question="Which end of the queue?", answer="The front.", page="05-rulings.md", line=5)
    assert specification.rulings == {"R-01": ruling}
    assert list(specification.retired) == ["INBOX-POP-01", "INBOX-POP-02", "INBOX-POP-03"]
    last = Retired(id="INBOX-POP-03", now="INBOX-CLAIM-01", page="10-inbox.md", line=22)
    assert specification.retired["INBOX-POP-03"] == last


def test_a_bullet_may_go_on_in_indented_lines(write_pages: PageWriter) -> None:
    """The lines are joined by a space."""
    root = write_pages(("- observe: claim twice.", "- observe: claim\n  twice."))
    assert read_specification(root).clauses["INBOX-CLAIM-01"].observe == "claim twice."


def test_a_clause_in_a_code_block_is_an_example() -> None:
    """The conventions show the form without stating a clause."""
    page = parse_page("x.md", "# X\n\n```\n### INBOX-CLAIM-01 · must · core\n```\n")
    assert (page.clauses, page.declared, page.problems) == ((), (), ())


def test_a_page_may_be_empty() -> None:
    """It has its file name for a title and states nothing."""
    page = parse_page("x.md", "")
    assert (page.title, page.clauses, page.problems) == ("x.md", (), ())


@pytest.mark.parametrize(
    ("old", "new", "rule", "place"),
    [
        ("· must · core", "· must", "heading", 5),
        ("· must · core", "- must - core", "heading", 5),
        ("· must · core", "· must · core · llm", "heading", 5),
        ("### INBOX-CLAIM-01", "## INBOX-CLAIM-01", "heading", 5),
        ("### INBOX-CLAIM-01", "###INBOX-CLAIM-01", "heading", 5),
        ("### INBOX-CLAIM-01", "### INBOX-CLAIM-1", "heading", 5),
        ("### INBOX-CLAIM-01", "### Inbox-Claim-01", "heading", 5),
        ("### INBOX-CLAIM-01", "### INBOX-CLAIM", "heading", 5),
        ("· must ·", "· shall ·", "level", 5),
        ("· core", "· kernel", "profile", 5),
        ("The queue is claimed in order.\n", "", "text", 5),
        ("- observe: claim twice.\n", "", "bullets", 5),
        ("- observe: claim twice.\n", "- observe: claim twice.\n- observe: and again.\n", "bullets", 5),
        ("- basis: seed\n", "", "bullets", 5),
        ("- basis: seed\n", "- basis:\n", "bullets", 5),
        ("- basis: seed\n", "- bases: seed\n", "bullets", 5),
        (
            "- observe: claim twice.\n- violation: the last one is claimed first.",
            "- violation: x\n- observe: y",
            "bullets",
            5,
        ),
        ("- basis: seed\n", "- basis: seed\n\nMore text.\n", "bullets", 5),
        ("- observe: claim twice.", "- observe: claim twice.\n```\n# x\n```", "bullets", 5),
        ("| INBOX-POP-01 to INBOX-POP-03 |", "| the old ones |", "retired", 22),
        ("# 10 · Inbox\n", "# 10 · Inbox\n```\n", "fence", 2),
    ],
)
def test_what_is_not_well_formed_is_a_problem_and_never_passed_over(
    write_pages: PageWriter, old: str, new: str, rule: str, place: int
) -> None:
    """The problem names its rule and its line, and the specification cannot be read."""
    with pytest.raises(MalformedSpecification) as caught:
        read_specification(write_pages((old, new)))
    assert [(problem.rule, problem.line) for problem in caught.value.problems] == [(rule, place)]


def test_a_malformed_ruling_is_a_problem(write_pages: PageWriter) -> None:
    """A row without its four cells decides nothing."""
    with pytest.raises(MalformedSpecification, match=r"05-rulings\.md:5: \[ruling\]"):
        read_specification(write_pages(("| R-01 |", "| first |"), page="05-rulings.md"))


def test_an_id_used_twice_is_a_problem(write_pages: PageWriter) -> None:
    """The second one would hide the first, and the number of clauses would be wrong."""
    with pytest.raises(MalformedSpecification, match=r"INBOX-CLAIM-01 stands already at 10-inbox\.md:5"):
        read_specification(write_pages(("### INBOX-CLAIM-02", "### INBOX-CLAIM-01")))
