"""Faults of the tool registry: what can be registered, who sees it, what is told, and how calls are classified."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore import spine
from dshcore.tools import definitions, typed, visibility
from dshcore.tools.pipeline import PendingCall
from dshcore.tools.registry import ToolRegistry
from dshcore.tools.visibility import Restriction

_DEFINITIONS: Final[tuple[Fault, ...]] = (
    Fault(
        "output-schemas-are-not-asserted",
        "TOOL-DEF-03",
        "An output schema may have keywords that nobody enforces.",
        edit(definitions, "check_definition", ("    assert_supported(definition.output.schema)\n", "")),
    ),
    Fault(
        "timeouts-are-enforced",
        "TOOL-DEF-05",
        "A call whose tool declares a timeout is cut off.",
        edit(
            PendingCall,
            "_attempt_body",
            ("return ABORTED if _any_aborted(call.signal, own) else", "return ABORTED if definition.timeout_ms else"),
        ),
    ),
    Fault(
        "parameters-are-asserted",
        "TOOL-DEF-06",
        "The parameters of a raw tool have to be in the enforced subset.",
        edit(
            definitions,
            "check_definition",
            (
                "    assert_supported(definition.output.schema)\n",
                "    assert_supported(definition.output.schema)\n    assert_supported(definition.parameters)\n",
            ),
        ),
    ),
    Fault(
        "no-name-is-reserved",
        "TOOL-DEF-07",
        "A tool may have the name of the code transport.",
        edit(definitions, "check_definition", ("if definition.name == RESERVED_NAME:", "if False:")),
    ),
    Fault(
        "names-are-checked-first",
        "TOOL-DEF-08",
        "A reserved name is told before an impossible timeout.",
        edit(
            definitions,
            "check_definition",
            (
                "if not is_duration(definition.timeout_ms):",
                "if definition.name != RESERVED_NAME and not is_duration(definition.timeout_ms):",
            ),
        ),
    ),
    Fault(
        "taken-names-are-ignored",
        "TOOL-DUP-01",
        "A name may be registered twice.",
        edit(
            ToolRegistry,
            "register",
            ("raise DuplicateTool(definition.name, scoped=owner.scope is not None)", "return lambda: None"),
        ),
    ),
    Fault(
        "one-text-for-all-duplicates",
        "TOOL-DUP-02",
        "A name that is taken in a scope is told as one that is taken for everybody.",
        edit(ToolRegistry, "register", ("scoped=owner.scope is not None", "scoped=False")),
    ),
)

_LAYERS: Final[tuple[Fault, ...]] = (
    Fault(
        "tools-are-for-everybody",
        "TOOL-SCOPE-01",
        "What an agent registers is found by others, too.",
        edit(
            visibility,
            "resolve",
            ("layers.visible(scope)", "(*layers.visible(scope), *(layer for _, layer in layers._scoped.values()))"),
        ),
    ),
    Fault(
        "common-tools-come-first",
        "TOOL-SCOPE-02",
        "What everybody has hides what an agent registered under the same name.",
        edit(
            visibility,
            "resolve",
            ("if found is not None:", "if found is not None and name not in layers.visible(None)[0].tools:"),
            ("in reversed(around))", "in around)"),
        ),
    ),
    Fault(
        "grandparents-are-not-asked",
        "TOOL-SCOPE-03",
        "Tools are looked for in the scope itself, in the one around it, and in the global layer.",
        edit(
            visibility,
            "resolve",
            (
                "around = layers.visible(scope)\n",
                (
                    "from dshcore.scope import scope_parent_of\n"
                    "    near = (layers.peek(scope_parent_of(scope)), own)\n"
                    "    around = [layers.global_, *(layer for layer in near if layer is not None)]\n"
                ),
            ),
        ),
    ),
    Fault(
        "models-are-told-of-timeouts",
        "TOOL-LIST-01",
        "A listing shows what else a definition has.",
        edit(
            ToolRegistry,
            "_schema_of",
            ('"parameters": parameters})', '"parameters": parameters, "timeoutMs": 0})'),
        ),
    ),
    Fault(
        "listings-are-sorted",
        "TOOL-LIST-02",
        "Tools are listed by name.",
        edit(visibility, "listed", ("return seen.values()", "return [seen[name] for name in sorted(seen)]")),
    ),
    Fault(
        "orders-know-what-is-seen",
        "TOOL-LIST-04",
        "An order cannot list a tool that is hidden from the agent.",
        edit(spine, "offer_tools", (", tools.known_names(context.scope))", ")")),
    ),
    Fault(
        "a-disposer-goes-by-name",
        "TOOL-DISPOSE-01",
        "A disposer that is called again removes what was registered under the name meanwhile.",
        edit(
            ToolRegistry,
            "register",
            (
                'return self._layers.register(owner, file, label=f"tool {definition.name}")',
                (
                    'disposer = self._layers.register(owner, file, label=f"tool {definition.name}")\n'
                    "    return lambda: disposer() or self._layers.global_.tools._entries.pop(definition.name, None)"
                ),
            ),
        ),
    ),
    Fault(
        "guards-outlive-their-agent",
        "TOOL-DISPOSE-02",
        "A guard is not lifted when its agent ends.",
        edit(
            ToolRegistry,
            "guard",
            ("lambda layer: layer.guards.append(guard)", "lambda layer: layer.guards.append(guard) and (lambda: None)"),
        ),
    ),
    Fault(
        "what-has-ended-registers-for-all",
        "TOOL-DISPOSE-03",
        "A registration through an agent that has ended is filed for everybody.",
        edit(
            ToolRegistry,
            "register",
            (
                "check_definition(definition)\n",
                "check_definition(definition)\n    owner = owner if owner.active else self._ctx\n",
            ),
        ),
    ),
    Fault(
        "the-definition-of-the-beginning",
        "TOOL-LIVE-01",
        "What runs is decided when the call begins.",
        edit(
            PendingCall,
            "__init__",
            (
                "self._tools = tools\n",
                (
                    "from types import SimpleNamespace\n"
                    "    self._tools = SimpleNamespace(get=lambda *_: visible, guards=tools.guards)\n"
                ),
            ),
        ),
    ),
    Fault(
        "the-definition-of-the-end",
        "TOOL-LIVE-02",
        "A tool that is gone when its body has ended is unknown.",
        edit(
            PendingCall,
            "_attempt_body",
            (
                "result = self._completed(definition, value)",
                "result = self._completed(self._tools.get(call.name, self._scope), value)",
            ),
        ),
    ),
)

_CHANGES: Final[tuple[Fault, ...]] = (
    Fault(
        "restrictions-are-not-told",
        "TOOL-CHANGE-01",
        "A restriction is no change of the tools.",
        edit(ToolRegistry, "restrict", ('label="restriction of tools"', 'label="restriction of tools", notify=False')),
    ),
    Fault(
        "scopes-hear-their-own-changes",
        "TOOL-CHANGE-02",
        "What an agent registers is not told to others.",
        edit(
            ToolRegistry,
            "register",
            (
                'label=f"tool {definition.name}")',
                'label=f"tool {definition.name}", notify=owner.scope is None)',
            ),
        ),
    ),
    Fault(
        "changes-cannot-be-refused",
        "TOOL-CHANGE-03",
        "What a listener of a change throws is dropped.",
        edit(
            ToolRegistry,
            "_announce",
            (
                "self._ctx.emit(TOOLS_CHANGE, None)",
                (
                    "import contextlib\n    with contextlib.suppress(Exception):\n"
                    "        self._ctx.emit(TOOLS_CHANGE, None)"
                ),
            ),
        ),
    ),
)

_RESTRICTIONS: Final[tuple[Fault, ...]] = (
    Fault(
        "allow-overrides-deny",
        "RESTRICT-SET-01",
        "A name that is both allowed and denied is inherited.",
        edit(
            Restriction,
            "admits",
            (
                "name not in self.deny and (self.allow is None or name in self.allow)",
                "name in self.allow if self.allow else name not in self.deny",
            ),
        ),
    ),
    Fault(
        "the-last-restriction-counts",
        "RESTRICT-SET-02",
        "A restriction replaces those before it.",
        edit(
            visibility.ToolLayer,
            "admits",
            ("self.restrictions)", "list(self.restrictions)[-1:])"),
        ),
    ),
    Fault(
        "restrictions-hide-own-tools",
        "RESTRICT-SET-03",
        "A restriction hides what the agent itself registered.",
        edit(
            visibility,
            "listed",
            (
                "return seen.values()",
                "return [tool for name, tool in seen.items() if all(layer.admits(name) for layer in around)]",
            ),
        ),
    ),
    Fault(
        "restrictions-are-resolved-once",
        "RESTRICT-SET-04",
        "What is registered after a restriction is not subject to it.",
        edit(
            visibility,
            "read_restriction",
            (
                "return Restriction(None if allow is None else frozenset(allowed), frozenset(denied))",
                (
                    "hidden = inherited.keys() - set(allowed) if allow is not None else set()\n"
                    "    return Restriction(None, frozenset(denied) | hidden)"
                ),
            ),
        ),
    ),
    Fault(
        "hidden-tools-are-found",
        "RESTRICT-SET-05",
        "A restriction shortens the listing and nothing else.",
        edit(visibility, "resolve", ("if not all(layer.admits(name) for layer in around):", "if False:")),
    ),
    Fault(
        "restrictions-are-of-one-scope",
        "RESTRICT-CHAIN-01",
        "The scopes that are nested in a restricted one see everything.",
        edit(
            visibility,
            "listed",
            (
                "around = layers.visible(scope)\n",
                "around = [layer for layer in (layers.peek(scope),) if layer is not None]\n",
            ),
        ),
    ),
    Fault(
        "exempt-tools-stay-exempt",
        "RESTRICT-CHAIN-02",
        "What a restricted scope registered itself is seen in the scopes below it.",
        edit(
            visibility,
            "listed",
            (
                "if all(layer.admits(name) for layer in around)",
                "if all(layer.admits(name) or name in layer.tools for layer in around)",
            ),
        ),
    ),
    Fault(
        "an-empty-filter-is-ignored",
        "RESTRICT-ERR-01",
        "A restriction without a list is accepted.",
        edit(visibility, "read_restriction", ("if allow is None and deny is None:", "if False:")),
    ),
    Fault(
        "unknown-names-are-kept",
        "RESTRICT-ERR-02",
        "A restriction may name what nobody has registered.",
        edit(visibility, "read_restriction", ("if name not in inherited]:", "if False]:")),
    ),
    Fault(
        "known-tools-are-sorted-by-code-point",
        "RESTRICT-ERR-02",
        "The names that a restriction may have are sorted by code point.",
        edit(visibility, "read_restriction", (", key=code_units", "")),
    ),
    Fault(
        "the-transport-is-unknown",
        "RESTRICT-ERR-03",
        "The reserved name is told as an unknown tool.",
        edit(visibility, "read_restriction", ("if RESERVED_NAME in names:", "if False:")),
    ),
    Fault(
        "hidden-tools-are-denied",
        "UNKNOWN-TOOL-02",
        "A call of another agent's tool is told that it is denied.",
        edit(
            PendingCall,
            "_attempt_body",
            (
                "return failure_of(ToolNotFoundError(call.name))",
                (
                    "return failure_of(ToolNotFoundError(call.name) if call.name in ('nowhere', 'nobody', 'ghost') "
                    "else PermissionError(call.name))"
                ),
            ),
        ),
    ),
)

_MODES: Final[tuple[Fault, ...]] = (
    Fault(
        "classifiers-get-what-comes",
        "MODE-CLASS-02",
        "The classifier of a typed tool is asked about arguments that do not fit.",
        edit(
            typed,
            "_checked",
            (
                "is_concurrency_safe=only_if_valid(written.is_concurrency_safe, otherwise=False)",
                "is_concurrency_safe=written.is_concurrency_safe",
            ),
        ),
    ),
    Fault(
        "everybody-classifies-alike",
        "MODE-CLASS-03",
        "What everybody has decides for an agent with a tool of its own.",
        edit(ToolRegistry, "mode", ("self.get(call.name, scope)", "self.get(call.name) or self.get(call.name, scope)")),
    ),
    Fault(
        "aborted-calls-are-exclusive",
        "MODE-CLASS-04",
        "The signal of a call decides whether it may overlap others.",
        edit(ToolRegistry, "mode", ("if safe is True else", "if safe is True and not call.signal.aborted else")),
    ),
)

_PRESENTERS: Final[tuple[Fault, ...]] = (
    Fault(
        "the-pipeline-presents",
        "PRESENT-CALL-01",
        "A call is presented while it is executed.",
        edit(
            PendingCall,
            "_attempt_body",
            (
                "    self._body_invoked = True\n",
                (
                    "    self._body_invoked = True\n    if definition.present_call:\n"
                    "        definition.present_call(self._arguments)\n"
                ),
            ),
        ),
    ),
    Fault(
        "presenters-get-what-comes",
        "PRESENT-CALL-02",
        "A presenter of a typed tool is called with arguments that do not fit.",
        edit(
            typed,
            "_checked",
            ("present_call=only_if_valid(written.present_call, otherwise=None)", "present_call=written.present_call"),
        ),
    ),
    Fault(
        "presenters-get-the-value",
        "PRESENT-CALL-03",
        "A presenter of results is given more than what was logged.",
        edit(
            typed,
            "_checked",
            ("callback(arguments, *more)", "callback(arguments, *({**each, 'value': None} for each in more))"),
        ),
    ),
)

TOOL_REGISTRY_FAULTS: Final[tuple[Fault, ...]] = (
    *_DEFINITIONS,
    *_LAYERS,
    *_CHANGES,
    *_RESTRICTIONS,
    *_MODES,
    *_PRESENTERS,
)
