"""A model adapter whose every operation is a function of the suite."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from dshconform.adapters.reference.calls import Call
from dshconform.adapters.reference.endings import Answer, Settled
from dshconform.adapters.reference.functions import SuiteFunction
from dshconform.adapters.reference.kinds import (
    MODEL_CLOSE,
    MODEL_MODELS,
    MODEL_RESOLVE,
    MODEL_START,
    MODEL_STREAM,
    request_fields,
)
from dshconform.adapters.reference.streams import SuiteStream
from dshcore.cancel_signal import CancelSignal
from dshcore.llm import GenerateOptions


@dataclass(frozen=True, slots=True)
class ModelFunctions:
    """What a `model.register` gives.

    Attributes:
        stream: Answers the chunks.
        start: Called before it, and may fail the start.
        resolve: Answers the metadata of a model, or the metadata by model.
        models: Answers the list of models.
        close: Told when the consumer closes a stream.
    """

    stream: SuiteFunction
    start: SuiteFunction | None = None
    resolve: SuiteFunction | Mapping[str, object] | None = None
    models: SuiteFunction | None = None
    close: SuiteFunction | None = None


class SuiteModel:
    """The adapter. It has the optional operations only where a function was given for them.

    Args:
        functions: What its operations call.
    """

    def __init__(self, functions: ModelFunctions) -> None:
        self._functions: Final = functions
        if functions.resolve is not None:
            self.resolve = self._resolve
            """What it knows of one model; only where a function was given for it."""
        if functions.models is not None:
            self.models = self._models
            """Its models; only where a function was given for them."""

    def stream(self, request: GenerateOptions) -> SuiteStream:
        """Start one attempt.

        Args:
            request: What the model is asked.

        Returns:
            The stream; its script runs as it is pulled.
        """
        functions = self._functions
        world = functions.stream.world
        agent = world.composition.agent_of(request)
        fields: dict[str, object] = {
            "provider": request.config.provider,
            "model": request.config.model,
            **request_fields(request),
        }
        if functions.start is not None:
            functions.start.call(MODEL_START, fields, agent=agent)
        call = Call(functions.stream, MODEL_STREAM, fields, agent=agent)
        if functions.stream.count(call):
            call.announce()
        return SuiteStream(call, call.script, call.place, self._left(request.config.provider))

    def _resolve(self, provider: str, model: str, signal: CancelSignal | None) -> object:
        """Answer what is known of a model."""
        resolve = self._functions.resolve
        if not isinstance(resolve, SuiteFunction):
            assert resolve is not None
            unknown = {"provider": provider, "id": model, "name": model}
            return Settled(Answer(resolve.get(model, unknown)))
        fields: dict[str, object] = {"provider": provider, "model": model}
        return resolve.call(MODEL_RESOLVE, fields if signal is None else {**fields, "signal": signal})

    def _models(self, provider: str) -> object:
        """Answer which models there are."""
        assert self._functions.models is not None
        return self._functions.models.call(MODEL_MODELS, {"provider": provider})

    def _left(self, provider: str) -> Callable[[], object] | None:
        close = self._functions.close
        return None if close is None else lambda: close.call(MODEL_CLOSE, {"provider": provider})
