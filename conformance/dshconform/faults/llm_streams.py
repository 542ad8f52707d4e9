"""Faults of messages, of the folding of streams and of failures that scenarios find."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault, replaced
from dshcore import errors
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.request import Requests
from dshcore.llm import attempts, failures, messages
from dshcore.llm.assembler import BlockAssembler, _OpenBlock
from dshcore.llm.failures import LlmError
from dshcore.llm.runtime import LlmRuntime

_USER_MESSAGE: Final = 'session.append("user/message", message, surface_op="append")'
_HISTORY: Final = "history = self._session.derive_messages()"
_PUSH: Final = 'chunks.push(event["data"]["chunk"])'
CHAIN: Final = (
    "self._ctx.waterfall(\n"
    "        LLM_STREAM, request, lambda: attempt(self._registry, request, binding), to=self._ctx.receiver(LLM)\n"
    "    )"
)
"""The expression by which a request is dispatched."""
_DISPATCH: Final = f"return {CHAIN}"

MESSAGE_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "messages-share-an-id",
        "MSG-ID-01",
        "Every message that is made has the same id.",
        lambda: replaced(messages, {"mint_message_id": lambda: "same"}),
    ),
    Fault(
        "empty-content-is-filled",
        "MSG-SHAPE-01",
        "A message without content is logged with an empty text.",
        edit(
            Driver,
            "_run_step",
            (
                _USER_MESSAGE,
                _USER_MESSAGE.replace(
                    "message,", '{**message, "content": message["content"] or ({"type": "text", "text": ""},)},'
                ),
            ),
        ),
    ),
    Fault(
        "unknown-sources-are-users",
        "MSG-SRC-01",
        "A source of an unknown kind is logged as the user.",
        edit(
            Driver,
            "_run_step",
            (_USER_MESSAGE, _USER_MESSAGE.replace("message,", '{**message, "source": {"kind": "user"}},')),
        ),
    ),
    Fault(
        "answer-is-from-the-configured-route",
        "MSG-SRC-02",
        "The source of an answer names the route of the agent's options.",
        edit(
            Requests,
            "_receive",
            (
                "chunks.message(provider=attempt.config.provider, model=attempt.config.model)",
                "chunks.message(provider=agent.options.provider, model=agent.options.model)",
            ),
        ),
    ),
    Fault(
        "tool-source-tells-more",
        "MSG-SRC-03",
        "The source of a result names the role of its message too.",
        edit(messages, "tool_result_message", ('"callId": call_id}', '"callId": call_id, "role": "user"}')),
    ),
    Fault(
        "unknown-blocks-are-filtered",
        "MSG-BLOCK-01",
        "Blocks of an unknown type are left out of requests.",
        edit(
            Requests,
            "attempt",
            (
                _HISTORY,
                (
                    "from dshcore.json import freeze\n"
                    "    known = ('text', 'reasoning', 'image', 'tool-call', 'tool-result')\n"
                    "    history = tuple(\n"
                    '        freeze({**said, "content": [one for one in said["content"] if one["type"] in known]})\n'
                    "        for said in self._session.derive_messages()\n"
                    "    )"
                ),
            ),
        ),
    ),
    Fault(
        "unknown-sources-are-passed-over",
        "PATTERN-EXT-01",
        "Messages of an unknown source are left out of requests.",
        edit(
            Requests,
            "attempt",
            (
                _HISTORY,
                (
                    "history = tuple(said for said in self._session.derive_messages() "
                    'if said["source"]["kind"] in ("user", "plugin", "model", "tool"))'
                ),
            ),
        ),
    ),
    Fault(
        "arguments-are-written-anew",
        "MSG-BLOCK-02",
        "The arguments of a call are parsed and written again.",
        edit(
            _OpenBlock,
            "assemble",
            (
                'arguments = "".join(self.arguments)',
                'arguments = encode(__import__("json").loads("".join(self.arguments))).decode()',
            ),
        ),
    ),
    Fault(
        "success-is-not-marked",
        "MSG-BLOCK-03",
        "A result says that it is an error only when it is one.",
        edit(messages, "tool_result_message", ('"isError": is_error', '**({"isError": True} if is_error else {})')),
    ),
)
"""Of messages."""

STREAM_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "stream-is-read-ahead",
        "CHUNK-LOG-01",
        "The stream is read to its end before anything of it is logged.",
        edit(Requests, "_receive", ("async for chunk in stream:", "for chunk in [one async for one in stream]:")),
    ),
    Fault(
        "reading-stops-at-the-finish",
        "CHUNK-PASS-01",
        "What stands behind the first finish is not read.",
        edit(
            Requests, "_receive", (_PUSH, f'{_PUSH}\n            if chunk["type"] == "finish":\n                break')
        ),
    ),
    Fault(
        "unknown-chunks-are-skipped",
        "CHUNK-UNKNOWN-01",
        "A chunk of an unknown type is passed over.",
        edit(BlockAssembler, "push", ("raise AssemblyError(", "str(")),
    ),
    Fault(
        "failed-text-is-kept",
        "CHUNK-OPEN-01",
        "The text of a failed attempt is logged as a message.",
        edit(
            Requests,
            "_receive",
            (
                "policy = None if",
                "self._log_interrupted(attempt, chunks, seqs)\n        policy = None if",
            ),
        ),
    ),
    Fault(
        "unknown-finish-is-a-failure",
        "CHUNK-FINISH-01",
        "A reason to finish that nobody knows fails the turn.",
        edit(
            Requests,
            "_receive",
            (
                'if chunks.finish.get("kind") in _FAILURES:',
                'if chunks.finish.get("kind") not in ("stop", "tool-calls", "max-tokens"):',
            ),
        ),
    ),
    Fault(
        "blocks-by-index",
        "ASM-ORDER-01",
        "Blocks stand in the order of their indices.",
        edit(BlockAssembler, "_assembled", ("in self._blocks.items()", "in sorted(self._blocks.items())")),
    ),
    Fault(
        "index-is-a-place",
        "CHUNK-INDEX-01",
        "The index of a block has to be the number of blocks before it.",
        edit(
            BlockAssembler,
            "_opened",
            (
                "if block is None:",
                "if block is None and index > len(self._blocks):\n        return None\n    if block is None:",
            ),
        ),
    ),
    Fault(
        "deltas-are-separated",
        "ASM-TEXT-01",
        "Blanks are put between the deltas of a text.",
        edit(_OpenBlock, "assemble", ('"".join(self.text)', '" ".join(self.text)')),
    ),
    Fault(
        "last-delta-decides-the-type",
        "ASM-TYPE-01",
        "A block has the type of its last delta.",
        edit(
            BlockAssembler,
            "_accumulate_text",
            ("block.text.append(text)", "block.text.append(text)\n        block.type = type_"),
        ),
    ),
    Fault(
        "deltas-win-over-the-end",
        "ASM-END-01",
        "What was accumulated counts where a block's end differs.",
        edit(BlockAssembler, "push", ("self._blocks[index] = block", "self._blocks.setdefault(index, block)")),
    ),
    Fault(
        "last-end-wins",
        "ASM-END-02",
        "A second end of a block replaces the first.",
        edit(BlockAssembler, "push", ("if not isinstance(self._blocks.get(index), Mapping):", "if True:")),
    ),
    Fault(
        "names-are-joined",
        "ASM-TOOL-01",
        "The names in the deltas of a call are joined like its arguments.",
        edit(
            BlockAssembler,
            "_accumulate_call",
            ("block.name = delta.name or block.name", 'block.name += delta.name or ""'),
        ),
    ),
    Fault(
        "fallback-id-counts",
        "ASM-TOOL-02",
        "A call without an id is named by the number of the block.",
        edit(_OpenBlock, "assemble", ('f"call-{index}"', '"call-0"')),
    ),
    Fault(
        "open-blocks-are-dropped",
        "ASM-OPEN-01",
        "An open block of an unknown type is left out of the message.",
        edit(
            BlockAssembler,
            "_complete_blocks",
            ("raise AssemblyError(f'cannot assemble incomplete block of type \"{type_}\"')", "continue"),
        ),
    ),
    Fault(
        "first-usage-counts",
        "ASM-USAGE-01",
        "Of several usages the first is logged.",
        edit(BlockAssembler, "push", ("self._usage = usage", "self._usage = self._usage or usage")),
    ),
    Fault(
        "first-finish-decides",
        "ASM-FINISH-01",
        "Of several finishes the first decides.",
        edit(BlockAssembler, "push", ("self._finish = finish", "self._finish = self._finish or finish")),
    ),
    Fault(
        "complete-calls-survive-the-ceiling",
        "ASM-MAXTOK-01",
        "Under the ceiling only the calls are dropped that are still open.",
        edit(
            BlockAssembler,
            "message",
            (
                'block.get("type") == "tool-call")',
                'block.get("type") == "tool-call" and isinstance(list(self._blocks.values())[at], _OpenBlock))',
            ),
        ),
    ),
    Fault(
        "only-the-response-is-stored",
        "ASM-REPLAY-01",
        "Of an envelope only the response is stored.",
        edit(
            BlockAssembler,
            "_replay_state",
            ("return envelope\n    response", 'return freeze({"response": envelope["response"]})\n    response'),
        ),
    ),
    Fault(
        "entries-are-counted-after-the-drop",
        "ASM-REPLAY-02",
        "The entries of an envelope are counted against the blocks that are kept.",
        edit(BlockAssembler, "_replay_state", ("len(blocks) != emitted", "len(blocks) not in (emitted, len(kept))")),
    ),
    Fault(
        "entries-are-cut-from-the-front",
        "ASM-REPLAY-03",
        "The first entries of an envelope are kept, whichever blocks were dropped.",
        edit(BlockAssembler, "_replay_state", ("[blocks[at] for at in kept]", "blocks[: len(kept)]")),
    ),
    Fault(
        "blank-blocks-are-kept",
        "ASM-INT-03",
        "An interrupted message keeps texts of blanks.",
        edit(
            BlockAssembler,
            "interrupted_message",
            ("_has_substance(block)", 'block.get("type") in ("text", "reasoning")'),
        ),
    ),
    Fault(
        "blanks-of-the-language",
        "ASM-INT-04",
        "Which characters are blank is asked of the implementation's own language.",
        edit(
            BlockAssembler,
            "interrupted_message",
            ("_has_substance(block)", 'block.get("type") in ("text", "reasoning") and block["text"].strip() != ""'),
        ),
    ),
    Fault(
        "no-header-without-an-adapter",
        "CALL-FALLBACK-01",
        "A request to a route that nobody serves logs no header.",
        edit(
            Requests,
            "attempt",
            ("self._log_header(config, call, prompt)", "call is None or self._log_header(config, call, prompt)"),
        ),
    ),
    Fault(
        "route-is-checked-first",
        "STREAM-WF-02",
        "A route that nobody serves is refused before the listeners run.",
        edit(LlmRuntime, "dispatch", (_DISPATCH, f"self._registry.lookup(request.config.provider)\n    {_DISPATCH}")),
    ),
    Fault(
        "start-failure-is-raised",
        "STREAM-FAIL-01",
        "A failure of the adapter's start reaches the loop as an exception.",
        edit(attempts, "attempt", ("yield _terminal(error, request)", "raise")),
    ),
    Fault(
        "failed-stream-is-closed",
        "STREAM-FAIL-02",
        "A stream that has failed is closed all the same.",
        edit(
            attempts, "attempt", ("stopped_early = False\n            else:", "stopped_early = True\n            else:")
        ),
    ),
    Fault(
        "listener-failures-are-finishes",
        "STREAM-THROW-01",
        "The failure of a listener is delivered as a finish, like one of the adapter.",
        edit(
            LlmRuntime,
            "dispatch",
            (
                _DISPATCH,
                (
                    "from dshcore.llm.attempts import _terminal\n"
                    "    async def wrapped():\n"
                    "        try:\n"
                    f"            async for chunk in {CHAIN}:\n"
                    "                yield chunk\n"
                    "        except Exception as error:\n"
                    "            yield _terminal(error, request)\n"
                    "    return wrapped()"
                ),
            ),
        ),
    ),
)
"""Of streams and what is made of them."""

FAILURE_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "any-status-is-one",
        "LERR-FIELDS-01",
        "An LlmError takes any integer for a status.",
        edit(failures, "_is_status", ("100 <= value <= 599", "100 <= value <= 600")),
    ),
    Fault(
        "any-facts-are-trusted",
        "LERR-NORM-01",
        "The facts that an error carries count also where they do not agree with its code.",
        edit(failures, "_carried_facts", (' or facts.get("code") != getattr(error, "code", None)', "")),
    ),
    Fault(
        "foreign-codes-are-trusted",
        "LERR-NORM-02",
        "The code of an error that is none of the harness's becomes that of the failure.",
        edit(
            failures,
            "normalise",
            ('_code_of(error) if isinstance(error, DshError) else ""', 'getattr(error, "code", "")'),
        ),
    ),
    Fault(
        "failures-are-recorded-unchecked",
        "LERR-TURN-02",
        "A turn ends with whatever facts its failure was delivered with.",
        edit(LlmError, "from_facts", ("error.failure = failure", "error.failure = freeze(facts)")),
    ),
    Fault(
        "members-behind-the-cause",
        "LERR-CHAIN-01",
        "The members of an aggregate are told behind its cause.",
        edit(
            errors,
            "_node",
            ('text = f"{text}: {cause}"', 'text = f"{message}: {cause}{text.removeprefix(message)}"'),
        ),
    ),
    Fault(
        "causes-that-begin-alike-are-left-out",
        "LERR-CHAIN-02",
        "A cause whose chain begins with the message is left out.",
        edit(errors, "_node", ('cause not in ("", message)', "not cause.startswith(message)")),
    ),
    Fault(
        "shared-causes-are-circular",
        "LERR-CHAIN-03",
        "A cause that is met a second time is called circular wherever it stands.",
        edit(errors, "_chain", ("path.pop()", "pass")),
    ),
)
"""Of failures and their texts."""

LLM_STREAM_FAULTS: Final[tuple[Fault, ...]] = (*MESSAGE_FAULTS, *STREAM_FAULTS, *FAILURE_FAULTS)
"""All of this module."""
