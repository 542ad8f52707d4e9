"""The fenced blocks of the project's documents: what they are, and which of them are run.

A block of commands has the language `sh`, a block of Python `python`. Each is run by a test, unless it says that it is
not and why: `(not run: REASON)` in a comment, behind a command for that command, on a line of its own for the whole
block. Readers see it, in the file as on the site.

Two titles mean something: `text title="prints"` is what the block before it prints, a line `…` standing for any lines;
and a title that is the name of a file says that the block is that file.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).parents[2]

REASONS: Final[Mapping[str, str]] = {
    "installs": "It installs something, or makes an environment.",
    "long": "It takes longer than half a minute.",
    "yours": "It needs a program or a file of yours.",
    "interactive": "It waits for a person, or goes on until it is stopped.",
    "fragment": "It is a piece of a program, shown for its form.",
}
"""Why a block may be left alone. CONTRIBUTING.md has the same list."""

LANGUAGES: Final = frozenset({"", "json", "jsonl", "mermaid", "python", "sh", "sql", "text", "yaml"})
GENERATED: Final = "docs/api/"
"""The API catalog, whose Python blocks are signatures and no programs."""

PRINTS: Final = "prints"
_FENCE: Final = re.compile(r" *(?P<ticks>`{3,}|~{3,}) *(?P<language>[\w+-]*)(?P<options>[^`]*)")
_TITLE: Final = re.compile(r'\btitle="([^"]*)"')
_MARK: Final = re.compile(r"\(not run: ([\w-]+)\)")
_COMMAND: Final = re.compile(
    r"\$ |(?:\S*/)?(?:scripts/\w|dshconform |python[\d.]* |pip |npm |node |mkdocs |git |pytest\b)"
)


@dataclass(frozen=True)
class Command:
    """A command of a block.

    Attributes:
        line: As it is written, without its comment.
        reason: Why it is not run, if it is not.
    """

    line: str
    reason: str | None


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: The file, relative to the checkout.
        line: The number of its first line, the fence.
        language: As the fence has it.
        title: As the fence has it; empty without one.
        text: What stands between the fences.
    """

    page: str
    line: int
    language: str
    title: str
    text: str

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{self.page}:{self.line}"

    @property
    def reason(self) -> str | None:
        """Why the whole block is not run, if it is not."""
        for line in self.text.splitlines():
            if line.lstrip().startswith("#") and (mark := _MARK.search(line)):
                return mark[1]
        return None

    @property
    def commands(self) -> Sequence[Command]:
        """The commands of a block of commands; a line that ends with a backslash goes on."""
        found = []
        for line in self.text.replace("\\\n", " ").splitlines():
            command, _, comment = line.partition(" #")
            if command.strip() and not command.lstrip().startswith("#"):
                mark = _MARK.search(comment)
                found.append(Command(command.strip(), mark[1] if mark else self.reason))
        return found


def documents() -> Sequence[Path]:
    """The documents that people write, and the generated ones that have commands."""
    found = [*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md"), *(CHECKOUT / "examples").rglob("*.md")]
    return sorted(path for path in found if not path.relative_to(CHECKOUT).as_posix().startswith(GENERATED))


def blocks_of(text: str, page: str) -> Iterator[Block]:
    """Read the blocks of a document.

    Raises:
        ValueError: A block has no end.
    """
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        fence = _FENCE.fullmatch(line)
        if fence is None:
            continue
        inside: list[str] = []
        for _, following in lines:
            if following.strip() == fence["ticks"]:
                break
            inside.append(following)
        else:
            raise ValueError(f"{page}:{number}: the block has no end")
        title = _TITLE.search(fence["options"])
        yield Block(page, number, fence["language"], title[1] if title else "", "\n".join(inside) + "\n")


def all_blocks() -> Sequence[Block]:
    """The blocks of all documents, page by page."""
    pages = ((path.relative_to(CHECKOUT).as_posix(), path.read_text(encoding="utf-8")) for path in documents())
    return [block for page, text in pages for block in blocks_of(text, page)]


def problems(blocks: Sequence[Block]) -> Iterator[str]:
    """Tell what is wrong with the blocks of one document, each with its place."""
    before: Block | None = None
    for block in blocks:
        if block.language not in LANGUAGES:
            yield f"{block.place}: the language {block.language!r}: use one of {', '.join(sorted(LANGUAGES - {''}))}"
        commands = any(_COMMAND.match(line.lstrip()) for line in block.text.splitlines())
        if block.language in {"", "text"} and block.title != PRINTS and commands:
            yield f"{block.place}: a block of commands: give it the language sh, so that it is run"
        if block.language in {"sh", "python"}:
            for mark in re.findall(r"#.*not run.*", block.text):
                if not (found := _MARK.search(mark)) or found[1] not in REASONS:
                    yield f"{block.place}: {mark!r}: write (not run: REASON), with one of {', '.join(REASONS)}"
        if block.title == PRINTS:
            if before is None or before.language not in {"sh", "python"} or before.reason is not None:
                yield f"{block.place}: shows what is printed, but no block before it is run"
        elif block.language in {"sh", "python"}:
            before = block


def output_behind(blocks: Sequence[Block], at: int) -> str | None:
    """What is said to be printed by the block at an index: all pieces up to the next block that is run, if any."""
    pieces: list[str] = []
    for block in blocks[at + 1 :]:
        if block.title == PRINTS:
            pieces.append(block.text)
        elif block.language in {"sh", "python"}:
            break
    return "".join(pieces) if pieces else None


def is_printed(shown: str, printed: str) -> bool:
    """Tell whether what is shown is what was printed; a line `…` stands for any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line.rstrip()) + r" *\n" for line in shown.splitlines()
    )
    return re.fullmatch(pattern, printed) is not None
