"""Tools: their definitions, the registry, and the pipeline that a call passes."""

from dshcore.tools.approval import APPROVAL, Approval, ApprovalOutcome, ApprovalRequest
from dshcore.tools.definitions import ToolDefinition, ToolOutput
from dshcore.tools.errors import (
    DuplicateTool,
    FrozenExecution,
    InvalidRestriction,
    InvalidTool,
    JsonSchemaError,
    ToolArgsError,
    ToolError,
    ToolNotFoundError,
    ToolOutputError,
)
from dshcore.tools.events import (
    TOOLS_CHANGE,
    TOOLS_EXECUTE,
    TOOLS_POST_EXECUTE,
    TOOLS_PRE_EXECUTE,
    TOOLS_RESULT,
    Accept,
    Allow,
    Ask,
    Block,
    Deny,
    PostExecuteDecision,
    PreExecuteDecision,
    ToolOutcome,
)
from dshcore.tools.executions import ToolCallRequest, ToolExecution, ToolRun, ToolToken
from dshcore.tools.json_schema import assert_object, assert_supported, violations_of
from dshcore.tools.pipeline import PendingCall
from dshcore.tools.registry import TOOLS, Mode, ToolRegistry
from dshcore.tools.results import (
    ABORTED_BEFORE_DISPATCH,
    Content,
    ErrorFacts,
    ErrorInfo,
    ToolFailure,
    ToolResult,
    ToolSuccess,
)
from dshcore.tools.schema_language import compile_parameters, compile_value
from dshcore.tools.typed import define_tool, validate_arguments
from dshcore.tools.views import CallView, ResultView, generic_call, generic_result, logged_result
from dshcore.tools.visibility import Guard

__all__ = [
    "ABORTED_BEFORE_DISPATCH",
    "APPROVAL",
    "TOOLS",
    "TOOLS_CHANGE",
    "TOOLS_EXECUTE",
    "TOOLS_POST_EXECUTE",
    "TOOLS_PRE_EXECUTE",
    "TOOLS_RESULT",
    "Accept",
    "Allow",
    "Approval",
    "ApprovalOutcome",
    "ApprovalRequest",
    "Ask",
    "Block",
    "CallView",
    "Content",
    "Deny",
    "DuplicateTool",
    "ErrorFacts",
    "ErrorInfo",
    "FrozenExecution",
    "Guard",
    "InvalidRestriction",
    "InvalidTool",
    "JsonSchemaError",
    "Mode",
    "PendingCall",
    "PostExecuteDecision",
    "PreExecuteDecision",
    "ResultView",
    "ToolArgsError",
    "ToolCallRequest",
    "ToolDefinition",
    "ToolError",
    "ToolExecution",
    "ToolFailure",
    "ToolNotFoundError",
    "ToolOutcome",
    "ToolOutput",
    "ToolOutputError",
    "ToolRegistry",
    "ToolResult",
    "ToolRun",
    "ToolSuccess",
    "ToolToken",
    "assert_object",
    "assert_supported",
    "compile_parameters",
    "compile_value",
    "define_tool",
    "generic_call",
    "generic_result",
    "logged_result",
    "validate_arguments",
    "violations_of",
]
