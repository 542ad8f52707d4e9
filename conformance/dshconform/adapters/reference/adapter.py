"""The adapter: one command in, one reply out."""

from typing import Final

from msgspec import UNSET

import dshconform
from dshconform.adapters.reference.commands import Performed, perform
from dshconform.adapters.reference.dispatch import TABLE
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.places import TOP
from dshconform.adapters.reference.scopes import scope_at
from dshconform.adapters.reference.world import MAX_ROWS, Flood, World
from dshconform.protocol.json_value import JsonMap
from dshconform.protocol.messages import PROTOCOL_VERSION, Command, Reply, Row
from dshcore.settling import SettlingLoop, Unsettled

HELLO: Final[JsonMap] = {
    "protocol": PROTOCOL_VERSION,
    "implementation": {"name": "dshcore", "version": dshconform.__version__, "language": "python"},
    "profiles": ["core", "session", "tools", "prompt", "llm", "context", "lifecycle", "reference"],
    "features": [
        *("ticks", "values", "diagnostics", "refusal", "enforcement", "todos", "services", "approval", "settings"),
        *("sync-create", "identities", "stub-store"),
    ],
}
"""What this adapter offers."""


class ReferenceAdapter:
    """Drives the Python reference, in this process. One world is open at a time.

    Args:
        max_turns: Turns of the loop after one command that are still taken for progress.
        max_seconds: Real seconds likewise.
        max_rows: Observations likewise. More of any of them makes the reply a fault, `unsettled`.
    """

    def __init__(self, *, max_turns: int = 200_000, max_seconds: float = 10.0, max_rows: int = MAX_ROWS) -> None:
        self._limits: Final = (max_turns, max_seconds, max_rows)
        self.world: World | None = None
        """The open world."""

    def handle(self, command: Command) -> Reply:
        """Execute one command, let everything run that can, and tell what happened.

        Args:
            command: As the link has read it.

        Returns:
            The reply to it.
        """
        late = self.world.take_rows() if self.world is not None else []
        match command.op:
            case "hello":
                return _reply(command, late, result=HELLO)
            case "world.close":
                self.close()
                return _reply(command, late, result=None)
            case "world.open":
                self.close()
                max_turns, max_seconds, max_rows = self._limits
                loop = SettlingLoop(max_turns=max_turns, max_seconds=max_seconds)
                self.world = World(TABLE, scope_at, loop, max_rows)
        if self.world is None:
            return _reply(command, late, fault=f"{command.op}: no world is open; world.open comes first")
        return self._perform(self.world, command, late)

    def close(self) -> None:
        """End the open world, if there is one."""
        if self.world is not None:
            self.world.close()
            self.world = None

    def _perform(self, world: World, command: Command, late: list[Row]) -> Reply:
        fault: str | None = None
        performed: Performed | None = None
        try:
            performed = world.run(lambda: perform(world, command.op, command.args, TOP))
        except Fault as problem:
            fault = str(problem)
        except Flood:
            pass  # the world has noted it
        except Unsettled as problem:
            fault = f"unsettled: {problem}"
        fault = fault or world.take_fault()
        observed, waiting = world.take_rows(), list(world.gates)
        if command.op == "world.open" and (performed is None or "error" in performed.shown):
            self.close()
        if fault is not None or performed is None:
            return _reply(command, late, observed, waiting, fault=fault)
        return _reply(command, late, observed, waiting, **performed.shown)


def _reply(
    command: Command,
    late: list[Row],
    observed: list[Row] | None = None,
    waiting: list[str] | None = None,
    **outcome: object,
) -> Reply:
    return Reply(
        id=command.id,
        observed=observed or [],
        open=waiting or [],
        late=late or UNSET,
        **outcome,  # type: ignore[arg-type]  # exactly one of result, error and fault
    )
