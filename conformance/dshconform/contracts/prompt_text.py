"""How the texts of a prompt become what the model is told: references filled in, texts joined (sheet 50)."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from dshconform.contracts.inbox_rows import Clauses

Texts: TypeAlias = Sequence[tuple[str, str]]
"""Names and texts."""

NAME: Final = "[a-z][a-z0-9_]*"
"""What a variable can be called."""

_SNAPSHOT: Final = "Current runtime context. This snapshot supersedes earlier runtime-context snapshots."
CLEARED: Final = "Current runtime context: none. Earlier runtime-context snapshots no longer apply."
"""What an agent is told when no runtime context is left."""

_GROUP: Final = re.compile(r"\{\{([^{}]*)\}\}")
_EXCERPT: Final = 16
"""UTF-16 code units."""


class Unrenderable(Exception):
    """A text that cannot be rendered.

    Args:
        message: What the failure says.
        clause: Who says so.
    """

    def __init__(self, message: str, clause: str) -> None:
        super().__init__(message)
        self.clause = clause


def rendered(kind: str, texts: Texts, variables: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """The texts with their references filled in, without those that come out empty.

    Args:
        kind: What the texts are, for the error.
        texts: The names and texts, in order.
        variables: The values of the variables, by name; none for one without a value.

    Returns:
        Names and texts.

    Raises:
        Unrenderable: One cannot be rendered.
    """
    filled = [(name, _filled(text, f'{kind} "{name}"', variables)) for name, text in texts]
    return [(name, text) for name, text in filled if text]


def joined(texts: Texts) -> str:
    """All rendered texts as one, an empty line between them."""
    return "\n\n".join(text for _, text in texts)


def snapshot_text(contexts: Texts) -> str:
    """The text of the rendered contexts; empty without any."""
    return joined([("", _SNAPSHOT), *contexts]) if contexts else ""


def rules_of(texts: Texts) -> Clauses:
    """Who says what becomes of what stands in these texts, which can be rendered."""
    whole = "".join(text for _, text in texts)
    literal = _GROUP.sub("", whole)
    filled: Clauses = ("PROMPT-INT-01",) if literal != whole else ()
    kept: Clauses = ("PROMPT-INT-04",) if "{" in literal or "}" in literal else ()
    return (*kept, *filled, "PROMPT-RENDER-01")


def _filled(text: str, place: str, variables: Mapping[str, str | None]) -> str:
    parts: list[str] = []
    at = 0
    while (opening := text.find("{{", at)) >= 0:
        group = _GROUP.match(text, opening)
        if group is not None:
            parts += [text[at:opening], _value(group[1], place, variables)]
            at = group.end()
        elif text.find("}}", opening + 2) >= 0:
            excerpt = text[opening:].encode("utf-16-le")[: 2 * _EXCERPT].decode("utf-16-le")
            raise Unrenderable(
                f'malformed prompt variable reference at "{excerpt}…" in {place} '
                "(references are complete simple {{name}} groups)",
                "PROMPT-INT-03",
            )
        else:
            break  # with nothing that closes it, it is literal, and so is what follows
    return "".join([*parts, text[at:]])


def _value(name: str, place: str, variables: Mapping[str, str | None]) -> str:
    if re.fullmatch(NAME, name) is None:
        raise Unrenderable(
            f'malformed prompt variable reference "{{{{{name}}}}}" in {place} (variable names match /^{NAME}$/)',
            "PROMPT-INT-02",
        )
    if name not in variables:
        known = ", ".join(variables) or "(none)"
        raise Unrenderable(
            f'unknown prompt variable "{{{{{name}}}}}" in {place}; registered variables: {known}', "PROMPT-INT-05"
        )
    value = variables[name]
    if value is None:
        raise Unrenderable(
            f'prompt variable "{{{{{name}}}}}" has no value for this assembly ({place})', "PROMPT-INT-05"
        )
    return value
