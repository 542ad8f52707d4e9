"""Faults of how turns are opened, and of how steps are proposed and entered."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshconform.faults.pieces import ASK, REJECTED
from dshcore.agent_loop.driver import Driver

PROPOSAL_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "claim-before-the-turn",
        "LOOP-OPEN-01",
        "The input of a turn is claimed before the turn is opened.",
        together(
            edit(
                Driver,
                "_run_turn",
                (
                    '    try:\n        session.append("turn/start"',
                    (
                        '    agent.claimed_early = agent.inbox.claim("next-turn", turn.number)\n'
                        "    try:\n"
                        '        session.append("turn/start"'
                    ),
                ),
            ),
            edit(
                Driver,
                "_run_steps",
                (
                    "batch = inbox.claim(target, turn.number)",
                    'batch = agent.claimed_early if target == "next-turn" else inbox.claim(target, turn.number)',
                ),
            ),
        ),
    ),
    Fault(
        "numbers-begin-anew",
        "LOOP-OPEN-02",
        "The turns of a resumed agent are numbered from 1.",
        edit(
            Driver,
            "_run_turn",
            (
                "session.last_turn + 1",
                'sum(event["type"] == "turn/start" for event in session.events[session.first_live_seq :]) + 1',
            ),
        ),
    ),
    Fault(
        "blocked-turns-have-no-number",
        "LOOP-OPEN-02",
        "A turn that ended otherwise than completed leaves its number to the next.",
        edit(
            Driver,
            "_run_turn",
            (
                "session.last_turn + 1",
                (
                    'sum(event["type"] == "turn/end" and event["data"]["reason"]["kind"] == "completed" for '
                    "event in session.events) + 1"
                ),
            ),
        ),
    ),
    Fault(
        "steps-count-on",
        "LOOP-STEP-01",
        "The steps of a turn are numbered from where the last turn ended.",
        edit(
            Driver,
            "_run_step",
            ('"step": turn.opened + 1}', '"step": sum(event["type"] == "step/start" for event in session.events) + 1}'),
        ),
    ),
    Fault(
        "one-pre-step-per-turn",
        "LOOP-PRE-01",
        "agent/pre-step is asked for the first step of a turn alone.",
        edit(
            Driver, "_decide", ("    answer = ", "    if turn.opened:\n        return await enter_all()\n    answer = ")
        ),
    ),
    Fault(
        "step-before-its-decision",
        "LOOP-PRE-01",
        "The messages of a step are logged before agent/pre-step was asked.",
        together(
            edit(
                Driver,
                "_decide",
                (
                    "    answer = ",
                    (
                        "    for message in batch:\n"
                        '        agent.session.append("user/message", message, surface_op="append")\n'
                        "    answer = "
                    ),
                ),
            ),
            edit(Driver, "_run_step", ("in entered:", "in ():")),
        ),
    ),
    Fault(
        "history-is-proposed",
        "LOOP-PRE-02",
        "The messages of agent/pre-step hold the history too.",
        edit(
            Driver,
            "_decide",
            ("turn.opened + 1, batch,", "turn.opened + 1, (*agent.session.derive_messages(), *batch),"),
        ),
    ),
    Fault(
        "dropped-messages-return",
        "LOOP-PRE-03",
        "A claimed message that a decision leaves out returns to the inbox.",
        edit(
            Driver,
            "_decide",
            (
                "        case Enter(messages=list() | tuple()):\n",
                (
                    "        case Enter(messages=list() | tuple()):\n"
                    '            ids = {message["id"] for message in decision.messages}\n'
                    "            for message in batch:\n"
                    '                if decision.messages and message["id"] not in ids and "seen" not in vars(agent):\n'
                    "                    agent.seen = True\n"
                    '                    agent.inbox.append("next-turn", message)\n'
                ),
            ),
        ),
    ),
    Fault(
        "rewritten-message-has-a-new-id",
        "LOOP-PRE-03",
        "A message that a decision rewrote is entered under another id.",
        edit(
            Driver,
            "_decide",
            (
                "        case Enter(messages=list() | tuple()):\n            return decision",
                (
                    "        case Enter(messages=list() | tuple()):\n"
                    "            return Enter([message if message in batch else "
                    '{**message, "id": message["id"] + "-2"} for message in decision.messages])'
                ),
            ),
        ),
    ),
    Fault(
        "prompt-enters-before-the-context",
        "LOOP-PRE-04",
        "The default batch has the prompt before the injected context.",
        edit(Driver, "_decide", ("Enter(batch if", "Enter(batch[::-1] if")),
    ),
    Fault(
        "rejected-batch-is-put-back",
        "LOOP-PRE-05",
        "What was claimed for a rejected step returns to the inbox.",
        edit(
            Driver,
            "_run_steps",
            (
                REJECTED,
                f'            for message in batch:\n                inbox.append("next-turn", message)\n{REJECTED}',
            ),
        ),
    ),
    Fault(
        "rejected-batch-is-entered",
        "LOOP-PRE-05",
        "A rejected batch is entered as messages.",
        edit(
            Driver,
            "_run_steps",
            (
                REJECTED,
                (
                    "            for message in batch:\n"
                    '                agent.session.append("user/message", message, surface_op="append")\n'
                    f"{REJECTED}"
                ),
            ),
        ),
    ),
    Fault(
        "empty-step-is-run",
        "LOOP-PRE-08",
        "A first batch that was emptied opens a step all the same.",
        edit(Driver, "_run_steps", ("if turn.opened == 0:", "if False:")),
    ),
    Fault(
        "emptied-turn-goes-on",
        "LOOP-PRE-08",
        "After an emptied first batch the driver goes on with what is pending.",
        edit(Driver, "_run_turn", (" and turn.opened > 0", "")),
    ),
    Fault(
        "step-that-nobody-owes",
        "LOOP-PRE-09",
        "A later batch that was emptied opens a step although nothing is owed.",
        edit(Driver, "_run_steps", ("            if turn.outcome is not None:", "            if False:")),
    ),
    Fault(
        "emptied-step-asks-to-stop",
        "LOOP-PRE-09",
        "An emptied later batch runs the stopping hook again.",
        edit(
            Driver,
            "_run_steps",
            ("            if turn.outcome is not None:\n", f"            if turn.outcome is not None:\n    {ASK}"),
        ),
    ),
    Fault(
        "owed-step-can-be-emptied",
        "LOOP-PRE-10",
        "Emptying its batch ends a turn whose tool results the model has not seen.",
        edit(Driver, "_run_steps", ("if turn.opened == 0:", "if True:")),
    ),
)
