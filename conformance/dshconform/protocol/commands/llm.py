"""The commands of the model seam: adapters and their models, prepared calls, streams outside of any agent."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from dshconform.protocol.commands.arguments import Arguments, OfAgent, Placed
from dshconform.protocol.commands.operation import Operation
from dshconform.protocol.json_value import Json
from dshconform.protocol.names import Name


class ModelReplace(Arguments, frozen=True, kw_only=True):
    """A registration made by `model.register`, and the routes that it shall hold."""

    of: Name
    """The name of the registration."""
    routes: Json


class ModelModels(Placed, frozen=True, kw_only=True):
    """Whose models."""

    task: Name | UnsetType = UNSET
    """The name of the operation, in the row that says what it answered."""
    provider: Json
    """The route whose adapter is asked, raw."""


class ModelInfo(ModelModels, frozen=True, kw_only=True):
    """The exact model."""

    model: Json


class LlmPrepare(Placed, frozen=True, kw_only=True):
    """A call configuration; `call` names the prepared call."""

    task: Name | UnsetType = UNSET
    """The name of the operation, in the row that says what it answered."""
    call: Name
    config: Json
    """The call configuration, raw."""
    signal: Json | UnsetType = UNSET
    """Ends the preparing when it fires, raw."""


class LlmStream(Placed, frozen=True, kw_only=True):
    """A hand-built request, its signal included, for a prepared `call` or none; `stream` names what comes back."""

    stream: Name
    call: Name | UnsetType = UNSET
    request: Json


class OfStream(Arguments, frozen=True, kw_only=True):
    """A stream made by `llm.stream`."""

    task: Name | UnsetType = UNSET
    """The name of the operation, in the row that says what it answered."""
    stream: Name


class LlmErrorFields(Arguments, frozen=True, kw_only=True):
    """What an LlmError is made with."""

    message: Json
    """The text of the error."""
    code: Json
    """One of the codes of the specification, or what has to be refused."""
    status: Json | UnsetType = UNSET
    """The HTTP status."""
    provider_retry_after_ms: Json | UnsetType = msgspec.field(default=UNSET, name="providerRetryAfterMs")
    """How long the provider asks to wait, in milliseconds."""
    request_id: Json | UnsetType = msgspec.field(default=UNSET, name="requestId")
    """The provider's id of the request."""


class ModelSelect(OfAgent, frozen=True, kw_only=True):
    """What the agent shall use, null for nothing; `as` installs a selection, the first time, and names its disposer."""

    selection: Json
    as_: Name | UnsetType = msgspec.field(default=UNSET, name="as")


LLM: Final[Mapping[str, Operation]] = {
    "model.replace": Operation(ModelReplace, "nothing"),
    "model.providers": Operation(Placed, "a list of `{id, name}`"),
    "model.models": Operation(ModelModels, "the list of models", asynchronous=True),
    "model.info": Operation(ModelInfo, "the metadata of the exact model", asynchronous=True),
    "llm.prepare": Operation(
        LlmPrepare, "the prepared call: `{config, adapterDefaults, retryPolicy, context?}`", asynchronous=True
    ),
    "llm.stream": Operation(LlmStream, "nothing; it raises as the call does"),
    "llm.pull": Operation(OfStream, "`{chunk}` or `{end: true}`", asynchronous=True),
    "llm.close": Operation(OfStream, "nothing", asynchronous=True),
    "llm.error": Operation(LlmErrorFields, "`{code, failure}`"),
    "model.select": Operation(ModelSelect, "nothing"),
}
"""Every operation of the profile `llm`, in the order of the protocol page."""
