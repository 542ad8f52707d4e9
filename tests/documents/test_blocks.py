"""Every block of commands or Python in the documents is run, or says why not."""

import ast
import re

import click
import pytest

from dshconform.cli import cli
from dshconform.spec.mentions import mentioned_ids
from tests.documents.blocks import (
    CHECKOUT,
    GENERATED,
    REASONS,
    Block,
    Command,
    all_blocks,
    blocks_of,
    documents,
    is_printed,
    output_behind,
    problems,
)

CONTEXT = click.Context(cli)


def read(*lines: str) -> list[Block]:
    """The blocks of a document of these lines."""
    return list(blocks_of("\n".join(lines) + "\n", "page.md"))


@pytest.mark.parametrize("page", [path.relative_to(CHECKOUT).as_posix() for path in documents()])
def test_the_blocks_of_a_document_are_in_order(page: str) -> None:
    """Languages are known, commands are marked as such, and whatever is not run says so and why."""
    assert list(problems(list(blocks_of((CHECKOUT / page).read_text(encoding="utf-8"), page)))) == []


def test_the_reasons_are_told_to_who_writes() -> None:
    """CONTRIBUTING.md has the same closed list."""
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"(?m)^\| `(\w+)` \| (.*) \|$", text)) == REASONS


def test_marks_are_of_a_command_or_of_a_block() -> None:
    """Behind a command for that one, on a line of its own for all."""
    [one] = read("```sh", "a x  # says a (not run: long)", "b \\", "  y", "# only words", "```")
    assert one.commands == [Command("a x", "long"), Command("b    y", None)]
    [whole] = read("```sh", "# (not run: installs)", "a", "b  # b", "```")
    assert whole.commands == [Command("a", "installs"), Command("b", "installs")]
    [fragment] = read("```python", "# (not run: fragment)", "x", "```")
    assert fragment.reason == "fragment"


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (("```bash", "ls", "```"), "the language 'bash'"),
        (("```", "scripts/test", "```"), "give it the language sh"),
        (("```text", "dshconform run", "```"), "give it the language sh"),
        (("```", "$ ls", "```"), "give it the language sh"),
        (("```text", "# first", "scripts/test", "```"), "give it the language sh"),
        (("```sh", "a  # (not run: lazy)", "```"), "write (not run: REASON)"),
        (("```sh", "a  # not run: long", "```"), "write (not run: REASON)"),
        (("```python", "# not run", "```"), "write (not run: REASON)"),
        (('```text title="prints"', "a", "```"), "no block before it is run"),
        (("```sh", "# (not run: long)", "a", "```", '```text title="prints"', "a", "```"), "no block before it is run"),
    ],
)
def test_what_is_wrong_is_told(lines: tuple[str, ...], problem: str) -> None:
    """With the place and the remedy."""
    [told] = problems(read(*lines))
    assert told.startswith("page.md:")
    assert problem in told


def test_a_block_without_an_end_is_told() -> None:
    """It would swallow the rest of the page."""
    with pytest.raises(ValueError, match=r"page\.md:2: the block has no end"):
        read("", "```sh", "ls")


def test_output_is_shown_in_pieces() -> None:
    """All that stand behind a block, up to the next that is run, are what it prints."""
    piece = '```text title="prints"'
    blocks = read("```python", "x", "```", piece, "1", "```", "```json", "{}", "```", piece, "2", "```", "```sh", "```")
    assert output_behind(blocks, 0) == "1\n2\n"
    assert output_behind(blocks, len(blocks) - 1) is None


def test_a_line_of_dots_stands_for_any_lines() -> None:
    """Everything else is compared, but spaces at the end of a line."""
    assert is_printed("a\n…\nd\n", "a\nb\nc\nd\n")
    assert is_printed("a\n…\n", "a  \n")
    assert not is_printed("a\n…\nd\n", "a\nb\nc\n")
    assert not is_printed("a\n", "a\nb\n")


def inline_commands() -> list[tuple[str, str]]:
    """The commands of the project that stand in prose and tables, with their pages."""
    found = []
    for path in documents():
        page, text = path.relative_to(CHECKOUT).as_posix(), path.read_text(encoding="utf-8")
        prose = text
        for block in blocks_of(text, page):
            prose = prose.replace(block.text, "")
        found += [(page, code) for code in re.findall(r"`((?:dshconform|scripts/)[^`\n]*)`", prose)]
    return found


def test_commands_in_prose_are_there() -> None:
    """The subcommand exists, some command has each option, and the script is in the checkout."""
    sources = "".join(
        path.read_text(encoding="utf-8") for path in (CHECKOUT / "conformance/dshconform/cli").glob("*.py")
    )
    options = set(re.findall(r'"(--[a-z-]+)', sources))
    wrong = []
    for page, code in inline_commands():
        name, *arguments = code.split()
        own = arguments[: arguments.index("--")] if "--" in arguments else arguments
        if name.startswith("scripts/"):
            found = (CHECKOUT / name).exists()
        else:
            used = {word.partition("=")[0] for word in own if word.startswith("--")}
            subcommand = own[0] if own and own[0].isalpha() else None
            found = used <= options | {"--help"} and (subcommand is None or subcommand in cli.list_commands(CONTEXT))
        wrong += [] if found else [f"{page}: {code}"]
    assert wrong == []


def test_scenarios_that_are_named_are_there() -> None:
    """Each cites a clause that stands beside its name."""
    page = (CHECKOUT / "docs" / "guide" / "faq.md").read_text(encoding="utf-8")
    files = CHECKOUT / "conformance" / "dshconform" / "scenarios" / "files"
    texts = {path.stem.partition("-")[2]: path.read_text(encoding="utf-8") for path in files.glob("*.yaml")}
    named = re.findall(r"(?m)^Clauses: (.*?) Scenario: `([\w-]+)`\.$", page)
    assert len(named) == page.count("Clauses: ")
    for clauses, name in named:
        assert set(mentioned_ids(clauses)) & set(mentioned_ids(texts[name])), name


def declared(text: str) -> bool:
    """Whether Python is one declaration, with nothing in it that could be run; values and bodies are left out."""
    shown = text.rstrip().replace("…", "...")
    for whole in (shown, f"{shown}: ..."):
        try:
            tree = ast.parse(whole)
        except SyntaxError:
            continue
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.AnnAssign, ast.Assign)
        return len(tree.body) == 1 and isinstance(tree.body[0], kinds)
    return False


def test_the_catalog_has_declarations_alone() -> None:
    """Its Python is not run, for there is nothing to run: signatures and names."""
    pages = sorted((CHECKOUT / GENERATED).rglob("*.md"))
    blocks = [block for path in pages for block in blocks_of(path.read_text(encoding="utf-8"), path.name)]
    assert len(blocks) > 1000
    assert [block.place for block in blocks if block.language != "python" or not declared(block.text)] == []
    assert not declared("run()")
    assert not declared("x = 1\ny = 2")


def test_there_are_blocks() -> None:
    """A reader of Markdown that finds nothing would find nothing wrong."""
    languages = [block.language for block in all_blocks()]
    assert languages.count("sh") > 4
    assert languages.count("python") > 0
    assert len(inline_commands()) > 10
