"""The page about events in a trace has every event of the log, and the functions that append it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from dshcore.agent.inbox import SPLICED
from dshcore.session.vocabulary import END_SEED
from tests.documents.blocks import CHECKOUT

PAGE = (CHECKOUT / "docs" / "guide" / "events-in-a-trace.md").read_text(encoding="utf-8")
REFERENCE = CHECKOUT / "reference" / "dshcore"
NAMED = {"SPLICED": SPLICED, "END_SEED": END_SEED}

APPENDED = {
    kind: re.findall(r"\[`([\w.]+)`\]\(\.\./\.\./reference/dshcore/([\w/]+)\.py#\1\)", by)
    for kind, by in re.findall(r"(?ms)^### (\S+)\n.*?^- appended by: (.*?)\n- clauses: ", PAGE)
}


def test_every_type_of_event_is_explained() -> None:
    """Those of the table of the specification, and no others."""
    sheet = (CHECKOUT / "docs" / "spec" / "40-session.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| `(\w+/\w[\w/-]*)` \| .* \| (?:yes|no) \|$|^\| `(agent/inbox/spliced)` \|", sheet)
    assert set(APPENDED) == {first or second for first, second in rows}


def appends(tree: ast.AST, inside: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Every append of a type that is written down, with the qualified name of the function that it stands in."""
    for node in ast.iter_child_nodes(tree):
        deeper = inside
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            deeper = (*inside, node.name)
        yield from appends(node, deeper)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "append"
            and node.args
        ):
            match node.args[0]:
                case ast.Constant(value=str(kind)) if "/" in kind:
                    yield kind, ".".join(inside)
                case ast.Name(id=name) if name in NAMED:
                    yield NAMED[name], ".".join(inside)


def test_each_names_the_functions_that_append_it() -> None:
    """Found in the sources of the reference."""
    found = defaultdict(set)
    for path in sorted(REFERENCE.rglob("*.py")):
        for kind, function in appends(ast.parse(path.read_text(encoding="utf-8"))):
            found[kind].add((function, path.relative_to(REFERENCE).with_suffix("").as_posix()))
    assert {kind: set(by) for kind, by in APPENDED.items() if by} == dict(found)


def test_every_live_event_is_named() -> None:
    """With a link to its entry in the catalog."""
    catalog = (CHECKOUT / "docs" / "api" / "events.md").read_text(encoding="utf-8")
    there = set(re.findall(r"(?m)^## (\S+) \{: (#\S+) \}$", catalog))
    assert set(re.findall(r"\[`([^`]+)`\]\(\.\./api/events\.md(#[^)]+)\)", PAGE)) == there


def test_the_home_page_leads_here() -> None:
    """One click to the meaning of an event, a second one to the function that emits it."""
    home = Path(CHECKOUT / "docs" / "index.md").read_text(encoding="utf-8")
    assert "](guide/events-in-a-trace.md)" in home
    assert "](api/events.md)" in home
