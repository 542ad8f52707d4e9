"""User settings: what others need of a service that keeps them; the service itself is a part of its own."""

from dataclasses import dataclass
from typing import Final, Protocol

from dshcore.context import ServiceKey
from dshcore.events import Emit
from dshcore.json import JsonObject


class Settings(Protocol):
    """Stored settings, by section. They are read at each use, and layered over what is configured.

    Before it stores a section it emits `SETTINGS_PROPOSED`, and what a listener raises refuses the write.
    """

    def read(self, section: str) -> JsonObject | None:
        """Answer what is stored of a section; none where nothing is."""
        ...


@dataclass(frozen=True, slots=True)
class SettingsProposed:
    """A section is about to be stored; a listener that raises refuses it."""

    section: str
    value: JsonObject


SETTINGS_PROPOSED: Final = Emit[SettingsProposed]("settings/proposed", scoped=False)
"""Whoever reads a section checks it here."""

SETTINGS: Final = ServiceKey[Settings]("settings")
"""The settings of an application, where it has any."""
