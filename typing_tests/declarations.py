"""Keys that the other snippets use."""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final

from dshcore.context import Context, ServiceKey
from dshcore.events import Emit, Parallel, Serial, Waterfall


@dataclass(frozen=True)
class StatusChanged:
    agent: str
    status: str


@dataclass(frozen=True)
class PreStep:
    step: int


@dataclass(frozen=True)
class Enter:
    messages: tuple[str, ...]


class Registry:
    def lookup(self, name: str) -> int | None:
        return len(name)


REGISTRY: Final = ServiceKey[Registry]("registry")
STATUS: Final = Emit[StatusChanged]("agent/status", contained=True)
NOTHING: Final = Emit[None]("llm/adapters-updated", scoped=False)
STOPPING: Final = Serial[PreStep, None]("agent/turn-stopping", first_value_wins=False)
ASK: Final = Serial[PreStep, str]("ask")
FLUSH: Final = Parallel[str]("session/flush")
PRE_STEP: Final = Waterfall[PreStep, Awaitable[Enter]]("agent/pre-step")
RENDER: Final = Waterfall[str, str]("render")

ctx: Final = Context()
