"""An id of one kind is no id of another, and a plain text is none."""

from dshcore.ids import (
    CallId,
    MessageId,
    ProviderRequestId,
    ReasoningEffortId,
    SessionId,
    mint_message_id,
    mint_session_id,
)


def open_session(id_: SessionId) -> None: ...


def answer_call(id_: CallId) -> None: ...


def find_message(id_: MessageId) -> None: ...


session, call, message = SessionId("s"), CallId("c"), MessageId("m")
open_session(session)
open_session(mint_session_id())
answer_call(call)
find_message(message)
find_message(mint_message_id())
text: str = session  # an id is a text
same: bool = session == "s"

answer_call(session)  # error: arg-type
open_session(call)  # error: arg-type
find_message(call)  # error: arg-type
open_session("s")  # error: arg-type
open_session(mint_message_id())  # error: arg-type
find_message(ProviderRequestId("r"))  # error: arg-type
answer_call(ReasoningEffortId("high"))  # error: arg-type
CallId(1)  # error: arg-type
