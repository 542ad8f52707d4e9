"""System prompts: what is contributed to them, how one is assembled and rendered, and runtime-context snapshots."""

from dshcore.system_prompt.assembly import (
    SYSTEM_PROMPT_ASSEMBLE,
    SYSTEM_PROMPT_CHANGE,
    AssembleContext,
    Assembly,
    PromptAssembling,
    PromptText,
)
from dshcore.system_prompt.errors import (
    DuplicateContribution,
    InvalidContribution,
    InvalidToolOrder,
    PromptError,
    UnrenderablePrompt,
)
from dshcore.system_prompt.registry import SYSTEM_PROMPT, PromptOptions, SystemPrompt
from dshcore.system_prompt.rendering import render_contexts, render_system
from dshcore.system_prompt.snapshots import SnapshotProjection
from dshcore.system_prompt.tool_order import ToolOffer, ToolProvider

__all__ = [
    "SYSTEM_PROMPT",
    "SYSTEM_PROMPT_ASSEMBLE",
    "SYSTEM_PROMPT_CHANGE",
    "AssembleContext",
    "Assembly",
    "DuplicateContribution",
    "InvalidContribution",
    "InvalidToolOrder",
    "PromptAssembling",
    "PromptError",
    "PromptOptions",
    "PromptText",
    "SnapshotProjection",
    "SystemPrompt",
    "ToolOffer",
    "ToolProvider",
    "UnrenderablePrompt",
    "render_contexts",
    "render_system",
]
