"""The errors of tools. Those with a name of the specification have it here too: results and logs show it."""

from collections.abc import Sequence

from dshcore.errors import DshError


class ToolError(DshError):
    """An operation of the tool registry was refused; nothing has changed."""

    default_code = "TOOL"


class InvalidTool(ToolError, TypeError):
    """A definition that no tool can have."""

    default_code = "INVALID_TOOL"


class DuplicateTool(ToolError):
    """The name is taken in the layer that the definition would be filed in (TOOL-DUP-01, TOOL-DUP-02).

    Args:
        name: The name.
        scoped: Whether it is the layer of a scope, and not the global one.
    """

    default_code = "DUPLICATE_TOOL"

    def __init__(self, name: str, *, scoped: bool) -> None:
        taken = f'tool "{name}" is already registered'
        super().__init__(
            f"{taken} in this scope"
            if scoped
            else f"{taken} (for a per-agent variant, register through that agent's `agent.ctx` instead)"
        )


class InvalidRestriction(ToolError):
    """A restriction that cannot be (RESTRICT-ERR-01 to RESTRICT-ERR-03)."""

    default_code = "INVALID_RESTRICTION"


class ToolNotFoundError(ToolError):
    """The scope of a call knows no tool of that name (UNKNOWN-TOOL-01)."""

    default_code = "UNKNOWN_TOOL"

    def __init__(self, name: str) -> None:
        super().__init__(f'unknown tool "{name}"')


class JsonSchemaError(ToolError):
    """A schema is not of the language, or not in the enforced subset.

    Attributes:
        violations: What is wrong with it.

    Spec:
        SCHEMA-NODE-11, SCHEMA-RAW-02
    """

    default_code = "UNSUPPORTED_SCHEMA"

    def __init__(self, violations: Sequence[str]) -> None:
        super().__init__(f"unsupported JSON schema: {'; '.join(violations)}")
        self.violations = tuple(violations)


class ToolArgsError(ToolError):
    """The arguments of a typed tool do not fit its parameters.

    Attributes:
        violations: What is wrong with them.

    Spec:
        SCHEMA-ARGS-01
    """

    default_code = "INVALID_ARGS"

    def __init__(self, violations: Sequence[str]) -> None:
        super().__init__(f"invalid arguments: {'; '.join(violations)}")
        self.violations = tuple(violations)


class ToolOutputError(ToolError):
    """What a tool returned is not what its definition promises.

    Args:
        name: The tool.
        violations: What is wrong with it.

    Spec:
        SCHEMA-OUT-01, SCHEMA-OUT-02
    """

    default_code = "INVALID_TOOL_OUTPUT"

    def __init__(self, name: str, violations: Sequence[str]) -> None:
        super().__init__(f'tool "{name}" returned invalid output: {"; ".join(violations)}')
        self.violations = tuple(violations)


class FrozenExecution(ToolError, AttributeError):
    """An attempt to change an execution (PIPE-ID-03)."""

    default_code = "FROZEN_EXECUTION"
