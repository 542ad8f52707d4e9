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
    return list(defects(catalog_of(folder, *changes), KNOWN))


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
            "ctx.emit(PLAYED, piece)",
            "keys = [PLAYED]\n    ctx.emit(PLAYED, piece)\n    ctx.emit(keys[0], piece)",
            "play.play: `emit(keys[0], …)` does not name the key of its event: write it there",
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


def besides(text: str) -> tuple[str, str]:
    """The change by which something stands in the small package besides."""
    end = '"""Wait for so many seconds; a cancellation ends the waiting."""\n'
    return end, f"{end}\n\n{textwrap.dedent(text)}"


BASE = '''
    class Player:
        """Somebody who plays."""

        def play(self, piece: str) -> bool:
            """Whether a piece is played to its end.

            Args:
                piece: Its name.

            Raises:
                ValueError: The piece has no name.
            """
'''
OVERRIDING = '''

    class Pianist{base}:
        """Somebody who plays the piano."""

        def play(self, piece: str) -> bool:
            """Whether it is played by heart.

            Spec:
                PLAY-KNOWN-01
            """
            raise ValueError(piece)
'''


@pytest.mark.parametrize(
    ("base", "found"),
    [
        ("(Player)", []),
        (
            "",
            [
                "play.Pianist.play: the docstring does not say what 'piece' is: add it under `Args`",
                "play.Pianist.play: the docstring does not say when ValueError is raised: add it under `Raises`",
            ],
        ),
    ],
)
def test_a_method_need_not_repeat_what_the_one_says_that_it_overrides(
    tmp_path: Path, base: str, found: list[str]
) -> None:
    """Parameters and errors; without the base both are missing."""
    assert wrong(tmp_path, besides(BASE + OVERRIDING.format(base=base))) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            '''
            class Wire:
                """What is sent; `as` names it, `keepOpen` is for later."""

                as_: str
                keep_open: bool = field(name="keepOpen")
            ''',
            [],
        ),
        (
            '''
            class Wire:
                """What is sent; `as` names it."""

                as_: str
                keep_open: bool = field(name="keepOpen")
            ''',
            ["play.Wire.keep_open: has no docstring, and its class does not say what it is"],
        ),
        (
            '''
            class Sent:
                """What is sent to a name."""

                name: str
                to: str
            ''',
            ["play.Sent.to: has no docstring, and its class does not say what it is"],
        ),
        (
            '''
            class Alone:
                """The next piece."""

                held: str
            ''',
            [],
        ),
        (
            '''
            class Pair:
                """The next pieces."""

                held: str
                other: str
            ''',
            [
                "play.Pair.held: has no docstring, and its class does not say what it is",
                "play.Pair.other: has no docstring, and its class does not say what it is",
            ],
        ),
        (
            """
            class Alone:
                held: str
            """,
            [
                "play.Alone: has no docstring",
                "play.Alone.held: has no docstring, and its class does not say what it is",
            ],
        ),
        (
            '''
            @group.command(help="Play.")
            def told(ctx: Context, loud: bool) -> None:
                """Play a piece."""
            ''',
            [],
        ),
        (
            '''
            @group.commanding
            def told(ctx: Context, loud: bool) -> None:
                """Play a piece through `ctx`."""
            ''',
            ["play.told: the docstring does not say what 'loud' is: add it under `Args`"],
        ),
        (
            '''
            def every(*pieces: str, **more: int) -> None:
                """Play them.

                Args:
                    *pieces: Their names.
                    **more: How often.
                """
            ''',
            [],
        ),
    ],
)
def test_what_is_said_elsewhere_need_not_be_said_again(tmp_path: Path, text: str, found: list[str]) -> None:
    """A class says what its attributes are, as code or wire call them; options of a command have their own help."""
    assert wrong(tmp_path, besides(text)) == found


@pytest.mark.parametrize(
    "body",
    [
        "raise errors.Unheard(piece)",
        "raise Unheard",
        "try:\n        raise Unheard\n    except* OSError:\n        pass",
        "async for _ in piece:\n        pass\n    else:\n        raise Unheard",
        "try:\n        pass\n    except errors.Heard:\n        raise Unheard",
    ],
)
def test_an_error_is_seen_wherever_it_is_raised(tmp_path: Path, body: str) -> None:
    """By its last name, in each kind of statement."""
    text = '''
    async def hear(piece: str) -> None:
        """Hear a piece; a cancellation ends it."""
        {body}
    '''
    change = besides(textwrap.dedent(text).replace("{body}", body))
    assert wrong(tmp_path, change) == [
        "play.hear: the docstring does not say when Unheard is raised: add it under `Raises`"
    ]


def test_an_error_that_is_caught_is_not_raised(tmp_path: Path) -> None:
    """Also where both are named by their module."""
    text = '''
    def hear(piece: str) -> None:
        """Hear a piece."""
        try:
            raise errors.Unheard(piece)
        except (errors.Unheard, OSError):
            pass
    '''
    assert wrong(tmp_path, besides(text)) == []


@pytest.mark.parametrize(
    ("summary", "answer", "found"),
    [
        ("Look at the pieces.", "int", True),
        ("The number of pieces.", "int", False),
        ("Count the pieces, and answer their number.", "int", False),
        ("Count the pieces; returns their number.", "int", False),
        ("Look at the pieces.", "None", False),
        ("Have the pieces lie open for a while.", "Iterator[None]", False),
        ("Have the pieces lie open for a while.", "Iterator[int]", True),
    ],
)
def test_a_docstring_says_what_is_answered(tmp_path: Path, summary: str, answer: str, found: bool) -> None:
    """Also one without any section: its summary is about the value, or goes on to it."""
    text = f'''
    def size() -> {answer}:
        """{summary}"""
    '''
    line = "play.size: the docstring does not say what is answered: add `Returns`"
    assert wrong(tmp_path, besides(text)) == ([line] if found else [])


@pytest.mark.parametrize(
    ("name", "summary", "found"),
    [
        ("to", "Send it to them.", True),
        ("to", "Send it the other way, to the others to whom it is due.", True),
        ("to", "Send it somewhere: `to` says where.", False),
        ("name", "Send what they name.", True),
        ("name", "Send it under a name.", False),
        ("name", "Send it under a new name.", False),
        ("name", "Send it under the `play` name.", False),
        ("name", "Send it under the names.", True),
        ("name", "Send it under somebody's name.", False),
        ("name", "Send it `here` name `there`.", True),
        ("name", "Send it under ``name``.", False),
    ],
)
def test_a_word_that_happens_to_be_the_same_says_nothing_of_a_parameter(
    tmp_path: Path, name: str, summary: str, found: bool
) -> None:
    """What says something is the name as code, or as a noun: `the name`, `a new name`."""
    text = f'''
    def send({name}: str) -> None:
        """{summary}"""
    '''
    line = f"play.send: the docstring does not say what {name!r} is: add it under `Args`"
    assert wrong(tmp_path, besides(text)) == ([line] if found else [])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            '''
            class Piece:
                """Something to play."""

                def __init__(self, title: str, beats: int) -> None: ...
            ''',
            ["title", "beats"],
        ),
        (
            '''
            class Piece:
                """Something to play.

                Args:
                    title: Its name.
                """

                def __init__(self, title: str, beats: int) -> None:
                    self.beats = beats
                    """How long it is."""
            ''',
            [],
        ),
        (
            '''
            class Piece(Context):
                """Something to play."""

                def __init__(self, title: str) -> None:
                    """Name it.

                    Args:
                        title: Its name.
                    """
            ''',
            [],
        ),
        (
            '''
            class Told(Emit[str]):
                """A key for pieces."""

                def __init__(self, name: str, composer: str) -> None: ...
            ''',
            ["composer"],
        ),
        (
            '''
            from dataclasses import dataclass


            @dataclass
            class Piece:
                """Something to play."""

                title: str
                """Its name."""
            ''',
            [],
        ),
    ],
)
def test_a_class_says_what_it_is_made_of(tmp_path: Path, text: str, found: list[str]) -> None:
    """Itself, by its attributes, in `__init__`, or by its base; the fields of a dataclass say it themselves."""
    missing = [line.removesuffix(" is: add it under `Args`") for line in wrong(tmp_path, besides(text))]
    assert [line.rpartition("the docstring does not say what ")[2] for line in missing] == [
        repr(name) for name in found
    ]


def test_a_module_says_what_the_one_thing_is_that_it_defines(tmp_path: Path) -> None:
    """With another one beside it, nobody does."""
    (tmp_path / "play").mkdir()
    module = tmp_path / "play" / "__init__.py"
    module.write_text('"""The pieces of the evening."""\n\nPIECES = ("one", "two")\n', "utf-8")
    assert list(defects(read_catalog(tmp_path, {"play": "."}), KNOWN)) == []
    module.write_text('"""The pieces of the evening."""\n\nPIECES = ("one", "two")\nMORE = ()\n', "utf-8")
    assert [line.partition(":")[0] for line in defects(read_catalog(tmp_path, {"play": "."}), KNOWN)] == [
        "play.PIECES",
        "play.MORE",
    ]


def test_pages_name_what_a_package_has(tmp_path: Path) -> None:
    """A module's names with their signatures, and an event with who dispatches it."""
    written = pages(catalog_of(tmp_path))
    assert set(written) == {"index.md", "events.md", "services.md", "play/index.md"}
    assert "def play(ctx: Context, piece: str) -> bool" in written["play/index.md"]
    assert "| `piece` | `str` | Its name. |" in written["play/index.md"]
    assert "**Raises** `ValueError`: The piece has no name." in written["play/index.md"]
    assert "| dispatched by | [`play`](play/index.md#play) |" in written["events.md"]
    assert "| listened to by | nobody in the core: it is for plugins |" in written["events.md"]


def test_a_dispatcher_that_is_not_public_is_linked_to_its_source(tmp_path: Path) -> None:
    """Where its lines are: no page of the catalog has them."""
    written = pages(catalog_of(tmp_path, ("def play(", "def _play(")))
    assert "| dispatched by | [`_play`](../../play/__init__.py#_play) |" in written["events.md"]


def test_a_page_has_what_a_method_need_not_repeat(tmp_path: Path) -> None:
    """And parameters that take the rest have what is said of them."""
    every = '''

    def every(*pieces: str) -> None:
        """Play them.

        Args:
            *pieces: Their names.
        """
    '''
    text = pages(catalog_of(tmp_path, besides(BASE + OVERRIDING.format(base="(Player)") + every)))["play/index.md"]
    pianist = text.partition("### Pianist.play ")[2].partition("## every ")
    assert "| `piece` | `str` | Its name. |" in pianist[0]
    assert "**Raises** `ValueError`: The piece has no name." in pianist[0]
    assert "| `pieces` | `str` | Their names. |" in pianist[2]


def test_a_page_says_what_a_class_has_of_its_bases(tmp_path: Path) -> None:
    """The methods that it does not define itself, and the types of the attributes that it describes."""
    bases = '''

    class Instrument:
        """Makes sounds."""

        pitch: float

        def tune(self) -> None:
            """Tune it."""

        def sound(self) -> None:
            """Make a sound."""


    class Piano(Instrument):
        """Makes sounds with strings.

        Attributes:
            pitch: The frequency of its a.
        """

        def sound(self) -> None:
            """Strike a string."""
    '''
    text = pages(catalog_of(tmp_path, besides(bases)))["play/index.md"].partition("## Piano ")[2]
    assert "| `pitch` | `float` | The frequency of its a. |" in text
    assert "**Inherited** [`Instrument.tune`](index.md#Instrument.tune)\n" in text


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
