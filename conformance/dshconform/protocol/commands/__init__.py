"""The command tables: what each operation takes, and what it answers.

Names (of agents, tasks, disposers, signals) belong to the suite and are typed; what the contract takes is any JSON, in
the value notation, and passed on unchecked: a wrong value there is a test. An adapter for `core` needs the first table
only.
"""

from collections.abc import Mapping
from typing import Final

from dshconform.protocol.commands.context import CONTEXT
from dshconform.protocol.commands.core import CORE
from dshconform.protocol.commands.lifecycle import LIFECYCLE
from dshconform.protocol.commands.llm import LLM
from dshconform.protocol.commands.operation import Operation
from dshconform.protocol.commands.owners import OWNERS
from dshconform.protocol.commands.prompt import PROMPT
from dshconform.protocol.commands.session import SESSION
from dshconform.protocol.commands.tools import TOOLS

OPERATIONS: Final[Mapping[str, Operation]] = {
    **CORE,
    **LIFECYCLE,
    **SESSION,
    **OWNERS,
    **TOOLS,
    **PROMPT,
    **LLM,
    **CONTEXT,
}
"""Every operation, in the order of the protocol page."""

__all__ = ["OPERATIONS", "Operation"]
