"""The registry of what is contributed to prompts, and the assembly of a prompt."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, TypeVar, cast

from dshcore import eager
from dshcore.context import Context, Disposer, ServiceKey
from dshcore.json import is_finite
from dshcore.scope import Layers, ListTable, NamedTable, scope_target
from dshcore.system_prompt.assembly import (
    SYSTEM_PROMPT_ASSEMBLE,
    SYSTEM_PROMPT_CHANGE,
    AssembleContext,
    Assembly,
    PromptAssembling,
    PromptText,
)
from dshcore.system_prompt.errors import DuplicateContribution, InvalidContribution, PromptError, quoted
from dshcore.system_prompt.rendering import VARIABLE_NAME
from dshcore.system_prompt.tool_order import ToolProvider, check_order, collect, offer_of

T = TypeVar("T")

TextProvider: TypeAlias = Callable[[AssembleContext], str]
"""Answers a text for one prompt."""

VariableProvider: TypeAlias = Callable[[AssembleContext], str | None]
"""Answers a value for one prompt, or that there is none."""

IDENTITY: Final = "You are an AI agent powered by DeepSeek Harness."
"""The first section, unless a deployment leaves it out."""

_Kind: TypeAlias = Literal["section", "context", "variable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptOptions:
    """What a deployment says about its prompts.

    Attributes:
        include_harness_identity: Whether the first section names the harness.
        persona: The text of the deployment's own section.
        include_runtime_context: Whether there are runtime contexts.
        tool_order: The order of tools; by default by name.
    """

    include_harness_identity: bool = True
    persona: str = ""
    include_runtime_context: bool = True
    tool_order: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class _Contribution:
    """A section or a context."""

    kind: _Kind
    name: str
    order: float
    text: str | TextProvider
    complete: bool = False

    def resolve(self, context: AssembleContext) -> PromptText:
        """Evaluate the text (PROMPT-SEC-05).

        Raises:
            InvalidContribution: Its provider answers none.
        """
        text = cast("object", self.text if isinstance(self.text, str) else self.text(context))
        if not isinstance(text, str):
            eager.discard(text)
            raise InvalidContribution(
                f'the provider of prompt {self.kind} "{self.name}" answered {text!r}: a text is due'
            )
        return PromptText(self.name, text)


@dataclass(slots=True)
class _Layer:
    sections: NamedTable[_Contribution] = field(default_factory=NamedTable[_Contribution])
    contexts: NamedTable[_Contribution] = field(default_factory=NamedTable[_Contribution])
    variables: NamedTable[VariableProvider] = field(default_factory=NamedTable[VariableProvider])
    tools: ListTable[ToolProvider] = field(default_factory=ListTable[ToolProvider])
    suppressors: ListTable[None] = field(default_factory=ListTable[None])


class SystemPrompt:
    """What is contributed to the prompts of an application, in layers.

    Every registration belongs to the layer of its owner's scope, answers a disposer, and ends with its owner.

    Args:
        ctx: Where its events are dispatched, and who owns what the options contribute.
        options: What the deployment says.

    Raises:
        InvalidToolOrder: The configured order is none.

    Spec:
        PROMPT-SEC-01, PROMPT-CHANGE-01, PROMPT-CHANGE-02, PROMPT-DISP-01, PROMPT-SCOPE-04
    """

    def __init__(self, ctx: Context, options: PromptOptions | None = None) -> None:
        options = PromptOptions() if options is None else options
        if options.tool_order is not None:
            check_order(options.tool_order)
        self._ctx = ctx
        self._tool_order = None if options.tool_order is None else tuple(options.tool_order)  # as it was checked
        self._layers = Layers(_Layer, self._announce)
        # its own sections belong to its own context, and are in no scope (TRACE-OWNER-03)
        if options.include_harness_identity:
            self.section(ctx, "harness:identity", -100, IDENTITY)
        self.section(ctx, "deployment:persona", 0, options.persona)
        if not options.include_runtime_context:
            self.suppress_contexts(ctx)

    # --- contributions -----------------------------------------------------------------------------------------------

    def section(
        self, owner: Context, name: str, order: float, text: str | TextProvider, *, complete: bool = False
    ) -> Disposer:
        """Contribute a section of the system text.

        Args:
            owner: Whose contribution it is.
            name: Its name, once per layer; the nearest layer counts.
            order: Where it stands; equal ones in the order of registration.
            text: Its text, or what answers it for each prompt.
            complete: Whether it is the whole system text.

        Returns:
            Takes it back.

        Raises:
            InvalidContribution: The order is no finite number, or the text neither a text nor a provider of one.
            DuplicateContribution: The name is taken.
            InactiveContext: The owner is inactive.

        Spec:
            PROMPT-SEC-02, PROMPT-SEC-03, PROMPT-SEC-04, PROMPT-COMPLETE-01
        """
        contribution = _Contribution("section", name, order, text, complete)
        _check(contribution)
        return self._file(owner, "section", name, lambda layer: layer.sections, contribution)

    def context(self, owner: Context, name: str, order: float, text: str | TextProvider) -> Disposer:
        """Contribute a runtime context.

        Args:
            owner: Whose contribution it is.
            name: Its name, once per layer; the nearest layer counts.
            order: Where it stands; equal ones in the order of registration.
            text: Its text, or what answers it for each prompt.

        Returns:
            Takes it back.

        Raises:
            InvalidContribution: The order is no finite number, or the text neither a text nor a provider of one.
            DuplicateContribution: The name is taken.
            InactiveContext: The owner is inactive.

        Spec:
            PROMPT-SEC-04, PROMPT-CTX-01
        """
        contribution = _Contribution("context", name, order, text)
        _check(contribution)
        return self._file(owner, "context", name, lambda layer: layer.contexts, contribution)

    def variable(self, owner: Context, name: str, provider: VariableProvider) -> Disposer:
        """Contribute a variable, which sections and contexts refer to.

        Args:
            owner: Whose contribution it is.
            name: What they refer to it by, once per layer; the nearest layer counts.
            provider: Answers its value for each prompt; none where it has none.

        Returns:
            Takes it back.

        Raises:
            InvalidContribution: No variable can have this name, or the provider is none.
            DuplicateContribution: The name is taken.
            InactiveContext: The owner is inactive.

        Spec:
            PROMPT-VAR-01, PROMPT-SEC-04
        """
        if not isinstance(cast("object", name), str) or VARIABLE_NAME.fullmatch(name) is None:
            raise InvalidContribution(f'invalid prompt variable name "{name}" (must match /^{VARIABLE_NAME.pattern}$/)')
        if not callable(provider):
            raise InvalidContribution(
                f'prompt variable "{name}" needs a function that answers its value, not {provider!r}'
            )
        return self._file(owner, "variable", name, lambda layer: layer.variables, provider)

    def tools(self, owner: Context, provider: ToolProvider) -> Disposer:
        """Contribute tools; providers never shadow each other (PROMPT-SCOPE-03).

        Args:
            owner: Whose contribution it is.
            provider: Answers, for each prompt, which tools are on offer.

        Returns:
            Takes it back.

        Raises:
            InvalidContribution: The provider is none.
            InactiveContext: The owner is inactive.
        """
        if not callable(provider):
            raise InvalidContribution(
                f"a prompt tool provider answers a ToolOffer when it is called; {provider!r} cannot be"
            )
        return self._layers.register(owner, lambda layer: layer.tools.append(provider), label="prompt tool provider")

    def suppress_contexts(self, owner: Context) -> Disposer:
        """Let prompts have no runtime context, until the last suppressor is gone (PROMPT-CTX-03).

        Args:
            owner: Whose wish it is.

        Returns:
            Takes it back.

        Raises:
            InactiveContext: The owner is inactive.
        """
        return self._layers.register(owner, lambda layer: layer.suppressors.append(None), label="context suppressor")

    # --- assembly ----------------------------------------------------------------------------------------------------

    async def assemble(self, context: AssembleContext | None = None) -> Assembly:
        """Assemble a prompt. Everything up to the first listener that waits happens before this first suspends.

        As with any coroutine, the call is the `await`: nothing is evaluated before it (R-45).

        Args:
            context: For whom; by default for nobody in particular.

        Returns:
            What the outermost listener answered.

        Raises:
            PromptError: Two sections are complete, or the tools cannot be put in order.
            Exception: What a provider or a listener raised.

        Cancellation:
            Delivered to the listener that is being awaited.

        Spec:
            PROMPT-ASM-01, PROMPT-ASM-02, PROMPT-ASM-04, PROMPT-ASM-05, PROMPT-COMPLETE-01, PROMPT-COMPLETE-02,
            PROMPT-COMPLETE-03, PROMPT-COMPLETE-04, PROMPT-CTX-02, PROMPT-SCOPE-01, PROMPT-SCOPE-02, PROMPT-SCOPE-03,
            PROMPT-VAR-02, PROMPT-WF-01, PROMPT-WF-02
        """
        context = AssembleContext() if context is None else context
        scope = context.scope
        suppressed = any(not layer.suppressors.is_empty for layer in self._layers.visible(scope))
        variables: dict[str, str | None] = {}
        for layer in self._layers.visible(scope):
            for name, provider in layer.variables.items():
                variables[name] = _value_of(name, provider, context)  # PROMPT-VAR-02: no value shadows a value
        sections = self._ordered(scope, lambda layer: layer.sections)
        contexts = [] if suppressed else self._ordered(scope, lambda layer: layer.contexts)
        providers = [provider for layer in self._layers.visible(scope) for provider in layer.tools]
        offers = [offer_of(provider, context) for provider in providers]
        complete = [at for at, section in enumerate(sections) if section.complete is True]
        if len(complete) > 1:
            names = quoted(sections[at].name for at in complete)
            raise PromptError(f"multiple complete prompt sections are active: {names}")
        texts = [section.resolve(context) for section in sections]
        assembly = Assembly(
            sections=list(texts),
            contexts=[contribution.resolve(context) for contribution in contexts],
            tools=collect(offers, self._tool_order),
            variables=variables,
        )

        async def as_it_is() -> Assembly:
            return assembly

        assembling = PromptAssembling(assembly, context)
        answer = self._ctx.waterfall(
            SYSTEM_PROMPT_ASSEMBLE, assembling, as_it_is, to=scope_target(self._ctx.receiver(SYSTEM_PROMPT), scope)
        )
        assembled = await eager.answer_of(answer, "a listener of system-prompt/assemble")
        if not isinstance(assembled, Assembly):
            raise PromptError(f"system-prompt/assemble was answered with {assembled!r}: answer an Assembly")
        if complete or suppressed:
            assembled = copy(assembled)  # the listener's own object stays as the listener has it: PROMPT-SEC-06
        if complete:
            assembled.sections = [texts[complete[0]]]  # PROMPT-COMPLETE-02
        if suppressed:
            assembled.contexts = []
        return assembled

    # --- internals ---------------------------------------------------------------------------------------------------

    def _ordered(
        self, scope: object | None, table: Callable[[_Layer], NamedTable[_Contribution]]
    ) -> list[_Contribution]:
        return sorted(self._layers.merge(scope, table).values(), key=lambda contribution: contribution.order)

    def _file(
        self, owner: Context, kind: _Kind, name: str, table: Callable[[_Layer], NamedTable[T]], entry: T
    ) -> Disposer:
        def file(layer: _Layer) -> Callable[[], None]:
            if name in table(layer):
                raise DuplicateContribution(_taken(kind, name, scoped=owner.scope is not None))
            return table(layer).insert(name, entry)

        return self._layers.register(owner, file, label=f"prompt {kind} {name}")

    def _announce(self) -> None:
        self._ctx.emit(SYSTEM_PROMPT_CHANGE, None)


SYSTEM_PROMPT: Final = ServiceKey[SystemPrompt]("systemPrompt")
"""What is contributed to the prompts of an application."""


def _check(contribution: _Contribution) -> None:
    if not isinstance(cast("object", contribution.name), str):
        raise InvalidContribution(f"the name of a prompt {contribution.kind} is a text, not {contribution.name!r}")
    what = f'prompt {contribution.kind} "{contribution.name}"'
    if not is_finite(contribution.order):
        raise InvalidContribution(f"{what} order must be a finite number")
    text: object = contribution.text
    if not isinstance(text, str) and not callable(text):
        raise InvalidContribution(f"{what} needs a text, or a function that answers one, not {text!r}")


def _value_of(name: str, provider: VariableProvider, context: AssembleContext) -> str | None:
    value = cast("object", provider(context))
    if value is None or isinstance(value, str):
        return value
    eager.discard(value)
    raise InvalidContribution(f'the provider of prompt variable "{name}" answered {value!r}: a text is due, or nothing')


def _taken(kind: _Kind, name: str, *, scoped: bool) -> str:
    taken = f'prompt {kind} "{name}" is already registered'
    if scoped:
        return f"{taken} in this scope"
    what = "value" if kind == "variable" else "override"
    return f"{taken} (for a per-agent {what}, register through that agent's `agent.ctx` instead)"
