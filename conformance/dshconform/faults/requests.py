"""Faults of the model request and of recovery that scenarios find; others stand in `turn`."""

from collections.abc import Callable
from typing import Final, cast

import msgspec

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault, replaced
from dshcore.agent_loop import creation, request
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.request import Requests
from dshcore.llm import models
from dshcore.llm.calls import CallConfig, GenerateOptions

_STEP_END: Final = '{"turn": turn.number, "step": turn.opened}'

_proposal: Final[Callable[[Requests], CallConfig]] = Requests._proposal  # noqa: SLF001 - faults are planted inside


_Open: Final = cast("Callable[..., CallConfig]", msgspec.defstruct("_Open", (), bases=(CallConfig,), frozen=False))
"""A configuration that can be changed in place."""


def _propose_openly(self: Requests) -> CallConfig:
    offered = vars(self)["offered"] = _Open(**msgspec.structs.asdict(_proposal(self)))
    return offered


REQUEST_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "defaults-are-fed-back",
        "REQ-SEED-01",
        "What the adapter defaulted is proposed as if a caller had chosen it.",
        edit(Requests, "_proposal", (" if name not in defaulted", "")),
    ),
    Fault(
        "options-without-their-cap",
        "REQ-SEED-01",
        "The first proposal has not the output cap of the options.",
        edit(Requests, "_proposal", ("max_tokens=options.max_tokens)", "max_tokens=UNSET)")),
    ),
    Fault(
        "offer-is-shared",
        "REQ-SEED-04",
        "What a listener changes in the offered configuration reaches the request without being logged.",
        together(
            lambda: replaced(Requests, {"_proposal": _propose_openly}),
            edit(
                Requests,
                "attempt",
                (
                    "    request = mark_loop_built(",
                    (
                        "    members = {**config.to_json(), **self.offered.to_json()}\n"
                        "    config = CallConfig.read(members)\n"
                        "    request = mark_loop_built("
                    ),
                ),
                ("call.stream(request)", "self._llm.stream(request)"),
            ),
        ),
    ),
    Fault(
        "placeholder-for-a-missing-model",
        "REQ-ROUTE-01",
        "A request without a route goes to a placeholder.",
        edit(
            Requests,
            "attempt",
            (
                "raise NoRoute(agent.id)",
                'config = CallConfig(provider=config.provider or "mock", model=config.model or "m1")',
            ),
        ),
    ),
    Fault(
        "cap-is-not-checked-on-creation",
        "REQ-MAXTOK-01",
        "An agent is created with an output cap that cannot be.",
        lambda: replaced(creation, {"check_max_tokens": lambda _: None}),
    ),
    Fault(
        "default-overrides-the-cap",
        "REQ-MAXTOK-02",
        "The adapter's default overrides the agent's cap.",
        edit(models, "complete", ("config.max_tokens is UNSET and ", "")),
    ),
    Fault(
        "cap-of-a-listener-is-not-checked",
        "REQ-MAXTOK-03",
        "An output cap that a listener returns reaches the adapter as it is.",
        lambda: replaced(request, {"check_max_tokens": lambda _: None}),
    ),
    Fault(
        "resumed-agent-logs-no-header",
        "REQ-HEAD-01",
        "A resumed agent logs no header where nothing has changed.",
        edit(Requests, "_log_header", ('reason != "change" or last is None', "last is None")),
    ),
    Fault(
        "resumed-agent-logs-an-initial-header",
        "REQ-HEAD-01",
        "The first header of a resumed agent has the reason initial.",
        edit(Requests, "_log_header", ('else "resume"', 'else "initial"')),
    ),
    Fault(
        "changed-header-is-not-logged",
        "REQ-HEAD-02",
        "Only the first request logs a header, whatever changes later.",
        edit(Requests, "_log_header", (" or not header_equals(header, last)", "")),
    ),
    Fault(
        "empty-system-text-is-sent",
        "REQ-HEAD-03",
        "An empty system text and an empty list of tools are part of header and request.",
        together(
            edit(
                Requests,
                "attempt",
                ("prompt.system or None", "prompt.system"),
                ("prompt.tools or None", "prompt.tools"),
            ),
            edit(
                Requests,
                "_log_header",
                ('{"header": header,', '{"header": {"system": prompt.system, "tools": list(prompt.tools), **header},'),
            ),
        ),
    ),
    Fault(
        "header-before-the-messages",
        "REQ-HEAD-03",
        "The header is logged in front of the messages of its step.",
        edit(
            Driver,
            "_run_step",
            (
                "        for message in entered:",
                (
                    "        from dshcore.llm import CallConfig\n"
                    "        options = agent.options\n"
                    "        prompt = Prompt(render_system(assembly), tuple(assembly.tools))\n"
                    "        if options.provider and options.model:\n"
                    "            self._requests._log_header(CallConfig(provider=options.provider, "
                    "model=options.model, max_tokens=options.max_tokens), None, prompt)\n"
                    "        for message in entered:"
                ),
            ),
        ),
    ),
    Fault(
        "old-window-is-kept",
        "REQ-CTX-01",
        "The context window of the last route is kept for one that advertises none.",
        edit(
            Requests,
            "_log_header",
            (
                "    if not same(session.request_context(), context):",
                (
                    '    context = {**{"contextWindow": 0}, **(session.request_context() or {}), **context}\n'
                    '    if context["contextWindow"] == 0:\n'
                    '        del context["contextWindow"]\n'
                    "    if not same(session.request_context(), context):"
                ),
            ),
        ),
    ),
    Fault(
        "context-for-every-request",
        "REQ-CTX-01",
        "A context is logged for every request.",
        edit(Requests, "_log_header", ("if not same(session.request_context(), context):", "if True:")),
    ),
    Fault(
        "racing-input-is-merged",
        "REQ-MSG-01",
        "What is injected while a request is built is part of it.",
        edit(Requests, "attempt", ("            history,\n", "            (*history, *agent.inbox.next_step),\n")),
    ),
    Fault(
        "request-without-its-session",
        "REQ-SHAPE-01",
        "The request does not say to which session it belongs.",
        edit(Requests, "attempt", ("session_id=self._session.id,", "")),
    ),
    Fault(
        "request-is-not-frozen",
        "REQ-SHAPE-01",
        "Whoever stands around the stream may add messages to the request.",
        edit(
            GenerateOptions,
            "freeze",
            ('    object.__setattr__(self, "_frozen", True)\n', "    self.messages = list(self.messages)\n"),
        ),
    ),
    Fault(
        "every-failure-is-offered",
        "RERR-WHEN-01",
        "Failures of agent/request are offered to recovery too.",
        edit(
            Driver,
            "_answer",
            (
                "    while isinstance(attempt := await self._requests.attempt(*place, prompt), Failed):",
                (
                    "    async def attempted():\n"
                    "        try:\n"
                    "            return await self._requests.attempt(*place, prompt)\n"
                    "        except Exception as error:\n"
                    '            return Failed(agent.options.provider or "", turn_failure(error), None)\n'
                    "    while isinstance(attempt := await attempted(), Failed):"
                ),
            ),
        ),
    ),
    Fault(
        "recovery-behind-the-step",
        "RERR-POS-01",
        "The step is closed before recovery is asked.",
        edit(Driver, "_may_retry", ("    hook = ", f'    agent.session.append("step/end", {_STEP_END})\n    hook = ')),
    ),
    Fault(
        "retry-enters-again",
        "RERR-RETRY-01",
        "A retry enters the messages of the step again.",
        edit(
            Driver,
            "_answer",
            (
                "            raise LlmError.from_facts(attempt.failure)\n",
                (
                    "            raise LlmError.from_facts(attempt.failure)\n"
                    '        agent.session.append("user/message", agent.session.derive_messages()[-1], '
                    'surface_op="append")\n'
                ),
            ),
        ),
    ),
    Fault(
        "answer-cites-both-attempts",
        "RERR-RETRY-02",
        "The answer to a retry cites the chunks of the failed attempt too.",
        edit(
            Driver,
            "_answer",
            (
                "source_event_seqs=attempt.chunk_seqs",
                (
                    'source_event_seqs=[e["seq"] for e in agent.session.events if e["type"] == '
                    '"assistant/chunk" and e["data"]["turn"] == turn.number and e["data"]["step"] == turn.opened]'
                ),
            ),
        ),
    ),
    Fault(
        "retry-claims",
        "RERR-RETRY-03",
        "A retry takes what was sent during recovery.",
        edit(
            Driver,
            "_answer",
            (
                "            raise LlmError.from_facts(attempt.failure)\n",
                (
                    "            raise LlmError.from_facts(attempt.failure)\n"
                    '        for message in agent.inbox.claim("next-step", turn.number):\n'
                    '            agent.session.append("user/message", message, surface_op="append")\n'
                ),
            ),
        ),
    ),
    Fault(
        "old-config-is-restored-whole",
        "REQ-SEED-03",
        "An agent over an old log goes on with everything that its last header asked for.",
        edit(
            Requests,
            "_proposal",
            ("    return CallConfig(\n        provider", "    return CallConfig.read(last) or dict(\n        provider"),
        ),
    ),
    Fault(
        "unserved-route-has-no-header",
        "REQ-ROUTE-02",
        "A route that nobody serves ends the turn before its header.",
        edit(Requests, "_prepare", ("if error.code == _NO_ADAPTER:", "if False:")),
    ),
    Fault(
        "defaults-are-not-marked",
        "REQ-DEF-01",
        "What an adapter fills in is logged as if it had been asked for, and stays with a switch.",
        edit(Requests, "_log_header", ("{} if call is None else call.adapter_defaults", "{}")),
    ),
    Fault(
        "policy-is-looked-up-again",
        "RERR-PAY-01",
        "Recovery is told the policy that the route has when its request has failed.",
        edit(
            Requests,
            "_receive",
            ("attempt.call.retry_policy", "self._llm._registry.lookup(attempt.config.provider).retry_policy"),
        ),
    ),
    Fault(
        "retry-assembles-anew",
        "RERR-RETRY-03",
        "A retry has a prompt of its own.",
        edit(
            Driver,
            "_answer",
            (
                "            raise LlmError.from_facts(attempt.failure)\n",
                (
                    "            raise LlmError.from_facts(attempt.failure)\n"
                    "        assembly = await self._assemble(agent, turn.signal)\n"
                    "        prompt = Prompt(render_system(assembly), tuple(assembly.tools))\n"
                ),
            ),
        ),
    ),
    Fault(
        "aborted-finish-is-a-cancellation",
        "RERR-TERM-01",
        "A turn whose response ended aborted ends aborted, although nobody cancelled.",
        edit(
            Driver,
            "_ending_of",
            (
                "    if turn.signal.aborted:",
                '    if turn.signal.aborted or getattr(failure, "code", None) == "ABORTED":',
            ),
        ),
    ),
    Fault(
        "failed-prefix-is-kept",
        "RERR-TERM-02",
        "What a failed response had delivered is made an interrupted message.",
        edit(
            Requests,
            "_receive",
            ("        policy = ", "        self._log_interrupted(attempt, chunks, seqs)\n        policy = "),
        ),
    ),
    Fault(
        "abort-sends-once-more",
        "RERR-CANCEL-01",
        "A request is made again although recovery was cancelled.",
        together(
            edit(Driver, "_may_retry", ("    turn.signal.raise_if_aborted()\n", "")),
            edit(
                Requests,
                "attempt",
                ("    signal.raise_if_aborted()\n    if not isinstance", "    if not isinstance"),
                ("    signal.raise_if_aborted()\n    if call", "    if call"),
                ("    signal.raise_if_aborted()\n    request", "    request"),
            ),
            edit(Requests, "_receive", ("        signal.raise_if_aborted()\n        async", "        async")),
        ),
    ),
)
