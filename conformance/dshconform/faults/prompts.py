"""Faults of what is contributed to prompts that scenarios find."""

from contextlib import AbstractContextManager
from typing import Any, Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault, replaced
from dshcore.agent_loop import creation
from dshcore.context import Context, Disposer
from dshcore.system_prompt import InvalidContribution, registry
from dshcore.system_prompt.registry import SystemPrompt

_CONTRIBUTION: Final = registry._Contribution  # noqa: SLF001 - what evaluates a text
_TEXTS: Final = "texts = [section.resolve(context) for section in sections]"
_FILE: Final = "return self._layers.register(owner, file,"
_TAKEN: Final = "raise DuplicateContribution(_taken(kind, name, scoped=owner.scope is not None))"


class OwnedElsewhere:
    """A context of which the registrations end with another one.

    Args:
        owner: The context as it is to everybody else.
        other: The context that owns what is registered.
    """

    def __init__(self, owner: Context, other: Context) -> None:
        self._owner = owner
        self._other = other

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the context has
        return getattr(self._other if name in {"effect", "composite"} else self._owner, name)


def any_order() -> AbstractContextManager[None]:
    """A fault under which a section is registered whatever its order is."""
    register = SystemPrompt.section

    def section(self: SystemPrompt, owner: Context, name: str, order: float, *rest: Any, **more: Any) -> Disposer:  # noqa: ANN401
        try:
            return register(self, owner, name, order, *rest, **more)
        except InvalidContribution:
            return register(self, owner, name, 0, *rest, **more)

    return replaced(SystemPrompt, {"section": section})


PROMPT_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "empty-persona-is-no-section",
        "PROMPT-SEC-01",
        "A deployment without a persona has no section of that name.",
        edit(
            SystemPrompt,
            "__init__",
            ('    self.section(ctx, "deployment', '    if options.persona: self.section(ctx, "deployment'),
        ),
    ),
    Fault(
        "ties-are-sorted-by-name",
        "PROMPT-SEC-02",
        "Sections of equal order stand in the order of their names.",
        edit(
            SystemPrompt,
            "_ordered",
            ("key=lambda contribution: contribution.order", "key=lambda one: (one.order, one.name)"),
        ),
    ),
    Fault(
        "orders-need-not-be-finite",
        "PROMPT-SEC-03",
        "An order that is no finite number counts as none.",
        any_order,
    ),
    Fault(
        "second-registration-replaces",
        "PROMPT-SEC-04",
        "A second section of a name takes the place of the first.",
        edit(SystemPrompt, "_file", (_TAKEN, "table(layer)._entries.pop(name)")),
    ),
    Fault(
        "one-text-for-all-layers",
        "PROMPT-SEC-04",
        "Who repeats a name in an agent's layer is told to use the agent's layer.",
        edit(SystemPrompt, "_file", ("scoped=owner.scope is not None", "scoped=False")),
    ),
    Fault(
        "texts-are-cached",
        "PROMPT-SEC-05",
        "A provider is asked for its text once and for all.",
        edit(
            _CONTRIBUTION,
            "resolve",
            (
                "self.text(context)",
                (
                    "self.text.__dict__.setdefault('said', []) and self.text.said[0] or "
                    "(self.text.said.append(self.text(context)), self.text.said[0])[1]"
                ),
            ),
        ),
    ),
    Fault(
        "providers-are-told-the-scope-alone",
        "PROMPT-SEC-05",
        "A provider is given another context than the caller's, without agent and signal.",
        edit(_CONTRIBUTION, "resolve", ("self.text(context)", "self.text(AssembleContext(scope=context.scope))")),
    ),
    Fault(
        "assemblies-share-their-variables",
        "PROMPT-SEC-06",
        "What a listener does to the variables of an assembly is still there in the next.",
        edit(
            SystemPrompt,
            "assemble",
            ("variables: dict[str, str | None] = {}", "variables = self.__dict__.setdefault('_variables', {})"),
        ),
    ),
    Fault(
        "global-entries-win",
        "PROMPT-SCOPE-01",
        "A global section wins over an agent's own one.",
        edit(
            SystemPrompt,
            "_ordered",
            (
                "self._layers.merge(scope, table)",
                "{**self._layers.merge(scope, table), **dict(table(self._layers.visible(None)[0]).items())}",
            ),
        ),
    ),
    Fault(
        "hidden-providers-are-asked",
        "PROMPT-SCOPE-02",
        "All providers of a name are asked, and what the hidden ones answer is thrown away.",
        edit(
            SystemPrompt,
            "assemble",
            (
                _TEXTS,
                (
                    "for layer in self._layers.visible(scope):\n"
                    "        for _, hidden in layer.sections.items():\n"
                    "            hidden in sections or hidden.resolve(context)\n"
                    f"    {_TEXTS}"
                ),
            ),
        ),
    ),
    Fault(
        "own-tools-hide-the-others",
        "PROMPT-SCOPE-03",
        "An agent with tools of its own is not offered the global ones.",
        edit(
            SystemPrompt,
            "assemble",
            ("in self._layers.visible(scope) for provider", "in self._layers.visible(scope)[-1:] for provider"),
        ),
    ),
    Fault(
        "sections-outlive-their-agent",
        "PROMPT-SCOPE-04",
        "What an agent contributed is there as long as the registry.",
        edit(
            SystemPrompt,
            "_file",
            (
                _FILE,
                (
                    "from dshconform.faults.prompts import OwnedElsewhere\n"
                    "    return self._layers.register(OwnedElsewhere(owner, self._ctx), file,"
                ),
            ),
        ),
    ),
    Fault(
        "set-up-registers-globally",
        "PROMPT-SCOPE-05",
        "An agent has no layer of its own before it is published: what its set-up contributes is for everybody.",
        edit(
            SystemPrompt,
            "_file",
            (
                "def file(layer",
                (
                    "from dshcore.agent import AGENTS\n"
                    "    if owner.scope is not None and owner[AGENTS].get(owner.scope.id) is None:\n"
                    "        owner = self._ctx\n"
                    "    def file(layer"
                ),
            ),
        ),
    ),
    Fault(
        "persona-ends-with-a-caller",
        "TRACE-OWNER-03",
        "The first agent that contributes something takes over what the registry itself has registered.",
        together(
            edit(
                SystemPrompt,
                "__init__",
                ('    self.section(ctx, "deployment', '    self._own = self.section(ctx, "deployment'),
            ),
            edit(
                SystemPrompt,
                "_file",
                (_FILE, f"if owner.scope is not None:\n        owner.effect(self._own, label='taken')\n    {_FILE}"),
            ),
        ),
    ),
    Fault(
        "disposer-takes-out-the-name",
        "PROMPT-DISP-01",
        "A repeated disposer takes out whatever has the name by then.",
        edit(
            SystemPrompt,
            "_file",
            (
                _FILE,
                (
                    "def dispose():\n"
                    "        disposer()\n"
                    "        latest[kind, name]()\n"
                    "    latest = self.__dict__.setdefault('_latest', {})\n"
                    "    disposer = latest[kind, name] = self._layers.register(owner, file,"
                ),
            ),
            ('label=f"prompt {kind} {name}")', 'label=f"prompt {kind} {name}")\n    return dispose'),
        ),
    ),
    Fault(
        "changes-are-told-twice",
        "PROMPT-CHANGE-01",
        "Two notifications for one change.",
        edit(SystemPrompt, "_announce", ("self._ctx", "self._ctx.emit(SYSTEM_PROMPT_CHANGE, None)\n    self._ctx")),
    ),
    Fault(
        "failing-change-listeners-are-ignored",
        "PROMPT-CHANGE-02",
        "What a listener of the change raises stops nothing.",
        edit(
            SystemPrompt,
            "_announce",
            ("self._ctx", "import contextlib\n    with contextlib.suppress(Exception):\n        self._ctx"),
        ),
    ),
    Fault(
        "variable-names-end-at-a-line",
        "PROMPT-VAR-01",
        "The name of a variable may have a line feed at its end.",
        edit(
            SystemPrompt,
            "variable",
            ("VARIABLE_NAME.fullmatch(name)", "__import__('re').match(VARIABLE_NAME.pattern + '$', name)"),
        ),
    ),
    Fault(
        "no-value-falls-back",
        "PROMPT-VAR-02",
        "A variable that has no value for an agent has the global one.",
        edit(SystemPrompt, "assemble", ("# PROMPT-VAR-02: no value shadows a value", "or variables.get(name)")),
    ),
    Fault(
        "missing-cwd-is-empty",
        "PROMPT-VAR-03",
        "A session without a working directory has an empty one.",
        edit(creation, "_cwd", ('get("cwd")', 'get("cwd", "")')),
    ),
)
"""Those of contributions, clause by clause."""
