"""An assembly: what one prompt is made of, evaluated and not yet rendered."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Final

from dshcore.cancel_signal import CancelSignal
from dshcore.events import Emit, Waterfall
from dshcore.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembleContext:
    """For whom a prompt is assembled.

    Attributes:
        scope: Whose layers take part, besides the global one.
        agent: The live agent that it is for; the loop gives it together with the scope.
        signal: The signal of the turn that asks. Assembling does not look at it (PROMPT-ASM-04).
    """

    scope: object | None = None
    agent: object | None = None
    signal: CancelSignal | None = None


@dataclass(frozen=True, slots=True)
class PromptText:
    """A section or a context: its name, and its text with the references still in it.

    It cannot be changed: a listener that wants another text puts another object in its place, in this assembly and in
    no other (PROMPT-SEC-06).
    """

    name: str
    text: str


@dataclass
class Assembly:
    """What one prompt is made of. Listeners change it, or answer another one; they may add members of their own.

    Attributes:
        sections: The texts of the system prompt, in order.
        contexts: The texts of the runtime context, in order.
        tools: ``{name, description, parameters}`` of each tool on offer, in order.
        variables: What references stand for; none is a variable that has no value here.

    Spec:
        PROMPT-SEC-06
    """

    sections: list[PromptText] = field(default_factory=list[PromptText])
    contexts: list[PromptText] = field(default_factory=list[PromptText])
    tools: list[JsonObject] = field(default_factory=list[JsonObject])
    variables: dict[str, str | None] = field(default_factory=dict[str, str | None])


@dataclass(frozen=True, slots=True)
class PromptAssembling:
    """A prompt is being assembled.

    Attributes:
        assembly: As it is before the listeners; one object for all of them (PROMPT-WF-02).
        context: For whom.
    """

    assembly: Assembly
    context: AssembleContext

    @property
    def agent(self) -> object | None:
        """The agent that it is for."""
        return self.context.agent

    @property
    def scope(self) -> object | None:
        """The scope that it is for."""
        return self.context.scope

    @property
    def signal(self) -> CancelSignal | None:
        """The signal of the turn that asks."""
        return self.context.signal


SYSTEM_PROMPT_ASSEMBLE: Final = Waterfall[PromptAssembling, Awaitable[Assembly]]("system-prompt/assemble")
"""An assembly is put together; heard in its scope, in the scopes around that, and outside of all (PROMPT-WF-03)."""

SYSTEM_PROMPT_CHANGE: Final = Emit[None]("system-prompt/change", scoped=False)
"""What is contributed to prompts has changed; a listener that raises undoes a registration (PROMPT-CHANGE-02)."""
