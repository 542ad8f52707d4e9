"""User settings: what others need of a service that keeps them, and one that keeps them in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from dshcore.context import Context, ServiceKey
from dshcore.events import Emit
from dshcore.json import JsonObject, freeze


class Settings(Protocol):
    """Stored settings, by section. They are read at each use, and layered over what is configured.

    Before it stores a section it emits `SETTINGS_PROPOSED`, and what a listener raises refuses the write.
    """

    def read(self, section: str) -> JsonObject | None:
        """Answer what is stored of a section; none where nothing is."""
        ...


@dataclass(frozen=True, slots=True)
class SettingsProposed:
    """A section is about to be stored; a listener that raises refuses it.

    Attributes:
        value: Its members.
    """

    section: str
    value: JsonObject


SETTINGS_PROPOSED: Final = Emit[SettingsProposed]("settings/proposed", scoped=False)
"""Whoever reads a section checks it here."""

SETTINGS: Final = ServiceKey[Settings]("settings")
"""The settings of an application, where it has any."""


class MemorySettings:
    """Settings that last as long as the application.

    Args:
        ctx: Where proposals are dispatched.

    Spec:
        CONF-PAR-02
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._stored: dict[str, JsonObject] = {}

    def read(self, section: str) -> JsonObject | None:
        """Answer what is stored of a section; none where nothing is."""
        return self._stored.get(section)

    def write(self, section: str, value: Mapping[str, object] | None) -> None:
        """Store a section in place of what is stored of it, or clear it.

        Args:
            section: Its name.
            value: Its members; none clears it.

        Raises:
            NotJson: Something in the value is not lossless JSON.
            Exception: What a reader of the section raised, to whom the value says nothing. What is stored stays.
        """
        if value is None:
            self._stored.pop(section, None)
            return
        proposed = freeze(value)
        self._ctx.emit(SETTINGS_PROPOSED, SettingsProposed(section, proposed))
        self._stored[section] = proposed
