"""The API catalog says what the sources say, and finds what is missing in them: each on a small package of its own."""

import textwrap
from pathlib import Path

import pytest
from cataloguing.pages import Catalog, pages
from cataloguing.reading import doc_of, walk
from gen_api_catalog import PACKAGES, ROOT, defects, read_catalog, stale

KNOWN = frozenset({"PLAY-KNOWN-01"})

SOUND = '''
    """A small package."""

    from collections.abc import Callable
    from typing import Final, Generic, TypeVar

    P = TypeVar("P")


    class Emit(Generic[P]):
        """A key.

        Args:
            name: The event's name.
        """

        def __init__(self, name: str) -> None: ...


    class Context:
        """Dispatches."""

        def emit(self, key: Emit[P], payload: P) -> None:
            """Call the listeners of a key with a payload.

            Spec:
                PLAY-KNOWN-01
            """
            self.serial(key, payload)

        def serial(self, key: Emit[P], payload: P) -> None:
            """Await the listeners of a key with a payload, one after another."""

        def on(self, key: Emit[P], listener: Callable[[P], object]) -> None:
            """Have a listener called for a key."""


    PLAYED: Final = Emit[str]("play/played")
    """A piece was played."""


    def play(ctx: Context, piece: str) -> bool:
        """Play a piece.

        Args:
            ctx: Where it is told.
            piece: Its name.

        Returns:
            Whether anybody listened.

        Raises:
            ValueError: The piece has no name.
        """
        if not piece:
            raise ValueError("no name")
        ctx.emit(PLAYED, piece)
        return True


    async def rest(seconds: float) -> None:
        """Wait for so many seconds; a cancellation ends the waiting."""
'''


def catalog_of(folder: Path, *changes: tuple[str, str]) -> Catalog:
    """The catalog of the small package, its text changed."""
    text = textwrap.dedent(SOUND)
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "play").mkdir()
    (folder / "play" / "__init__.py").write_text(text, "utf-8")
    return read_catalog(folder, {"play": "."})


def wrong(folder: Path, *changes: tuple[str, str]) -> list[str]:
    """What is wrong with the small package when its text is changed."""
    return list(defects(catalog_of(folder, *changes), KNOWN, {"play"}))


def test_a_sound_package_has_no_defect(tmp_path: Path) -> None:
    """Else what follows would prove nothing."""
    assert wrong(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('"""A small package."""', "", "play: has no docstring"),
        ('    """Dispatches."""\n', "", "play.Context: has no docstring"),
        ('"""A piece was played."""', "", "play.PLAYED: has no docstring, and its class does not say what it is"),
        (
            '"""Await the listeners of a key with a payload, one after another."""',
            '"""Await the listeners of a key, one after another."""',
            "play.Context.serial: the docstring does not say what 'payload' is: add it under `Args`",
        ),
        (
            "    Returns:\n        Whether anybody listened.\n",
            "",
            "play.play: the docstring does not say what is answered: add `Returns`",
        ),
        (
            "ValueError: The piece has no name.",
            "OSError: It cannot be heard.",
            "play.play: the docstring does not say when ValueError is raised: add it under `Raises`",
        ),
        (
            "; a cancellation ends the waiting.",
            ".",
            "play.rest: the docstring of a coroutine does not say what a cancellation leaves: add `Cancellation`",
        ),
        (
            "ctx.emit(PLAYED, piece)",
            "ctx.emit(PLAYED, piece)\n    ctx.serial(PLAYED, piece)",
            "play.play: dispatches 'play/played' by `serial`, but it is declared as Emit",
        ),
        (
            "ctx.emit(PLAYED, piece)",
            "ctx.on(PLAYED, print)",
            "play.PLAYED: 'play/played' is declared and never dispatched: remove it, or dispatch it",
        ),
        (
            "ctx.emit(PLAYED, piece)",
            "key = PLAYED\n    ctx.emit(PLAYED, piece)\n    ctx.emit(key, piece)",
            "play.play: `emit(key, …)` does not name the key of its event: write it there",
        ),
        (
            "PLAY-KNOWN-01",
            "PLAY-KNOWN-02",
            "play.Context.emit: cites PLAY-KNOWN-02, which the specification does not have",
        ),
    ],
)
def test_a_defect_is_found(tmp_path: Path, old: str, new: str, found: str) -> None:
    """One line names the place and the remedy."""
    assert wrong(tmp_path, (old, new)) == [found]


def test_pages_name_what_a_package_has(tmp_path: Path) -> None:
    """A module's names with their signatures, and an event with who dispatches it."""
    written = pages(catalog_of(tmp_path))
    assert set(written) == {"index.md", "events.md", "services.md", "play/index.md"}
    assert "def play(ctx: Context, piece: str) -> bool" in written["play/index.md"]
    assert "| `piece` | `str` | Its name. |" in written["play/index.md"]
    assert "**Raises** `ValueError`: The piece has no name." in written["play/index.md"]
    assert "| dispatched by | [`play`](play/index.md#play) |" in written["events.md"]
    assert "| listened to by | nobody in the core: it is for plugins |" in written["events.md"]


def test_pages_that_differ_are_stale(tmp_path: Path) -> None:
    """A page that is missing, changed, or about what is no more."""
    written = {"a.md": "A", "b.md": "B", "c.md": "C"}
    for name, text in {"a.md": "A", "b.md": "changed", "d.md": "D"}.items():
        (tmp_path / name).write_text(text, "utf-8")
    assert [line.partition(" is ")[0] for line in stale(written, tmp_path)] == [
        "docs/api/b.md",
        "docs/api/c.md",
        "docs/api/d.md",
    ]


def test_the_catalog_is_whole_and_the_same_each_time() -> None:
    """Every public name of both packages has a heading on the page of its module; a second reading gives the same."""
    catalog = read_catalog(ROOT, PACKAGES)
    written = pages(catalog)
    assert written == pages(read_catalog(ROOT, PACKAGES))
    for package in catalog.packages:
        for module in package.modules:
            text = next(page for page in written.values() if page.startswith(f"# {module.path}\n"))
            for named in module.names:
                assert f"{{: #{named.name} ." in text, named.path
            assert doc_of(module.tree) is not None
            assert len(list(walk(module.names))) >= len(module.names)
