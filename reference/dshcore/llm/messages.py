"""Making messages. A message is frozen JSON of four members: ``id``, ``role``, ``content``, ``source``.

Spec:
    MSG-SHAPE-01, MSG-FREEZE-01, MSG-FREEZE-02
"""

from collections.abc import Mapping, Sequence

from msgspec import UNSET, UnsetType

from dshcore.errors import DshError
from dshcore.ids import CallId, mint_message_id
from dshcore.json import Json, JsonObject, abridged, freeze, is_object

_ROLES = ("system", "user", "assistant")


class MalformedMessage(DshError):
    """A value that was to be imported as a message and is none."""

    default_code = "MALFORMED_MESSAGE"


def user_message(
    content: str | Sequence[Mapping[str, object]], source: Mapping[str, object] | None = None
) -> JsonObject:
    """Make a message of the user's role.

    Args:
        content: Its blocks; a text stands for one text block.
        source: Who produced it; by default the user.

    Raises:
        NotJson: Something in it is not lossless JSON.

    Spec:
        MSG-ID-01, MSG-ID-03
    """
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return _message("user", blocks, {"kind": "user"} if source is None else source)


def assistant_message(
    content: Sequence[Mapping[str, object]], *, provider: str, model: str, replay_state: Json | UnsetType = UNSET
) -> JsonObject:
    """Make the message that records a response.

    Args:
        content: Its blocks.
        provider: The route of the request that it answers.
        model: The model of that request.
        replay_state: What the adapter wants back with it, if anything.

    Spec:
        MSG-ID-01, MSG-SRC-02
    """
    source: dict[str, object] = {"kind": "model", "provider": provider, "model": model}
    if replay_state is not UNSET:
        source["replayState"] = replay_state
    return _message("assistant", content, source)


def tool_result_message(call_id: CallId, content: Sequence[Mapping[str, object]], *, is_error: bool) -> JsonObject:
    """Make the message that records what a tool call came to.

    Args:
        call_id: The id of the call.
        content: What the model is told.
        is_error: Whether the call failed.

    Spec:
        MSG-SRC-03, MSG-BLOCK-03
    """
    block = {"type": "tool-result", "toolCallId": call_id, "content": content, "isError": is_error}
    return _message("user", [block], {"kind": "tool", "callId": call_id})


def import_message(value: Mapping[str, object]) -> JsonObject:
    """Take over a message that exists, under the id that it has.

    Args:
        value: The message. Members beyond the four are carried along.

    Returns:
        The message with an id of its own.

    Raises:
        MalformedMessage: One of the four members is missing or of another kind; the message names it.
        NotJson: Something in it is not lossless JSON.

    Spec:
        MSG-ID-03
    """
    message = freeze(value)
    id_ = message.get("id")
    if not isinstance(id_, str) or not id_:
        raise MalformedMessage(
            f"a message needs a non-empty text as id, not {abridged(id_)}: make new ones with user_message"
        )
    if message.get("role") not in _ROLES:
        raise MalformedMessage(
            f'message "{id_}" needs one of the roles {", ".join(_ROLES)}, not {abridged(message.get("role"))}'
        )
    if not isinstance(message.get("content"), tuple):
        raise MalformedMessage(
            f'message "{id_}" needs an array of blocks as content, not {abridged(message.get("content"))}'
        )
    source = message.get("source")
    if not is_object(source) or not isinstance(source.get("kind"), str):
        raise MalformedMessage(f'message "{id_}" needs an object with a kind as source, not {abridged(source)}')
    return message


def _message(role: str, content: Sequence[Mapping[str, object]], source: Mapping[str, object]) -> JsonObject:
    return freeze({"id": mint_message_id(), "role": role, "content": tuple(content), "source": source})
