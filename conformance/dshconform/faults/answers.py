"""Faults of the model's answer: its chunks, its failure, and the message that it becomes."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.request import Requests
from dshcore.llm import attempts

ANSWER_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "deltas-are-coalesced",
        "LOOP-CHUNK-01",
        "The deltas of a text are not logged one by one.",
        edit(
            Requests,
            "_receive",
            (
                "            event = ",
                (
                    '            if chunk["type"] == "text-delta":\n'
                    "                chunks.push(chunk)\n"
                    "                continue\n"
                    "            event = "
                ),
            ),
        ),
    ),
    Fault(
        "empty-answer-is-no-message",
        "LOOP-MSG-01",
        "An answer without content is not logged.",
        edit(
            Driver, "_answer", ("    agent.session.append(", '    attempt.message["content"] and agent.session.append(')
        ),
    ),
    Fault(
        "answer-cites-one-chunk",
        "LOOP-MSG-01",
        "An answer cites not all of its chunks.",
        edit(Driver, "_answer", ("=attempt.chunk_seqs", "=attempt.chunk_seqs[:1]")),
    ),
    Fault(
        "finish-decides-about-tools",
        "LOOP-MSG-02",
        "Tools run only where the finish says so.",
        together(
            edit(
                Requests,
                "_receive",
                (
                    "    message = chunks.message(",
                    '    agent.finish_last = chunks.finish.get("kind")\n    message = chunks.message(',
                ),
            ),
            edit(Driver, "_answer", ("if not calls:", 'if not calls or agent.finish_last != "tool-calls":')),
        ),
    ),
    Fault(
        "failing-start-is-raised",
        "STREAM-FAIL-01",
        "A request that no adapter gets fails its turn, and no chunk tells of it.",
        edit(attempts, "attempt", ("        yield _terminal(error, request)\n        return\n", "        raise\n")),
    ),
    Fault(
        "chunks-wait-for-the-end",
        "STREAM-FAIL-02",
        "The chunks of a stream are held back until it has ended well.",
        edit(
            attempts,
            "attempt",
            ("    stopped_early = True\n", "    stopped_early = True\n    held = []\n"),
            (
                "                stopped_early = False\n                return\n",
                (
                    "                stopped_early = False\n"
                    "                for one in held:\n                    yield one\n"
                    "                return\n"
                ),
            ),
            (
                "            else:\n                yield chunk\n",
                "            else:\n                held.append(chunk)\n",
            ),
        ),
    ),
    Fault(
        "malformed-facts-are-recorded",
        "LERR-TURN-02",
        "A turn's error is what the finish said, unchecked.",
        edit(
            Driver,
            "_answer",
            (
                "raise LlmError.from_facts(attempt.failure)",
                'error = LlmError("m", "c"); error.failure = attempt.failure; raise error',
            ),
        ),
    ),
)
