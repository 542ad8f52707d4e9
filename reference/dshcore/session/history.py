"""History: the messages that the model sees, projected from the surface of a log.

Appending costs the same however long the log is: the history is a list that only grows, handed out as a `Prefix`. A
replacement has it built anew, in a new list, so that what was handed out before stays as it was.
"""

from dshcore.json import JsonObject
from dshcore.prefix import Growing, Prefix
from dshcore.session.surface import Placement, Surface
from dshcore.session.vocabulary import SessionEvent


def derive_event_message(event: SessionEvent) -> JsonObject | None:
    """Answer the message that one event projects to: as logged, or none.

    Args:
        event: Any logged event; its type alone decides, not its marker.

    Returns:
        The message; none for events that are no messages and for an assistant message without content.

    Spec:
        DERIVE-PROJ-01, DERIVE-PROJ-02, DERIVE-PROJ-03, DERIVE-PROJ-07
    """
    message: JsonObject
    match event["type"]:
        case "user/message":
            message = event["data"]
        case "tool/result":
            message = event["data"]["message"]
        case "assistant/message":
            message = event["data"]["message"]
            if not message["content"]:  # DERIVE-PROJ-03
                return None
        case _:
            return None
    return message


class History:
    """The messages of one surface, in its order.

    Args:
        surface: The surface; whoever changes it tells the history.

    Spec:
        DERIVE-PROJ-01, DERIVE-PROJ-04, DERIVE-PROJ-05, DERIVE-SNAP-01, DERIVE-SNAP-02
    """

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._messages: Growing[JsonObject] = Growing()
        self._stale = False

    def view(self) -> Prefix[JsonObject]:
        """Answer the messages as they are now: a snapshot that costs nothing to take (DERIVE-SNAP-01)."""
        if self._stale:
            self._messages, self._stale = Growing(), False
            for event in self._surface.events:
                self._project(event)
        return Prefix(self._messages)

    def follow(self, event: SessionEvent, place: Placement) -> None:
        """Take note of an event that was placed on the surface.

        A replacement has the next view begin a new list, however many follow before it (DERIVE-PROJ-04).

        Args:
            place: The place in the log.
            event: What was appended.
        """
        if place.replaces:
            self._stale = True
        elif not self._stale:
            self._project(event)

    def _project(self, event: SessionEvent) -> None:
        message = derive_event_message(event)
        if message is not None:
            self._messages.append(message)
