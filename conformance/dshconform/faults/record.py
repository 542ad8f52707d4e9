"""Faults of what the log says: its numbers and envelopes, the data of its events, the ids of its messages."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault, replaced
from dshcore import ids
from dshcore.agent_loop import request
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.life import Life
from dshcore.agent_loop.request import Requests
from dshcore.agent_loop.scheduling import _Batch as Batch
from dshcore.session import shapes
from dshcore.session.log import Session

RECORD_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "chunks-take-no-number",
        "LOG-ENV-01",
        "Chunks do not count, so that the next event has their number.",
        edit(
            Session,
            "append",
            ('"seq": len(self._events)', '"seq": sum(one["type"] != "assistant/chunk" for one in self._events)'),
        ),
    ),
    Fault(
        "empty-keys-are-written",
        "LOG-ENV-03",
        "An event that enters no surface says so with a key of its own.",
        edit(
            Session,
            "append",
            (
                '    event = freeze({"type": kind',
                '    metadata.setdefault("ignorable", None)\n    event = freeze({"type": kind',
            ),
        ),
    ),
    Fault(
        "turn-carries-its-messages",
        "LOG-EVT-01",
        "The start of a turn holds what is claimed for it.",
        together(
            lambda: replaced(shapes, {"_is_turn_start": lambda _: True}),
            edit(
                Driver,
                "_run_turn",
                (
                    'session.append("turn/start", {"turn": turn.number})',
                    'session.append("turn/start", {"turn": turn.number, "messages": list(agent.inbox.next_turn)})',
                ),
            ),
        ),
    ),
    Fault(
        "ending-counts-its-steps",
        "LOG-EVT-02",
        "The end of a turn says more than how it ended.",
        edit(Driver, "_run_turn", ('"reason": reason}', '"reason": reason, "steps": turn.opened}')),
    ),
    Fault(
        "failure-beside-its-kind",
        "LOG-EVT-04",
        "The message of a failure stands beside the kind of its ending too.",
        edit(
            Driver,
            "_ending_of",
            ('"error": turn_failure(failure)', '"error": turn_failure(failure), "message": str(failure)'),
        ),
    ),
    Fault(
        "message-names-its-step",
        "LOG-EVT-06",
        "An entered message carries the turn and step that it was entered in.",
        edit(Driver, "_run_step", ('"user/message", message,', '"user/message", {**message, **place},')),
    ),
    Fault(
        "steering-has-a-type-of-its-own",
        "LOG-EVT-07",
        "What was steered in is logged as another kind of message.",
        together(
            lambda: replaced(shapes, {"_RETIRED": frozenset()}),
            edit(
                Driver,
                "_run_step",
                (
                    '        session.append("user/message", message, surface_op="append")',
                    (
                        "        if turn.opened > 1:\n"
                        '                session.append("steering/message", message)\n'
                        "            else:\n"
                        '                session.append("user/message", message, surface_op="append")'
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "finish-is-not-logged",
        "LOG-EVT-08",
        "The finish of a stream is taken in without being logged.",
        edit(
            Requests,
            "_receive",
            (
                "            event = ",
                (
                    '            if chunk["type"] == "finish":\n'
                    "                chunks.push(chunk)\n"
                    "                continue\n"
                    "            event = "
                ),
            ),
        ),
    ),
    Fault(
        "usage-where-none-was-reported",
        "LOG-EVT-09",
        "A message has a usage although the stream reported none.",
        edit(
            request,
            "_message_data",
            (
                "    if chunks.usage is not None:\n        data",
                (
                    '    data["usage"] = {"inputTokens": 0, "outputTokens": 0}\n'
                    "    if chunks.usage is not None:\n        data"
                ),
            ),
        ),
    ),
    Fault(
        "no-chunks-no-citation",
        "LOG-EVT-10",
        "The message of a stream without chunks cites nothing, not even an empty list.",
        edit(
            Driver,
            "_answer",
            (
                "source_event_seqs=attempt.chunk_seqs",
                '**({"source_event_seqs": attempt.chunk_seqs} if attempt.chunk_seqs else {})',
            ),
        ),
    ),
    Fault(
        "interrupted-says-why",
        "LOG-EVT-11",
        "An interrupted message says by what it was interrupted.",
        edit(Requests, "_log_interrupted", ('"interrupted": True', '"interrupted": attempt.signal.reason')),
    ),
    Fault(
        "arguments-are-logged-parsed",
        "LOG-EVT-12",
        "A call is logged with its arguments parsed.",
        edit(Batch, "_log_call", ("block.arguments}", "parse_arguments(block.arguments)}")),
    ),
    Fault(
        "error-tells-its-text",
        "LOG-EVT-13",
        "The error of a result holds the text for people too.",
        edit(
            Batch, "_log_result", ('"code": result.error.info.code}', '"code": result.error.info.code, "message": ""}')
        ),
    ),
    Fault(
        "minted-ids-repeat",
        "MSG-ID-01",
        "Two messages that are made separately have one id.",
        edit(ids, "mint_message_id", ("str(uuid4())", '"message"')),
    ),
    Fault(
        "turns-skip-a-number",
        "INV-TURN-01",
        "Every second number is that of no turn.",
        edit(Driver, "_run_turn", ("session.last_turn + 1", "session.last_turn + 2")),
    ),
    Fault(
        "turn-is-closed-twice",
        "INV-TURN-02",
        "The end of a turn is logged when the turn is closed already.",
        edit(
            Driver,
            "_run_turn",
            (
                '        session.append("turn/end",',
                '        for _ in (1, 2): session.append("turn/end",',
            ),
        ),
    ),
    Fault(
        "step-of-the-first-turn",
        "INV-STEP-01",
        "Steps name the first turn, whichever is open.",
        edit(Driver, "_run_step", ('place = {"turn": turn.number,', 'place = {"turn": 1,')),
    ),
    Fault(
        "failing-step-stays-open",
        "INV-STEP-02",
        "A step that fails is not closed.",
        edit(
            Driver,
            "_run_step",
            ("    finally:\n", "    except Exception:\n        raise\n    else:\n"),
        ),
    ),
    Fault(
        "chunks-name-the-next-step",
        "INV-STEP-03",
        "What belongs to an answer names the step behind it.",
        edit(Requests, "attempt", ("_Attempt(turn, step,", "_Attempt(turn, step + 1,")),
    ),
    Fault(
        "header-before-any-turn",
        "INV-ENC-01",
        "The first request header is logged when the agent is created.",
        edit(
            Life,
            "publish",
            (
                "    agent.go_live()",
                (
                    '    header = {"config": {"provider": "mock", "model": "m1"}}\n'
                    '    agent.session.append("request/header", {"header": header, "reason": "initial"})\n'
                    "    agent.go_live()"
                ),
            ),
        ),
    ),
    Fault(
        "result-is-logged-twice",
        "INV-CALL-01",
        "A call has two results.",
        edit(
            Batch,
            "commit_settled",
            ("        self._log_result(", "        for _ in (1, 2): self._log_result("),
        ),
    ),
)
