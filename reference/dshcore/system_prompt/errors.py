"""The errors of prompt assembly and rendering."""

from collections.abc import Iterable

from dshcore.errors import DshError
from dshcore.json import encode


class PromptError(DshError):
    """A contribution was refused, or a prompt cannot be made of what was contributed."""

    default_code = "PROMPT"


class InvalidContribution(PromptError, TypeError):
    """A contribution has a member that it may not have (PROMPT-SEC-03, PROMPT-VAR-01)."""

    default_code = "INVALID_PROMPT_CONTRIBUTION"


class DuplicateContribution(PromptError):
    """The name is taken in the layer that the contribution would be filed in (PROMPT-SEC-04)."""

    default_code = "DUPLICATE_PROMPT_CONTRIBUTION"


class InvalidToolOrder(PromptError):
    """An order of tools that nothing can be sorted by (PROMPT-TOOL-03, PROMPT-TOOL-04)."""

    default_code = "INVALID_TOOL_ORDER"


class UnrenderablePrompt(PromptError):
    """A text refers to variables in a way that leads to no text (PROMPT-INT-02, PROMPT-INT-03, PROMPT-INT-05)."""

    default_code = "UNRENDERABLE_PROMPT"


def quoted(names: Iterable[str]) -> str:
    """Answer the names as a text lists them: each as a JSON string, whatever stands in it."""
    return ", ".join(encode(name).decode() for name in names)
