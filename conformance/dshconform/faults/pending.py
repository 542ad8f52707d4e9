"""Faults of the pending messages that scenarios find; those that the inbox machine finds stand in `inbox`."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore.agent.inbox import Inbox
from dshcore.agent_loop.agent import DrivenAgent

PENDING_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "one-merged-queue",
        "INBOX-LIST-01",
        "Prompts and context wait in one list.",
        edit(
            Inbox,
            "next_turn",
            ('tuple(self._lists["next-turn"])', '(*self._lists["next-turn"], *self._lists["next-step"])'),
        ),
    ),
    Fault(
        "claims-are-not-logged",
        "INBOX-DUR-01",
        "A claim changes the lists without a splice.",
        edit(Inbox, "_take", ("        self._commit(target, ", "        _apply(self._lists[target], ")),
    ),
    Fault(
        "list-before-log",
        "INBOX-DUR-02",
        "The list changes before the splice is logged.",
        edit(
            Inbox,
            "_commit",
            (
                "        event = self._session",
                (
                    "        from dshcore.json import freeze\n"
                    "        _apply(self._lists[target], freeze(data))\n"
                    "        event = self._session"
                ),
            ),
            ('        _apply(self._lists[target], event["data"])\n', ""),
        ),
    ),
    Fault(
        "observers-may-send",
        "INBOX-DUR-04",
        "What an observer sends is queued although its splice is not logged.",
        edit(
            Inbox,
            "_commit",
            (
                "        event = self._session",
                (
                    "        if self._session.publishing:\n"
                    "            from dshcore.json import freeze\n"
                    "            _apply(self._lists[target], freeze(data))\n"
                    '            return freeze(data["inserted"])\n'
                    "        event = self._session"
                ),
            ),
        ),
    ),
    Fault(
        "empty-clear-is-logged",
        "INBOX-NOOP-01",
        "A splice that changes nothing is logged.",
        edit(Inbox, "_splice", ("if count == 0 and not inserted:", "if False:")),
    ),
    Fault(
        "prepend-behind-the-prepended",
        "INBOX-OPS-01",
        "A prepended message goes behind those that were prepended before.",
        edit(
            Inbox, "prepend", ("self._splice(target, 0, 0", "self._splice(target, min(1, len(self._list(target))), 0")
        ),
    ),
    Fault(
        "only-prompts-are-replaced",
        "INBOX-REPL-01",
        "A message that waits for the next step is not found by replace.",
        edit(Inbox, "replace", ("if found is None:", 'if found is None or found[0] == "next-step":')),
    ),
    Fault(
        "replacement-goes-to-the-end",
        "INBOX-REPL-01",
        "A replacement goes to the end of its list.",
        edit(
            Inbox,
            "replace",
            (
                "    self._splice(target, index, 1, (message,))",
                (
                    "    self._splice(target, index, 1, ())\n"
                    "    self._splice(target, len(self._list(target)), 0, (message,))"
                ),
            ),
        ),
    ),
    Fault(
        "replacement-discards-nothing",
        "INBOX-REPL-02",
        "A replacement tells of the new message alone.",
        edit(Inbox, "_splice", ("for message in removed:", "for message in () if inserted else removed:")),
    ),
    Fault(
        "removing-twice-fails",
        "INBOX-REM-01",
        "Removing a message that is not pending raises.",
        edit(Inbox, "remove", ("return False", "raise InboxError(message_id)")),
    ),
    Fault(
        "self-replacement-is-a-duplicate",
        "INBOX-DUP-02",
        "A replacement may not have the id that it replaces.",
        edit(Inbox, "_accept", ("for message in removed}", "for message in ()}")),
    ),
    Fault(
        "equal-ids-in-one-insertion",
        "INBOX-DUP-02",
        "Two equal ids inside one insertion are accepted.",
        edit(Inbox, "_accept", ("message_id in entering or ", "")),
    ),
    Fault(
        "caller-keeps-the-message",
        "INBOX-NOTE-02",
        "The list holds the caller's own object.",
        edit(Inbox, "_commit", ('_apply(self._lists[target], event["data"])', "_apply(self._lists[target], data)")),
    ),
    Fault(
        "claim-of-nothing-is-logged",
        "INBOX-CLAIM-02",
        "A claim logs a splice for an empty list too.",
        edit(Inbox, "_take", ("if taken:", "if True:")),
    ),
    Fault(
        "claimed-and-discarded",
        "INBOX-CLAIM-03",
        "A claimed message is told of as discarded too.",
        edit(
            Inbox,
            "claim",
            (
                "            self._listener.claimed(message, turn)",
                "            self._listener.claimed(message, turn)\n            self._listener.discarded(message)",
            ),
        ),
    ),
    Fault(
        "batch-is-read-after-the-listeners",
        "INBOX-CLAIM-04",
        "What a listener of a claim steers in is taken with the same claim.",
        edit(
            Inbox,
            "claim",
            (
                "            self._listener.claimed(message, turn)\n",
                (
                    "            self._listener.claimed(message, turn)\n"
                    '        while late := self._take("next-step", len(self._lists["next-step"])):\n'
                    "            batch += late\n"
                    "            for message in late:\n"
                    "                self._listener.claimed(message, turn)\n"
                ),
            ),
        ),
    ),
    Fault(
        "batch-is-what-is-pending-later",
        "INBOX-CLAIM-04",
        "What a listener of a claim steers in is entered with the batch, and claimed again.",
        edit(Inbox, "claim", ("    return batch", '    return (*batch, *self._lists["next-step"])')),
    ),
    Fault(
        "every-insertion-wakes",
        "INBOX-WAKE-01",
        "Appending to the inbox of an idle agent starts a turn.",
        edit(
            Inbox,
            "append",
            (
                "    self._splice(target, len(pending), 0, (message,))",
                (
                    "    self._splice(target, len(pending), 0, (message,))\n"
                    "    self._listener.agent._start_driver() if self._listener.agent._activity is None else None"
                ),
            ),
        ),
    ),
    Fault(
        "restored-input-starts-a-turn",
        "INBOX-REPLAY-01",
        "An agent that is created over pending input starts a turn.",
        edit(
            DrivenAgent,
            "go_live",
            (
                "    self._feed(Input.ANNOUNCED)",
                "    self._feed(Input.ANNOUNCED)\n    if self._inbox.has_pending:\n        self._feed(Input.WAKE)",
            ),
        ),
    ),
)
