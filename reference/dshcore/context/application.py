"""What all contexts and fibers of one application share."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from dshcore.context.listeners import Listeners
from dshcore.context.services import Services


@dataclass(frozen=True, eq=False, slots=True)
class Application:
    """The listeners and services of one application.

    Attributes:
        listeners: Who listens to what.
        services: What is provided.
        numbers: Counts what has to be told apart.
    """

    listeners: Listeners[Any] = field(default_factory=Listeners[Any])
    services: Services = field(default_factory=Services)
    numbers: "count[int]" = field(default_factory=lambda: count(1))
