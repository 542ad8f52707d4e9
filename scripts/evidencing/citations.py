"""Where sources cite clauses: in docstrings and comments, by the definition that these belong to."""

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dshconform.spec.mentions import mentioned_ids

_BETWEEN: Final = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT})


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A definition that cites a clause.

    Args:
        file: Its file, from the folder that was read.
        symbol: Its name in the module, `Driver._run_turn`; empty for the module itself.
    """

    file: str
    symbol: str


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of a definition.

    Args:
        first: The first one; that of its decorators, if it has some.
        last: The last one.
        symbol: Its name in the module.
    """

    first: int
    last: int
    symbol: str


def cited_in(folder: Path) -> Mapping[str, Sequence[Place]]:
    """Read all sources in a folder.

    Args:
        folder: Its Python files are read, and those below.

    Returns:
        For every clause that is cited, the places, in the order of files and lines.
    """
    found: dict[str, dict[Place, None]] = {}
    for file in sorted(folder.rglob("*.py")):
        name = file.relative_to(folder).as_posix()
        for clause, symbol in _citations(file.read_text(encoding="utf-8")):
            found.setdefault(clause, {})[Place(name, symbol)] = None
    return {clause: tuple(_narrowest(places)) for clause, places in found.items()}


def _narrowest(places: Iterable[Place]) -> Iterator[Place]:
    """The places without modules of which a definition cites the same clause: that says more."""
    defining = {place.file for place in places if place.symbol}
    return (place for place in places if place.symbol or place.file not in defining)


def _citations(source: str) -> Iterator[tuple[str, str]]:
    """The clauses that a module cites, each with the symbol, in the order of lines."""
    tree = ast.parse(source)
    spans = list(spans_in(tree))
    for line, text in sorted([*_strings(tree), *_comments(source)]):
        around = [span for span in spans if span.first <= line <= span.last]
        symbol = min(around, key=lambda span: span.last - span.first).symbol if around else ""
        for clause in mentioned_ids(text):
            yield clause, symbol


def spans_in(
    owner: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, within: str = ""
) -> Iterator[Span]:
    """The definitions in another one, and what it assigns: with the docstring behind it, if it has one.

    Args:
        owner: The module, class or function.
        within: What its name in the module puts before theirs.
    """
    return _spans(owner.body, within, variables=isinstance(owner, ast.Module | ast.ClassDef))


def _spans(body: Sequence[ast.stmt], within: str, *, variables: bool) -> Iterator[Span]:
    """Those in a block, and in the blocks of its statements; a variable of a function is no place to look for."""
    for position, node in enumerate(body):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                yield Span(first, node.end_lineno or first, within + node.name)
                yield from spans_in(node, f"{within}{node.name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if variables:
                behind = body[position + 1] if position + 1 < len(body) else node
                last = behind if _is_docstring(behind) else node
                yield Span(node.lineno, last.end_lineno or node.lineno, within + name)
            case ast.If() | ast.Try():
                yield from _spans([*node.body, *node.orelse], within, variables=variables)
            case ast.With() | ast.AsyncWith():
                yield from _spans(node.body, within, variables=variables)
            case _:
                pass


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Comments. Those on lines of their own stand together, at the line of what comes behind them in the same block."""
    together: list[tokenize.TokenInfo] = []
    before = 1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if not token.line[: token.start[1]].strip():
                together.append(token)
            else:
                yield token.start[0], token.string
        elif token.type not in _BETWEEN:
            if together:
                is_last = token.start[1] < together[0].start[1]  # the block has ended
                yield before if is_last else token.start[0], "\n".join(one.string.lstrip("# ") for one in together)
                together = []
            before = token.start[0]
