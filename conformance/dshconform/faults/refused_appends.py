"""Faults of what becomes of an inbox or a turn whose event the log refuses, and of logs that were handed over."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore.agent import inbox
from dshcore.agent.inbox import Inbox
from dshcore.agent_loop.driver import Driver

REFUSED_APPEND_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "refused-splice-stays-in-the-list",
        "INBOX-DUR-03",
        "A list keeps a change that the log has refused.",
        edit(
            Inbox,
            "_commit",
            (
                "    event = self._session.append(SPLICED, data)",
                (
                    "    try:\n"
                    "            event = self._session.append(SPLICED, data)\n"
                    "        except Exception:\n"
                    "            _apply(self._lists[target], data)\n"
                    "            raise"
                ),
            ),
        ),
    ),
    Fault(
        "fork-inherits-what-is-pending",
        "INBOX-REPLAY-02",
        "A fork goes on with the pending messages of its parent.",
        edit(inbox, "fold_inbox", ('session.header.get("seedLength", 0)', "0")),
    ),
    Fault(
        "misfits-are-left-out",
        "INBOX-REPLAY-03",
        "A splice of an old log that does not fit is passed over.",
        edit(inbox, "fold_inbox", ("raise InvalidInboxLog(seq) from error", "continue")),
    ),
    Fault(
        "refused-turn-has-a-number",
        "LOOP-OPEN-03",
        "The failure of a turn that was not opened is told with its number.",
        edit(Driver, "_run_turn", ("turn.number - 1, 0, error", "turn.number, 0, error")),
    ),
    Fault(
        "refused-prompt-is-ignored",
        "LOOP-APP-01",
        "The model is asked although the log has refused its prompt.",
        edit(
            Driver,
            "_run_step",
            (
                '            session.append("user/message", message, surface_op="append")',
                (
                    "            try:\n"
                    '                session.append("user/message", message, surface_op="append")\n'
                    "            except Exception:\n"
                    "                pass"
                ),
            ),
        ),
    ),
    Fault(
        "refused-step-is-closed",
        "LOOP-APP-02",
        "A step that was not opened is closed.",
        edit(
            Driver,
            "_run_step",
            (
                '    session.append("step/start", place)\n',
                (
                    "    try:\n"
                    '        session.append("step/start", place)\n'
                    "    except Exception:\n"
                    '        session.append("step/end", place)\n'
                    "        raise\n"
                ),
            ),
        ),
    ),
    Fault(
        "refused-end-of-a-step-is-ignored",
        "LOOP-APP-03",
        "A turn is completed although the log has refused the end of its step.",
        edit(
            Driver,
            "_run_step",
            (
                '        session.append("step/end", place)',
                (
                    "        try:\n"
                    '            session.append("step/end", place)\n'
                    "        except Exception:\n"
                    "            pass"
                ),
            ),
        ),
    ),
    Fault(
        "refused-end-of-a-turn-is-ignored",
        "LOOP-APP-04",
        "The driver goes on with what is queued although the log has refused the end of its turn.",
        edit(Driver, "_run_turn", ("        may_go_on = False\n        agent", "        agent")),
    ),
    Fault(
        "turn-waits-for-storage",
        "LOOP-FLUSH-01",
        "A turn is over when all of it is stored.",
        edit(
            Driver,
            "_run_turn",
            (
                "    return agent.turn_closed(",
                (
                    "    from dshcore.session import SESSIONS\n"
                    "    await agent.ctx.get(SESSIONS).flush(session)\n"
                    "    return agent.turn_closed("
                ),
            ),
        ),
    ),
)
"""Each is a wrong implementation that the *violation* of its clause describes."""
