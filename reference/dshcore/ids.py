"""Branded ids.

Every kind of id is an ordinary string at run time and a type of its own to a type checker, so that a session id
does not pass where a call id belongs. The brand is the factory: ``CallId(text)`` neither checks nor changes the
text, because ids are opaque and compared by equality.

Spec:
    PATTERN-ID-01, PATTERN-ID-02
"""

from typing import NewType
from uuid import uuid4

SessionId = NewType("SessionId", str)
"""Names a session, and the agent that lives on it."""

MessageId = NewType("MessageId", str)
"""Names one message."""

CallId = NewType("CallId", str)
"""Names one tool call; the model chooses it."""

ProviderRequestId = NewType("ProviderRequestId", str)
"""Names a request in the books of its provider."""

ReasoningEffortId = NewType("ReasoningEffortId", str)
"""Names a reasoning effort of a model; its adapter chooses it."""


def mint_message_id() -> MessageId:
    """Return a message id that nothing else has.

    Spec:
        MSG-ID-01
    """
    return MessageId(str(uuid4()))


def mint_session_id() -> SessionId:
    """Return a session id that nothing else has."""
    return SessionId(str(uuid4()))
