"""Faults of a model stream that is cut by a cancel: what is kept of it."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshconform.faults.pieces import CHECK
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.request import Requests
from dshcore.llm import assembler
from dshcore.llm.assembler import BlockAssembler

CANCELLED_STREAM_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "prefix-stays-in-the-chunks",
        "CANCEL-STREAM-01",
        "What a cut stream had delivered is not made a message.",
        edit(Requests, "_log_interrupted", ("if message is not None:", "if False:")),
    ),
    Fault(
        "prefix-cites-nothing",
        "CANCEL-STREAM-01",
        "An interrupted message does not cite the chunks that it was made of.",
        edit(Requests, "_log_interrupted", ("source_event_seqs=seqs", "source_event_seqs=seqs[:1]")),
    ),
    Fault(
        "cut-call-is-kept",
        "CANCEL-STREAM-02",
        "A complete tool call is kept in an interrupted message.",
        edit(
            assembler,
            "_has_substance",
            ('    return block.get("type")', '    return block.get("type") == "tool-call" or block.get("type")'),
        ),
    ),
    Fault(
        "prefix-in-order-of-indices",
        "CANCEL-STREAM-02",
        "The blocks of an interrupted message are ordered by their indices.",
        edit(
            BlockAssembler,
            "interrupted_message",
            ("    content = [", "    self._blocks = dict(sorted(self._blocks.items()))\n    content = ["),
        ),
    ),
    Fault(
        "blank-prefix-is-kept",
        "CANCEL-STREAM-03",
        "A prefix of blanks is made a message.",
        edit(assembler, "_has_substance", ('text.strip(_BLANK) != ""', "True")),
    ),
    Fault(
        "empty-prefix-is-kept",
        "CANCEL-STREAM-03",
        "A message is made where nothing was delivered.",
        edit(BlockAssembler, "interrupted_message", (" if content else None", "")),
    ),
    Fault(
        "late-chunks-are-logged",
        "CANCEL-STREAM-04",
        "Chunks that come after the abort are logged and extend the prefix.",
        edit(Requests, "_receive", (f"            {CHECK}            event", "            event")),
    ),
    Fault(
        "usage-is-dropped",
        "CANCEL-STREAM-05",
        "An interrupted message has no usage.",
        edit(
            Requests,
            "_log_interrupted",
            ("_message_data(attempt, message, chunks)", 'attempt.place, "message": message'),
        ),
    ),
    Fault(
        "abort-on-the-last-chunk-is-missed",
        "CANCEL-STREAM-06",
        "A text that was complete when the abort came is committed as a normal message.",
        edit(Requests, "_receive", (f"        {CHECK}    except", "    except")),
    ),
    Fault(
        "failed-attempt-leaves-a-message",
        "CANCEL-RERR-01",
        "A cancel during recovery makes a message of what the failed attempt had delivered.",
        together(
            edit(
                Requests,
                "_receive",
                ("        policy = ", "        agent.failed_last = self, attempt, chunks, seqs\n        policy = "),
            ),
            edit(
                Driver,
                "_may_retry",
                (
                    f"    turn.{CHECK}",
                    (
                        "    if turn.signal.aborted:\n"
                        "        requests, *parts = agent.failed_last\n"
                        "        requests._log_interrupted(*parts)\n"
                        f"    turn.{CHECK}"
                    ),
                ),
            ),
        ),
    ),
)
