"""Events of the model seam."""

from collections.abc import AsyncIterator
from typing import Final

from dshcore.events import Emit, Waterfall
from dshcore.json import JsonObject
from dshcore.llm.calls import GenerateOptions

LLM_STREAM: Final = Waterfall[GenerateOptions, AsyncIterator[JsonObject]]("llm/stream", scoped=False)
"""A request is being dispatched. Synchronous: a listener answers a stream, its own or the one of the layers behind it.

Spec:
    STREAM-WF-01, STREAM-WF-02, STREAM-THROW-01
"""

ADAPTERS_UPDATED: Final = Emit[None]("llm/adapters-updated", scoped=False, contained=True)
"""The routes changed; the new state already shows.

Spec:
    ADAPTER-EVENT-01, ADAPTER-EVENT-02
"""
