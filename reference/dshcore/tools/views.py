"""Views: how a call, or its logged result, is shown to people.

A tool may make views of its own, by its presenters. They are for readers: nothing in the pipeline calls them. A view
says by its `card` how it wants to be laid out; a reader that does not know the card shows the generic view.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias, TypedDict

from dshcore.json import Json, JsonObject, freeze

CallKind: TypeAlias = Literal["read", "edit", "delete", "move", "search", "execute", "fetch", "other"]
"""What kind of work a call is, for who shows it."""


class GenericCall(TypedDict, total=False):
    """A call by its title, and whatever else there is to say; `kind` is `other` unless it says so.

    Attributes:
        card: The layout.
        title: What is shown first.
        kind: What kind of work it is.
        rawInput: The arguments as they are.
        content: Blocks to show.
        locations: The places in files that it is about.
    """

    card: Literal["generic"]
    title: str
    kind: CallKind
    rawInput: Json
    content: Json
    locations: Json


class TerminalCall(TypedDict, total=False):
    """A command that is run.

    Attributes:
        card: The layout.
        title: The command.
        description: What it is for.
        cwd: Where it is run.
    """

    card: Literal["terminal"]
    title: str
    description: str
    cwd: str


class DiffCall(TypedDict, total=False):
    """Changes that are made.

    Attributes:
        card: The layout.
        title: What is shown first.
        diffs: The changes, file by file.
        locations: The places in files that it is about.
    """

    card: Literal["diff"]
    title: str
    diffs: Json
    locations: Json


class GenericResult(TypedDict, total=False):
    """A result by its content.

    Attributes:
        card: The layout.
        title: What is shown first.
        content: Blocks to show.
    """

    card: Literal["generic"]
    title: str
    content: Json


class TerminalResult(TypedDict, total=False):
    """What a command printed, and its exit code or the signal that ended it.

    Attributes:
        card: The layout.
        title: The command.
        output: What was printed.
        exitCode: How the command ended.
        signal: The signal that ended it.
    """

    card: Literal["terminal"]
    title: str
    output: str
    exitCode: int
    signal: str


class DiffResult(TypedDict, total=False):
    """Changes that were made.

    Attributes:
        card: The layout.
        title: What is shown first.
        diffs: The changes, file by file.
    """

    card: Literal["diff"]
    title: str
    diffs: Json


class SearchResult(TypedDict, total=False):
    """What was found: matches in `files`, or `paths`.

    Attributes:
        card: The layout.
        shape: What the hits are.
        title: What is shown first.
        truncated: Whether there are more than are shown.
        total: How many there are.
    """

    card: Literal["search"]
    shape: Literal["matches", "paths"]
    title: str
    files: Json
    paths: Json
    truncated: bool
    total: int


class ReadResult(TypedDict, total=False):
    """Lines of a file.

    Attributes:
        card: The layout.
        title: What is shown first.
        path: The file.
        offset: The number of the first line.
        lines: How many lines were read.
        totalLines: How many lines the file has.
        lang: The language of the text, for colours.
        content: The text.
    """

    card: Literal["read"]
    title: str
    path: str
    offset: int
    lines: int
    totalLines: int
    lang: str
    content: str


class WebResult(TypedDict, total=False):
    """What a search of the web found, or what was fetched from it.

    Attributes:
        card: The layout.
        kind: Whether it was a search or a page.
        title: What is shown first.
        sources: Where it was found.
        answer: What was made of it.
        url: The page.
        statusCode: How the server answered.
        truncated: Whether there is more than is shown.
    """

    card: Literal["web"]
    kind: Literal["search", "fetch"]
    title: str
    sources: Json
    answer: str
    url: str
    statusCode: int
    truncated: bool


CallView: TypeAlias = GenericCall | TerminalCall | DiffCall
"""How a call may be shown (PRESENT-VIEW-01)."""
ResultView: TypeAlias = GenericResult | TerminalResult | DiffResult | SearchResult | ReadResult | WebResult
"""How a result may be shown (PRESENT-VIEW-01)."""


def generic_call(name: str, arguments: Json) -> GenericCall:
    """Make the view of a call that no tool presents: its name, and the arguments as they are (PRESENT-CALL-03)."""
    return {"card": "generic", "title": name, "rawInput": arguments}


def generic_result(name: str, logged: Mapping[str, Json]) -> GenericResult:
    """Make the view of a logged result that no tool presents (PRESENT-CALL-03).

    Args:
        name: The tool.
        logged: The result as it was logged.
    """
    return {"card": "generic", "title": name, "content": logged["content"]}


def logged_result(data: JsonObject) -> JsonObject:
    """Answer what a presenter is given of a result: `{content, isError, meta?}`, and never the canonical value.

    Args:
        data: The data of a `tool/result` event.

    Spec:
        PRESENT-CALL-03
    """
    block = data["message"]["content"][0]
    shown = {"content": block["content"], "isError": block.get("isError", False)}
    read: JsonObject = freeze({**shown, "meta": data["meta"]} if "meta" in data else shown)
    return read
