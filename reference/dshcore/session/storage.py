"""What a persistence service offers to whoever resumes sessions; the service itself is a part of its own."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from dshcore.cancel_signal import CancelSignal
from dshcore.context import ServiceKey
from dshcore.session.log import Session


@dataclass(frozen=True, slots=True)
class Preparation:
    """A stored session that was handed out, and belongs to nobody else until it is published or released.

    Attributes:
        session: The session, in no store: its whole log, balanced, and one `session/end-seed` behind it.
        release: Gives it back; idempotent, and without effect once the session was published.
    """

    session: Session
    release: Callable[[], object]


class SessionPersistence(Protocol):
    """Stored sessions, as far as resuming needs them."""

    def prepare(self, session_id: str, signal: CancelSignal) -> Awaitable[Preparation]:
        """Load a stored session, and reserve it.

        Args:
            session_id: Its id.
            signal: Aborted when nobody wants it any more. A result that comes all the same is released.

        Returns:
            The stored session, reserved for who asked.

        Raises:
            Exception: It is unknown, live, or cannot be loaded.
        """
        ...

    def list(self, signal: CancelSignal) -> Awaitable[Sequence[Mapping[str, Any]]]:
        """Answer the headers of all stored sessions.

        Args:
            signal: Asks for the listing to stop.
        """
        ...


SESSION_PERSISTENCE: Final = ServiceKey[SessionPersistence]("session-persistence")
"""Where stored sessions are found."""
