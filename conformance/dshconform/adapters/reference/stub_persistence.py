"""A persistence that stores nothing: it asks the suite for each session."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from dshconform.adapters.reference.endings import Kind
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.functions import SuiteFunction
from dshconform.adapters.reference.places import TOP
from dshconform.adapters.reference.values import decode
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import JsonMap
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.errors import DshError
from dshcore.session import SESSIONS, Preparation

_LOAD: Final = Kind("store/load", awaited=True)
_LIST: Final = Kind("store/list", awaited=True, passing=lambda _: [])
_RELEASE: Final = Kind("store/release", waits=False)


class StubPersistence:
    """Asks functions of the suite for what is stored.

    Args:
        world: Where they are called.
        root: The composition, whose store of sessions makes the sessions.
        config: The functions `load`, `list` and `release`; one that is left out passes.

    Raises:
        Fault: One is something else.
    """

    def __init__(self, world: World, root: Context, config: JsonMap) -> None:
        self._root: Final = root
        self._load, self._list, self._release = (_function(world, config, name) for name in ("load", "list", "release"))

    async def prepare(self, session_id: str, signal: CancelSignal) -> Preparation:
        """Ask for a session, and make it.

        Args:
            session_id: The one that is stored; it must not be live.
            signal: Handed on to the suite.

        Returns:
            The session, with what lets go of it.

        Raises:
            DshError: It is live, or nothing is stored under the id.

        Cancellation:
            The suite's function goes on; nothing is made.
        """
        sessions = self._root[SESSIONS]
        if sessions.get(session_id) is not None:
            raise DshError(f'cannot prepare session "{session_id}" while it is live')
        stored: Any = None
        if self._load is not None:
            stored = await cast("Any", self._load.call(_LOAD, {"session": session_id, "signal": signal}))
        if stored is None:
            raise DshError(f'session "{session_id}" not found')
        session = sessions.restore(session_id, stored["header"], stored["events"])
        return Preparation(session, lambda: self._released(session_id))

    def _released(self, session_id: str) -> None:
        if self._release is not None:
            self._release.call(_RELEASE, {"session": session_id})

    async def list(self, signal: CancelSignal) -> Sequence[Mapping[str, Any]]:  # noqa: ARG002 - the suite is not told
        """Ask which sessions are stored.

        Args:
            signal: Of no use: the suite is not told.

        Returns:
            For each stored session an object with its id.

        Cancellation:
            The suite's function goes on.
        """
        stored: Any = () if self._list is None else await cast("Any", self._list.call(_LIST, {}))
        return [{"id": session_id} for session_id in stored]


def _function(world: World, config: JsonMap, name: str) -> SuiteFunction | None:
    if name not in config:
        return None
    function = decode(config[name], world.scope(TOP))
    if not isinstance(function, SuiteFunction):
        raise Fault(f"persistence: {name!r} must be a function, {{'$fn': name, …}}, not {config[name]!r}")
    return function
