"""What is observed without being asked: the log, notifications, warnings, and failures that nobody handled.

The listeners are registered on the root before any of the suite's, so that their rows stand first. Only notifications
are listened to: a listener of an awaited hook would change what it observes.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from dshconform.adapters.reference.kinds import NOTIFICATIONS, Event
from dshconform.adapters.reference.world import CURRENT, World
from dshconform.protocol.json_value import Json
from dshcore.agent import AgentCreated
from dshcore.events import Emit
from dshcore.llm import ADAPTERS_UPDATED
from dshcore.session import SESSION_EVENT, SessionCreated, SessionPublished
from dshcore.system_prompt import SYSTEM_PROMPT_CHANGE
from dshcore.tools import TOOLS_CHANGE

if TYPE_CHECKING:
    from dshconform.adapters.reference.composition import Composition


def observe(world: World, composition: "Composition") -> None:
    """Record everything that is told in a world, from now on, also when the root has been disposed of.

    Args:
        world: Records the rows.
        composition: Its root is what is listened to.
    """
    observer = composition.root.open(name="observer", owned=False)
    for event in NOTIFICATIONS:
        if event.key is not SESSION_EVENT:
            observer.on(cast("Emit[object]", event.key), _recorder(world, composition, event))

    def logged(published: SessionPublished) -> None:
        session = composition.name(published.session)
        world.record({"on": "log", "session": session, "event": world.show(published.event)})

    observer.on(SESSION_EVENT, logged)
    composition.owners.observe(observer)
    if _REPORTS not in _LOG.handlers:
        _LOG.addHandler(_REPORTS)


def _recorder(world: World, composition: "Composition", event: Event) -> Callable[[object], None]:
    name = event.key.name

    def heard(payload: object) -> None:
        if event.key in _CONTRIBUTED and not composition.opened:
            return
        row: dict[str, Json] = {"on": "live", "name": name}
        if isinstance(payload, AgentCreated):
            composition.bind_expected(payload.agent)
        elif isinstance(payload, SessionCreated):
            composition.bind_made(payload.session)
        agent = getattr(payload, "agent", None)
        if agent is not None:
            row["agent"] = composition.name(agent)
        session = getattr(payload, "session", None)
        if session is not None:
            row["session"] = composition.name(session)
        row["payload"] = {field: world.show(value) for field, value in event.read(payload).items()}
        world.record(row)

    return heard


_CONTRIBUTED: Final = frozenset({TOOLS_CHANGE, SYSTEM_PROMPT_CHANGE, ADAPTERS_UPDATED})
"""What the parts of a composition lead to while they are mounted: no observation before the world is open."""


class _Reports(logging.Handler):
    """Makes rows of the warnings and errors that the implementation logs."""

    def emit(self, record: logging.LogRecord) -> None:
        world = CURRENT.get()
        if world is not None:
            level = "error" if record.levelno >= logging.ERROR else "warning"
            world.record({"on": "report", "level": level, "text": record.getMessage()})


_LOG: Final = logging.getLogger("dshcore")
_REPORTS: Final = _Reports(logging.WARNING)
