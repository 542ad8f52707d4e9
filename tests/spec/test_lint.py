from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from dshconform.spec import spec_root
from dshconform.spec.lint import RULES, find_citing_files, lint_citations, lint_pages, main
from dshconform.spec.specification import read_pages

PageWriter = Callable[..., Path]


def test_the_specification_is_clean() -> None:
    """No rule finds anything on the project's own pages."""
    assert lint_pages(read_pages(spec_root())) == []


def test_a_small_clean_specification_has_no_problems(write_pages: PageWriter) -> None:
    """So whatever the tests below find comes from their one edit."""
    assert lint_pages(read_pages(write_pages())) == []


RULE_BREAKERS = [
    # rule, one edit of the clean page, how the problem begins
    ("form", ("· must ·", "· shall ·"), "5: [level] INBOX-CLAIM-01 has level 'shall'"),
    ("duplicate_ids", ("### INBOX-CLAIM-02", "### INBOX-CLAIM-01"), "11: [duplicate] INBOX-CLAIM-01 stands already"),
    ("duplicate_ids", ("| INBOX-POP-01 to INBOX-POP-03", "| INBOX-CLAIM-02"), "22: [duplicate] INBOX-CLAIM-02 stands"),
    ("one_title", ("## Claims", "# Claims"), "3: [title] 2 headings of level one"),
    ("one_title", ("# 10 · Inbox", "## 10 · Inbox"), "1: [title] 0 headings of level one"),
    ("ascending_groups", ("### INBOX-CLAIM-02", "### INBOX-CLAIM-00"), "11: [group] INBOX-CLAIM-00 stands behind"),
    (
        "known_references",
        ("(INBOX-CLAIM-01)", "(INBOX-CLAIM-07)"),
        "13: [reference] clause INBOX-CLAIM-07 does not exist",
    ),
    ("known_references", ("(INBOX-CLAIM-01)", "(INBOX-CLAIM-01/07)"), "13: [reference] clause INBOX-CLAIM-07 does not"),
    (
        "known_references",
        ("(INBOX-CLAIM-01)", "(INBOX-POP-02)"),
        "13: [reference] clause INBOX-POP-02 is retired; cite",
    ),
    ("known_groups", ("(INBOX-CLAIM-01)", "(INBOX-CLAMS)"), "13: [reference] group INBOX-CLAMS does not exist"),
    ("basis_form", ("- basis: seed", "- basis: rumour"), "5: [basis] INBOX-CLAIM-01 has basis 'rumour'"),
    ("basis_form", ("- basis: seed", "- basis: seedling"), "5: [basis] INBOX-CLAIM-01 has basis 'seedling'"),
    ("known_rulings", ("ruling R-01 (the", "ruling R-01, R-02 (the"), "16: [ruling] ruling R-02 does not exist"),
    ("reference_in_process", ("in process: look", "look"), "11: [in-process] INBOX-CLAIM-02 binds the reference alone"),
    ("no_raw_html", ("`first`", "<first>"), "12: [html] <first> would not be shown"),
]


@pytest.mark.parametrize(("function", "edit", "expected"), RULE_BREAKERS)
def test_each_rule_finds_what_breaks_it(
    write_pages: PageWriter, function: str, edit: tuple[str, str], expected: str
) -> None:
    """One edit to a clean specification is one problem, at its place, found by the rule that is meant."""
    pages = read_pages(write_pages(edit))
    found = [problem for problem in lint_pages(pages) if problem.page == "10-inbox.md"]
    assert len(found) == 1
    assert str(found[0]).startswith(f"10-inbox.md:{expected}")
    owner = next(candidate for candidate in RULES if getattr(candidate, "__name__", "").strip("_") == function)
    assert found[0] in list(owner(pages))


@pytest.mark.parametrize(
    ("function", "page", "edit", "message"),
    [
        ("known_rulings", "05-rulings.md", ("| R-01 |", "| R-02 |"), "ruling R-02 decides no clause"),
        ("index_complete", "index.md", ("[inbox](10-inbox.md)", "inbox"), "10-inbox.md is not linked"),
        ("index_complete", "index.md", ("(10-inbox.md)", "(11-inbox.md)"), "11-inbox.md is linked but does not exist"),
    ],
)
def test_rules_about_other_pages_find_what_breaks_them(
    write_pages: PageWriter, function: str, page: str, edit: tuple[str, str], message: str
) -> None:
    """A ruling that decides nothing and an index with gaps or dead links are problems of their pages."""
    pages = read_pages(write_pages(edit, page=page))
    found = [problem for problem in lint_pages(pages) if problem.page == page]
    assert message in " ".join(problem.message for problem in found)
    owner = next(candidate for candidate in RULES if getattr(candidate, "__name__", "").strip("_") == function)
    assert any(problem in found for problem in owner(pages))


def test_a_missing_index_is_a_problem(write_pages: PageWriter) -> None:
    """Readers and the site begin there."""
    root = write_pages()
    (root / "index.md").unlink()
    assert [problem.rule for problem in lint_pages(read_pages(root))] == ["index"]


def test_a_group_on_two_pages_is_a_problem(write_pages: PageWriter) -> None:
    """Whoever looks for a clause of the group opens one page."""
    root = write_pages()
    clause = "### INBOX-CLAIM-03 · must · core\nText.\n- observe: a.\n- violation: b.\n- basis: seed\n"
    page = root / "05-rulings.md"
    page.write_text(f"{page.read_text(encoding='utf-8')}\n{clause}", encoding="utf-8")
    problems = [problem for problem in lint_pages(read_pages(root)) if problem.rule == "group"]
    assert [problem.message for problem in problems] == [
        "INBOX-CLAIM-01 stands apart from its group, which is on 05-rulings.md",
        "INBOX-CLAIM-02 stands apart from its group, which is on 05-rulings.md",
    ]


def test_every_rule_is_broken_by_a_test_above() -> None:
    """A rule that nothing breaks could be empty."""
    broken = {function for function, *_ in RULE_BREAKERS} | {"index_complete", "known_rulings"}
    assert {getattr(rule, "__name__", "").strip("_") for rule in RULES} == broken


def test_a_citation_of_a_clause_that_does_not_exist_is_a_problem(write_pages: PageWriter, tmp_path: Path) -> None:
    """Source code is held to the specification's ids, line by line."""
    source = tmp_path / "claim.py"
    source.write_text("# INBOX-CLAIM-01\n# INBOX-CLAIM-04\n# INBOX-POP-01\n", encoding="utf-8")
    problems = lint_citations(read_pages(write_pages()), [source])
    assert [str(problem) for problem in problems] == [
        f"{source}:2: [citation] clause INBOX-CLAIM-04 does not exist",
        f"{source}:3: [citation] clause INBOX-POP-01 is retired; cite INBOX-CLAIM-01",
    ]


def test_citing_files_are_the_sources_below_a_directory(tmp_path: Path) -> None:
    """Hidden directories, foreign packages, other kinds of file and the pages themselves are left out."""
    wanted = ["code/a.py", "code/deep/b.yaml"]
    others = ["code/.cache/c.py", "code/node_modules/x/d.mjs", "code/e.png", "spec/f.md"]
    for name in wanted + others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert list(find_citing_files([tmp_path], tmp_path / "spec")) == [tmp_path / name for name in wanted]


@pytest.mark.parametrize(
    ("edits", "status", "last_line"),
    [
        ([], 0, "4 pages, 2 clauses, 0 problems"),
        ([("- basis: seed", "- basis: rumour")], 1, "4 pages, 2 clauses, 1 problems"),
    ],
)
def test_the_command_prints_problems_and_answers_by_its_status(
    write_pages: PageWriter, edits: list[tuple[str, str]], status: int, last_line: str
) -> None:
    """0 is clean, 1 is not."""
    result = CliRunner().invoke(main, ["--root", str(write_pages(*edits))])
    assert (result.exit_code, result.output.splitlines()[-1]) == (status, last_line)


def test_the_command_refuses_a_path_that_does_not_exist(tmp_path: Path) -> None:
    """A misspelt directory is not a clean one."""
    result = CliRunner().invoke(main, [str(tmp_path / "missing")])
    assert result.exit_code == 2
    assert "missing" in result.output
