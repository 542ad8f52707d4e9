"""What an adapter says about its models, checked, and what follows for a call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import UNSET

from dshcore.cancel_signal import CancelSignal
from dshcore.ids import ReasoningEffortId
from dshcore.json import MAX_SAFE_INTEGER, Json, JsonObject, freeze, is_array, is_object, is_text
from dshcore.llm.adapters import ListsModels, ResolvesModels, Route
from dshcore.llm.calls import CallConfig
from dshcore.llm.failures import LlmError

_NAMED: Final = ("id", "name", "description")
_LISTED: Final = ("provider", *_NAMED, "inputModalities")
_RESOLVED: Final = (*_LISTED, "context", "defaultMaxTokens", "reasoning")


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """One exact model.

    Attributes:
        info: What its adapter says about it, in the members that the specification knows.
        context: ``{contextWindow}``, if its adapter states one.
        default_max_tokens: The ceiling of a response where a call asks for none.
        efforts: The reasoning efforts that it has.
        default_effort: The effort where a call asks for none.
    """

    info: JsonObject
    context: JsonObject | None
    default_max_tokens: int | None
    efforts: tuple[ReasoningEffortId, ...]
    default_effort: ReasoningEffortId | None


async def resolve_model(route: Route, model: str, signal: CancelSignal | None) -> ResolvedModel:
    """Ask the adapter of a route for one exact model.

    Args:
        signal: Asks for the resolution to stop.
        model: The model's id.
        route: Who serves it.

    Returns:
        What the adapter says about the model.

    Raises:
        LlmError: The answer is not what it may be; the code tells which part.
        Exception: What the adapter raised.

    Cancellation:
        Delivered to the adapter's look-up.

    Spec:
        ADAPTER-RESOLVE-01, CALL-PREP-04
    """
    provider = route.provider
    if not isinstance(route.adapter, ResolvesModels):
        return ResolvedModel(freeze({"provider": provider, "id": model, "name": model}), None, None, (), None)
    answer: object = await route.adapter.resolve(provider, model, signal)
    subject = f'for provider "{provider}" model "{model}"'
    info = _known(answer if is_object(answer) else {}, _RESOLVED)
    if not _is_entry(info, provider) or info["id"] != model:
        raise LlmError(f"adapter returned invalid exact model metadata {subject}", "INVALID_MODEL_INFO")
    context: JsonObject | None = None
    if "context" in info:
        given: Json = info["context"]
        if not is_object(given) or not _is_count(given.get("contextWindow")):
            raise LlmError(f"adapter returned invalid context metadata {subject}", "INVALID_MODEL_CONTEXT")
        context = _known(given, ("contextWindow",))
    default_max_tokens = info.get("defaultMaxTokens")
    if "defaultMaxTokens" in info and not _is_safe_count(default_max_tokens):
        raise LlmError(f"adapter returned invalid default maxTokens {subject}", "INVALID_MODEL_MAX_TOKENS")
    reasoning = _reasoning(info["reasoning"], subject) if "reasoning" in info else None
    parts = {"context": context, "reasoning": reasoning}
    return ResolvedModel(
        freeze({**info, **{name: part for name, part in parts.items() if part is not None}}),
        context,
        default_max_tokens,
        () if reasoning is None else tuple(ReasoningEffortId(effort["id"]) for effort in reasoning["efforts"]),
        None if reasoning is None else reasoning.get("defaultEffort"),
    )


async def list_models(route: Route) -> tuple[JsonObject, ...]:
    """Ask the adapter of a route which models there are. The list is advisory.

    Returns:
        What is on offer.

    Raises:
        LlmError: ``INVALID_CATALOG``.
        Exception: What the adapter raised.

    Cancellation:
        Delivered to the adapter's listing.

    Spec:
        ADAPTER-MODELS-01
    """
    if not isinstance(route.adapter, ListsModels):
        return ()
    answer: object = await route.adapter.models(route.provider)
    listed = answer if is_array(answer) else (None,)  # what is no list is refused like a wrong entry
    entries = tuple(_known(entry if is_object(entry) else {}, _LISTED) for entry in listed)
    right = all(_is_entry(entry, route.provider) for entry in entries)
    if not right or len({entry["id"] for entry in entries}) != len(entries):
        raise LlmError(
            f'adapter returned invalid or duplicate model metadata for provider "{route.provider}"', "INVALID_CATALOG"
        )
    return entries


def complete(config: CallConfig, model: ResolvedModel) -> tuple[CallConfig, JsonObject]:
    """Fill in what a call leaves to its adapter.

    Args:
        config: The call.
        model: Its model.

    Returns:
        The effective configuration, and ``{maxTokens: true, reasoningEffort: true}`` as far as the adapter supplied
        them.

    Raises:
        LlmError: ``UNSUPPORTED_REASONING_EFFORT``.

    Spec:
        ADAPTER-DEFAULT-01, ADAPTER-DEFAULT-02
    """
    effort = config.reasoning_effort
    if effort is not UNSET and effort not in model.efforts:
        raise LlmError(
            f'provider "{config.provider}" model "{config.model}" does not support reasoning effort "{effort}"',
            "UNSUPPORTED_REASONING_EFFORT",
        )
    supplied: dict[str, bool] = {}
    if effort is UNSET and model.default_effort is not None:
        config = msgspec.structs.replace(config, reasoning_effort=model.default_effort)
        supplied["reasoningEffort"] = True
    if config.max_tokens is UNSET and model.default_max_tokens is not None:
        config = msgspec.structs.replace(config, max_tokens=model.default_max_tokens)
        supplied["maxTokens"] = True
    return config, freeze(supplied)


def _reasoning(given: Json, subject: str) -> JsonObject:
    """Return what is known of a model's efforts, in the members that the specification knows."""
    code = "INVALID_MODEL_REASONING"
    listed = given.get("efforts") if is_object(given) else None
    if not is_object(given) or not is_array(listed) or not listed:
        raise LlmError(f"adapter returned invalid reasoning metadata {subject}", code)
    efforts: dict[str, JsonObject] = {}
    for effort in listed:
        if not is_object(effort) or not _is_named(effort) or effort["id"] in efforts:
            raise LlmError(f"adapter returned invalid or duplicate reasoning effort metadata {subject}", code)
        efforts[effort["id"]] = _known(effort, _NAMED)
    default: Json = given.get("defaultEffort")
    if "defaultEffort" in given and (not isinstance(default, str) or default not in efforts):
        raise LlmError(f"adapter returned an unknown default reasoning effort {subject}", code)
    members: dict[str, object] = {**_known(given, ("defaultEffort",)), "efforts": tuple(efforts.values())}
    return freeze(members)


def _known(entry: Mapping[str, object], members: Sequence[str]) -> JsonObject:
    return freeze({name: entry[name] for name in members if name in entry})


def _is_entry(entry: JsonObject, provider: str) -> bool:
    return entry.get("provider") == provider and _is_named(entry)


def _is_named(entry: Mapping[str, object]) -> bool:
    """Whether an entry has an id, a name and no description that is none."""
    return is_text(entry.get("id")) and is_text(entry.get("name")) and isinstance(entry.get("description", ""), str)


def _is_count(value: object) -> bool:
    """Whether a value of frozen JSON is a positive integer, however large: then it may be a float."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0 and value == value // 1


def _is_safe_count(value: object) -> bool:
    return isinstance(value, int) and _is_count(value) and value <= MAX_SAFE_INTEGER
