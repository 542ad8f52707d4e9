"""Rendering: references are filled in, texts are joined."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

from dshcore.system_prompt.assembly import Assembly, PromptText
from dshcore.system_prompt.errors import UnrenderablePrompt

VARIABLE_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
"""What the name of a variable looks like."""

_GROUP: Final = re.compile(r"\{\{([^{}]*)\}\}")
_EXCERPT: Final = 16  # UTF-16 code units

_Kind: TypeAlias = Literal["section", "context"]


def render_system(assembly: Assembly) -> str:
    """Return the system text; empty where no section has any.

    Args:
        assembly: What was assembled.

    Returns:
        The text.

    Raises:
        UnrenderablePrompt: A section refers to what is no variable, or has no value.

    Spec:
        PROMPT-RENDER-01, PROMPT-INT-01, PROMPT-WF-04
    """
    return "\n\n".join(text.text for text in _rendered(assembly.sections, "section", assembly.variables))


def render_contexts(assembly: Assembly) -> tuple[PromptText, ...]:
    """Return the contexts that have a text, with that text.

    Args:
        assembly: What was assembled.

    Returns:
        The text; none where there is none.

    Raises:
        UnrenderablePrompt: A context refers to what is no variable, or has no value.

    Spec:
        PROMPT-CTX-01, PROMPT-INT-05, PROMPT-WF-04
    """
    return tuple(_rendered(assembly.contexts, "context", assembly.variables))


def _rendered(texts: Iterable[PromptText], kind: _Kind, variables: Mapping[str, str | None]) -> Iterable[PromptText]:
    for text in texts:
        rendered = _interpolated(text, kind, variables)
        if rendered:
            yield PromptText(text.name, rendered)


def _interpolated(text: PromptText, kind: _Kind, variables: Mapping[str, str | None]) -> str:
    """Return a text with its references filled in; values are not looked into (PROMPT-INT-01)."""
    source, place = text.text, f'{kind} "{text.name}"'
    parts: list[str] = []
    done = 0
    while (opening := source.find("{{", done)) >= 0:
        group = _GROUP.match(source, opening)
        if group is None:
            if source.find("}}", opening + 2) < 0:
                break  # PROMPT-INT-04: nothing after it closes it
            raise UnrenderablePrompt(  # PROMPT-INT-03
                f'malformed prompt variable reference at "{_excerpt(source[opening:])}…" in {place} '
                "(references are complete simple {{name}} groups)"
            )
        parts.append(source[done:opening])
        parts.append(_value(group[1], place, variables))
        done = group.end()
    return "".join((*parts, source[done:]))


def _value(name: str, place: str, variables: Mapping[str, str | None]) -> str:
    if VARIABLE_NAME.fullmatch(name) is None:  # PROMPT-INT-02
        raise UnrenderablePrompt(
            f'malformed prompt variable reference "{{{{{name}}}}}" in {place} '
            f"(variable names match /^{VARIABLE_NAME.pattern}$/)"
        )
    if name not in variables:  # PROMPT-INT-05
        raise UnrenderablePrompt(
            f'unknown prompt variable "{{{{{name}}}}}" in {place}; registered variables: '
            f"{', '.join(variables) or '(none)'}"
        )
    value = variables[name]
    if value is None:
        raise UnrenderablePrompt(f'prompt variable "{{{{{name}}}}}" has no value for this assembly ({place})')
    return value


def _excerpt(text: str) -> str:
    units = text[:_EXCERPT].encode("utf-16-le", "surrogatepass")[: 2 * _EXCERPT]
    return units.decode("utf-16-le", "surrogatepass")
