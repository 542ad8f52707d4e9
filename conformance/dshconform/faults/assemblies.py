"""Faults of the assembly of prompts, from the providers to the driver, that scenarios find."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, cast

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault, replaced
from dshcore.agent_loop.driver import Driver
from dshcore.context import Context
from dshcore.system_prompt import SYSTEM_PROMPT_ASSEMBLE, tool_order
from dshcore.system_prompt.registry import SystemPrompt

_TEXTS: Final = "texts = [section.resolve(context) for section in sections]"
_SCOPE: Final = "scope = context.scope\n"


def hear_everything() -> AbstractContextManager[None]:
    """Make every listener of assemblies a global one."""
    register = cast("Callable[..., object]", Context.on)

    def on(self: Context, key: object, listener: object, **how: bool) -> object:
        return register(self, key, listener, **(how | {"global_": True} if key is SYSTEM_PROMPT_ASSEMBLE else how))

    return replaced(Context, {"on": on})


ASSEMBLY_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "complete-section-comes-first",
        "PROMPT-COMPLETE-01",
        "A complete section is put in front of the others.",
        edit(
            SystemPrompt,
            "assemble",
            (
                "assembled.sections = [texts[complete[0]]]",
                "assembled.sections = [texts[complete[0]], *assembled.sections]",
            ),
        ),
    ),
    Fault(
        "complete-section-can-be-edited",
        "PROMPT-COMPLETE-02",
        "A complete section has the text that a listener gave it.",
        edit(
            SystemPrompt,
            "assemble",
            (
                "assembled.sections = [texts[complete[0]]]",
                "assembled.sections = [one for one in assembled.sections if one.name == texts[complete[0]].name]",
            ),
        ),
    ),
    Fault(
        "first-complete-section-wins",
        "PROMPT-COMPLETE-03",
        "Of two complete sections the first one is the whole text.",
        edit(SystemPrompt, "assemble", ("if len(complete) > 1:", "if False:")),
    ),
    Fault(
        "hidden-complete-sections-count",
        "PROMPT-COMPLETE-04",
        "A section is complete if any section of its name is, in whatever layer.",
        edit(
            SystemPrompt,
            "assemble",
            (
                "if section.complete is True]",
                (
                    "if any(dict(layer.sections.items())[section.name].complete "
                    "for layer in self._layers.visible(scope) if section.name in layer.sections)]"
                ),
            ),
        ),
    ),
    Fault(
        "contexts-stand-as-registered",
        "PROMPT-CTX-01",
        "Contexts have no order but that of their registration.",
        edit(
            SystemPrompt,
            "assemble",
            (
                "self._ordered(scope, lambda layer: layer.contexts)",
                "list(self._layers.merge(scope, lambda layer: layer.contexts).values())",
            ),
        ),
    ),
    Fault(
        "suppressed-contexts-are-evaluated",
        "PROMPT-CTX-02",
        "Suppressed contexts are evaluated and then dropped.",
        edit(SystemPrompt, "assemble", ("contexts = [] if suppressed else self", "contexts = self")),
    ),
    Fault(
        "listeners-add-to-suppressed-contexts",
        "PROMPT-CTX-02",
        "A context that a listener adds is told although contexts are suppressed.",
        edit(SystemPrompt, "assemble", ("assembled.contexts = []", "pass")),
    ),
    Fault(
        "suppression-is-a-switch",
        "PROMPT-CTX-03",
        "The first suppressor that is disposed ends all suppression.",
        edit(
            SystemPrompt,
            "assemble",
            (
                "    variables: dict[str, str | None] = {}\n",
                (
                    "    most = self.__dict__.setdefault('_most', {})\n"
                    "    there = sum(1 for layer in self._layers.visible(scope) for _ in layer.suppressors)\n"
                    "    most[id(scope)] = max(there, most.get(id(scope), 0))\n"
                    "    suppressed = suppressed and there == most[id(scope)]\n"
                    "    variables: dict[str, str | None] = {}\n"
                ),
            ),
        ),
    ),
    Fault(
        "tools-are-sorted-by-code-points",
        "PROMPT-TOOL-01",
        "Names of tools beyond the basic plane are sorted by their code points.",
        edit(tool_order, "code_units", ("utf-16-be", "utf-32-be")),
    ),
    Fault(
        "tools-are-sorted-without-case",
        "PROMPT-TOOL-01",
        "Names of tools are sorted without regard to case.",
        edit(tool_order, "code_units", ("name.encode", "name.lower().encode")),
    ),
    Fault(
        "unlisted-tools-are-left-out",
        "PROMPT-TOOL-02",
        "A tool that the order does not list is not offered.",
        edit(
            tool_order,
            "collect",
            ("return sorted(tools, key", 'return sorted([tool for tool in tools if tool["name"] in places], key'),
        ),
    ),
    Fault(
        "empty-order-is-none",
        "PROMPT-TOOL-03",
        "An order that lists nothing counts as absent.",
        edit(SystemPrompt, "__init__", ("if options.tool_order is not None:", "if options.tool_order:")),
    ),
    Fault(
        "only-visible-tools-are-known",
        "PROMPT-TOOL-04",
        "A tool that is known and not on offer fails the order that lists it.",
        edit(tool_order, "_known", ("if offer.known_names is None", "if True")),
    ),
    Fault(
        "known-names-are-sorted-by-code-point",
        "PROMPT-TOOL-04",
        "The names that an order may list are sorted by code point.",
        edit(tool_order, "collect", ("sorted(known, key=code_units)", "sorted(known)")),
    ),
    Fault(
        "reserved-name-without-an-order",
        "PROMPT-TOOL-05",
        "A tool may have the reserved name where no order is configured.",
        edit(tool_order, "collect", ("if any(", "if order is not None and any(")),
    ),
    Fault(
        "schemas-are-shared",
        "PROMPT-TOOL-06",
        "The parameters in an assembly are the provider's own object.",
        edit(tool_order, "collect", ("freeze({name", "dict({name")),
    ),
    Fault(
        "internal-fields-are-offered",
        "PROMPT-TOOL-06",
        "Whatever a provider says of a tool is part of the schema.",
        edit(tool_order, "collect", ("for name in _MEMBERS", "for name in schema")),
    ),
    Fault(
        "texts-are-evaluated-as-registered",
        "PROMPT-ASM-01",
        "Sections are evaluated in the order of their registration.",
        edit(
            SystemPrompt,
            "assemble",
            (
                _TEXTS,
                (
                    "said = {one: one.resolve(context) for one in "
                    "self._layers.merge(scope, lambda layer: layer.sections).values()}\n"
                    "    texts = [said[one] for one in sections]"
                ),
            ),
        ),
    ),
    Fault(
        "assembly-begins-later",
        "PROMPT-ASM-01",
        "Nothing is evaluated inside the call.",
        edit(SystemPrompt, "assemble", (_SCOPE, f"{_SCOPE}    await __import__('asyncio').sleep(0)\n")),
    ),
    Fault(
        "failing-sections-are-skipped",
        "PROMPT-ASM-02",
        "A section of which the provider fails is left out.",
        edit(
            SystemPrompt,
            "assemble",
            (
                _TEXTS,
                (
                    "texts = []\n"
                    "    import contextlib\n"
                    "    for section in sections:\n"
                    "        with contextlib.suppress(Exception):\n"
                    "            texts.append(section.resolve(context))"
                ),
            ),
        ),
    ),
    Fault(
        "aborted-assemblies-fail",
        "PROMPT-ASM-04",
        "An assembly with an aborted signal is refused.",
        edit(
            SystemPrompt,
            "assemble",
            (_SCOPE, f"{_SCOPE}    if context.signal is not None: context.signal.raise_if_aborted()\n"),
        ),
    ),
    Fault(
        "late-sections-take-part",
        "PROMPT-ASM-05",
        "A section that a tool provider registers is in the same assembly.",
        edit(
            SystemPrompt,
            "assemble",
            (_TEXTS, f"sections = self._ordered(scope, lambda layer: layer.sections)\n    {_TEXTS}"),
        ),
    ),
    Fault(
        "tools-of-listeners-are-sorted-in",
        "PROMPT-WF-01",
        "What listeners answer is put in order again.",
        edit(
            SystemPrompt,
            "assemble",
            ("if complete:\n", "assembled.tools.sort(key=lambda tool: tool['name'])\n    if complete:\n"),
        ),
    ),
    Fault(
        "listeners-get-a-copy",
        "PROMPT-WF-02",
        "What a listener does to the assembly is lost unless it answers it.",
        edit(
            SystemPrompt,
            "assemble",
            (
                "PromptAssembling(assembly, context)",
                (
                    "PromptAssembling(Assembly(list(assembly.sections), list(assembly.contexts), list(assembly.tools), "
                    "dict(assembly.variables)), context)"
                ),
            ),
        ),
    ),
    Fault(
        "listeners-hear-all-assemblies",
        "PROMPT-WF-03",
        "A listener in an agent's scope shapes the prompts of all agents.",
        hear_everything,
    ),
    Fault(
        "registered-variables-are-rendered",
        "PROMPT-WF-04",
        "Variables count as they were registered, whatever listeners make of them.",
        edit(
            SystemPrompt,
            "assemble",
            ("variables=variables,", "variables=dict(variables),"),
            ("return assembled", "assembled.variables = variables\n    return assembled"),
        ),
    ),
    Fault(
        "prompt-is-assembled-again",
        "REQ-PROMPT-01",
        "The request is made of an assembly that comes after the decision about the step.",
        edit(
            Driver,
            "_run_steps",
            ("decision.messages, assembly)", "decision.messages, await self._assemble(agent, signal))"),
        ),
    ),
    Fault(
        "sections-are-rendered-before-the-step",
        "REQ-PROMPT-02",
        "A section that cannot be rendered fails the turn before its step, and the message is lost.",
        edit(
            Driver,
            "_run_steps",
            ("decision = await self._decide(", "render_system(assembly)\n        decision = await self._decide("),
        ),
    ),
    Fault(
        "cancelled-context-is-followed-by-a-proposal",
        "CANCEL-PHASE-03",
        "A turn that a context cancels proposes its step all the same.",
        edit(
            Driver,
            "_run_steps",
            (
                "assembly = await self._assemble(agent, signal)\n        signal.raise_if_aborted()",
                "assembly = await self._assemble(agent, signal)",
            ),
        ),
    ),
)
"""Those of assemblies, clause by clause."""
