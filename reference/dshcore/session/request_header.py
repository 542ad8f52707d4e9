"""Request headers: what a model request was made with, beside its messages. The log holds each change of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from dshcore.json import Json, JsonObject, encode, freeze, same
from dshcore.session.vocabulary import SessionEvent, member

_MARKS: Final = ("reasoningEffort", "maxTokens")
_CONFIG_FIELDS: Final = ("provider", "model", "reasoningEffort", "temperature", "maxTokens", "stop")


def canonical_header(header: Mapping[str, Json]) -> JsonObject:
    """Answer the canonical form of a request header: without empty optional fields and unknown ones.

    Args:
        header: A request header as it was appended.

    Returns:
        `config` as it is, and `adapterDefaults`, `system` and `tools` where they say something.

    Spec:
        HEADER-REQ-01
    """
    kept: dict[str, Json] = {"config": header["config"]}
    if any(_marks(header).values()):
        kept["adapterDefaults"] = header["adapterDefaults"]
    for name in ("system", "tools"):
        if header.get(name):
            kept[name] = header[name]
    return freeze(kept)


def header_equals(left: Mapping[str, Json], right: Mapping[str, Json]) -> bool:
    """Tell whether two canonical request headers say the same.

    Unknown fields of `config` do not count; an absent stop list differs from an empty one, absent tools do not. Tools
    are compared by their text: a model reads the members of a schema in their order.

    Args:
        left: A header.
        right: Another one.

    Spec:
        HEADER-REQ-03, HEADER-REQ-04
    """
    return same(_compared_by_value(left), _compared_by_value(right)) and _same_text(
        left.get("tools") or (), right.get("tools") or ()
    )


def fold_request_header(events: Iterable[SessionEvent], start: JsonObject | None = None) -> JsonObject | None:
    """Answer the request header in force after some events.

    Args:
        events: A log, or the end of one.
        start: The header in force before them.

    Returns:
        The canonical form of the last one logged; nothing of those before it is in it.

    Spec:
        HEADER-REQ-02
    """
    for event in events:
        if event["type"] == "request/header":
            start = canonical_header(event["data"]["header"])
    return start


def _marks(header: Mapping[str, Json]) -> dict[str, Json]:
    return {name: member(header, "adapterDefaults", name) is True for name in _MARKS}


def _compared_by_value(header: Mapping[str, Json]) -> dict[str, Json]:
    config = header["config"]
    assert isinstance(config, Mapping)
    return {
        "config": {name: config[name] for name in _CONFIG_FIELDS if name in config},
        "adapterDefaults": _marks(header),
        "system": header.get("system") or "",
    }


def _same_text(left: Json, right: Json) -> bool:
    assert isinstance(left, Sequence)
    assert isinstance(right, Sequence)
    return left is right or (len(left) == len(right) and encode(left) == encode(right))
