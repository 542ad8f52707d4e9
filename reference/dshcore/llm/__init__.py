"""The vocabulary of conversations, and the seam through which a model is reached."""

from dshcore.llm.adapters import (
    DEFAULT_RETRY,
    AlwaysRetry,
    ListsModels,
    ModelAdapter,
    NormalRetry,
    Registration,
    ResolvesModels,
    RetryPolicy,
)
from dshcore.llm.assembler import AssemblyError, BlockAssembler
from dshcore.llm.attempts import close_stream
from dshcore.llm.calls import (
    CallConfig,
    FrozenRequest,
    GenerateOptions,
    Purpose,
    is_loop_built,
    mark_loop_built,
)
from dshcore.llm.chunks import CHUNKS, Chunk
from dshcore.llm.events import ADAPTERS_UPDATED, LLM_STREAM
from dshcore.llm.failures import InvalidLlmError, LlmError, turn_failure
from dshcore.llm.messages import (
    MalformedMessage,
    assistant_message,
    import_message,
    tool_result_message,
    user_message,
)
from dshcore.llm.models import ResolvedModel
from dshcore.llm.runtime import LLM, LlmRuntime, PreparedCall
from dshcore.llm.vocabulary import BLOCKS, FINISH_REASONS, SOURCES, ToolCall

__all__ = [
    "ADAPTERS_UPDATED",
    "BLOCKS",
    "CHUNKS",
    "DEFAULT_RETRY",
    "FINISH_REASONS",
    "LLM",
    "LLM_STREAM",
    "SOURCES",
    "AlwaysRetry",
    "AssemblyError",
    "BlockAssembler",
    "CallConfig",
    "Chunk",
    "FrozenRequest",
    "GenerateOptions",
    "InvalidLlmError",
    "ListsModels",
    "LlmError",
    "LlmRuntime",
    "MalformedMessage",
    "ModelAdapter",
    "NormalRetry",
    "PreparedCall",
    "Purpose",
    "Registration",
    "ResolvedModel",
    "ResolvesModels",
    "RetryPolicy",
    "ToolCall",
    "assistant_message",
    "close_stream",
    "import_message",
    "is_loop_built",
    "mark_loop_built",
    "tool_result_message",
    "turn_failure",
    "user_message",
]
