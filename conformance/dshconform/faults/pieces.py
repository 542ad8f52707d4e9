"""Pieces of the driver's text that several faults change."""

from typing import Final

CHECK: Final = "signal.raise_if_aborted()\n"
"""Ends a step whose turn was cancelled in the meantime."""

ASK: Final = "            await agent.ctx.serial(AGENT_TURN_STOPPING, AgentTurnStopping(agent, turn.number, signal))\n"
"""Asks the stopping hook."""
CONTINUES: Final = "        if turn.outcome is None or inbox.has_next_step:\n"
"""Says whether another step follows."""
REJECTED: Final = '            return "blocked"\n'
"""The end of a turn whose step was refused."""

KEEP_BATCH: Final = ("batch = inbox.claim(", "batch = agent.claimed_last = inbox.claim(")
"""With `put_back`: what was claimed last."""


def put_back(when: str) -> tuple[str, str]:
    """A change of `Driver._run_turn`: what a turn that opened no step had claimed last returns to the inbox.

    Args:
        when: The condition, in the turn's own terms.
    """
    ending = "    reason = self._ending_of(agent, turn, failure)\n"
    return (
        ending,
        (
            f"{ending}"
            f"        for message in agent.claimed_last if {when} and not turn.opened else ():\n"
            '            agent.inbox.append("next-turn", message)\n'
        ),
    )
