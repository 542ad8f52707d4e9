"""The forms of the model seam in the protocol: what of a prepared call is shown, and how requests are read."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from dshconform.adapters.reference.kinds import frozen
from dshcore.agent import SelectedModel
from dshcore.json import JsonObject
from dshcore.llm import CallConfig, GenerateOptions, PreparedCall


def show(value: object) -> dict[str, object] | None:
    """The members of what has a form of its own; none for everything else.

    Args:
        value: Something of the implementation.
    """
    if not isinstance(value, PreparedCall):
        return None
    shown: dict[str, object] = {
        "config": value.config,
        "adapterDefaults": value.adapter_defaults,
        "retryPolicy": value.retry_policy,
    }
    return shown if value.context is None else {**shown, "context": value.context}


def read_request(raw: Mapping[str, Any]) -> GenerateOptions:
    """A hand-built request, whose configuration stands among its own members.

    Args:
        raw: As the suite wrote it.
    """
    return GenerateOptions(
        CallConfig.read(raw),
        [cast("JsonObject", frozen(message)) for message in raw.get("messages", ())],
        system=raw.get("system"),
        tools=cast("Sequence[JsonObject] | None", frozen(raw.get("tools"))),
        signal=raw.get("signal"),
        session_id=raw.get("sessionId"),
        purpose=raw.get("purpose"),
    )


def read_selection(raw: Mapping[str, Any]) -> SelectedModel:
    """A selected model.

    Args:
        raw: As the suite wrote it.
    """
    effort = {"reasoning_effort": raw["reasoningEffort"]} if "reasoningEffort" in raw else {}
    return SelectedModel(provider=raw["provider"], model=raw["model"], **effort)
