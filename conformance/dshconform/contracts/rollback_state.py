"""The abstract state of the rollback contract: lives of agents, what owns them, and who waits for their ends."""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from dshconform.contracts.inbox_calls import IDLE_CANCEL_KEEPS_INPUT
from dshconform.contracts.inbox_calls import VARIANTS as INBOX_VARIANTS
from dshconform.contracts.inbox_rows import Clauses
from dshconform.contracts.rollback_commands import id_of
from dshconform.protocol.json_value import Json, JsonMap

OUTLIVES_ITS_OWNER: Final = "creation-outlives-its-owner"
"""A variant: an agent whose owner closes while it is announced is handed out first."""
DRIVES_WHILE_ANNOUNCED: Final = "driver-starts-while-announcing"
"""A variant: a driver starts while its agent is being announced."""
UNWINDS_FIRST: Final = "loop-unwinds-scopes-first"
"""A variant: the loop unwinds the scopes of its agents before their activities have ended."""
WAKES_WHILE_LEAVING: Final = "leaving-agents-wake"
"""A variant: an agent that is being torn down can be woken."""
REPLAYS_WHILE_LEAVING: Final = "leaving-agents-replay"
"""A variant: an agent that is being torn down starts the wake that it remembers."""
TAKES_INPUT_WHEN_GONE: Final = "gone-agents-take-input"
"""A variant: an agent that is gone takes messages."""
OUTLIVES_ITS_COMMIT: Final = "commit-outlives-its-owner"
"""A variant: the same where the owner began to close in the commit."""
VARIANTS: Final[Mapping[str, str]] = {
    IDLE_CANCEL_KEEPS_INPUT: INBOX_VARIANTS[IDLE_CANCEL_KEEPS_INPUT],
    OUTLIVES_ITS_OWNER: "LIFE-OWN-03",  # an agent whose owner closed while it was announced is handed out first
    OUTLIVES_ITS_COMMIT: "LIFE-OWN-11",  # or in the commit before that
    DRIVES_WHILE_ANNOUNCED: "LIFE-PUB-08",  # a wake in an announcement starts the driver inside the delivery
    UNWINDS_FIRST: "LIFE-DISP-01",  # the closing of the loop unwinds the scopes of agents that are at work
    WAKES_WHILE_LEAVING: "LIFE-DISP-12",  # an idle agent that is to go runs a turn for what arrives
    REPLAYS_WHILE_LEAVING: "WAKE-DISP-02",  # one that somebody else had cancelled before runs one behind that
    TAKES_INPUT_WHEN_GONE: "LIFE-DISP-21",  # the inbox of an agent that is gone takes messages
}
"""Where the model can follow an implementation rather than the clause."""

Phase: TypeAlias = Literal["loading", "composing", "announcing", "live", "quiescing", "unwinding", "gone"]
"""`quiescing`: the teardown waits for driver or maintenance; `unwinding`: it waits for the scope."""


class Undecided(Exception):
    """The clauses do not say what happens: the command is not made."""


@dataclass(slots=True)
class Cause:
    """What ends a transaction.

    Args:
        name: As cells have it.
        error: A pattern for what the caller gets.
        clauses: Answer for its ending the transaction.
        starter: Who begins the teardown thereby.
    """

    name: str
    error: JsonMap
    clauses: Clauses
    starter: str = "rollback"

    @property
    def closes(self) -> bool:
        """Whether it is the closing of an owner, or of the loop."""
        return self.starter != "rollback"


@dataclass(slots=True)
class Life:
    """One transaction, and the agent that comes of it.

    Args:
        handle: Its name, which begins with its id.
        form: `create` or `resume`.
        owner: Through which context: `root`, the plugin, or the handle of an agent.
        signal: The signal that aborts it, if any.
        setup: The function that composes it.
        phase: How far it has come.
        step: What its transaction is at, as cells have it.
        waits: Whether its setup is waited for.
        causes: What ends its transaction, in the order of happening.
        lineage: Whether its header names a parent.
        entered: Whether its session is in the store.
        registered: Whether it is in the registry.
        told: The announcements that began, each with the number of the first list of rows that has it.
        handed: Whether its handle is out.
        failure: What its transaction ended with.
        ended_by: Who began its teardown: `handle`, `rollback`, or the owner that closed.
        cleanup: What is left in its scope.
        open: The functions of it that wait, by the last part of their names; `model` for the model, `driver` for a
            driver that has not asked it yet.
        cancelled: Whether its activity is aborted, and by whom.
        lists: The ids of its pending messages.
        latched: Whether a wake is remembered.
        committed: Whether its setup has answered a commit.
        sent: Whether a message was sent to it while it was announced.
        turn: The number of its last turn.
        driven: Whether it has had a turn.
        seq: How many events its log had when it was composed.
        disposals: The tasks that wait for its end.
        job: The task of its maintenance.
        why: Who answers for the state that it is in.
        hears: Whether its scope listens to its own disposals.
    """

    handle: str
    form: str
    owner: str
    signal: str | None
    setup: JsonMap
    phase: Phase = "composing"
    step: str = "setup"
    waits: bool = False
    causes: list[Cause] = field(default_factory=list)
    lineage: bool = False
    entered: bool = False
    registered: bool = False
    told: dict[str, int] = field(default_factory=dict)
    handed: bool = False
    failure: Cause | None = None
    ended_by: str | None = None
    cleanup: JsonMap | None = None
    open: set[str] = field(default_factory=set)
    cancelled: str | None = None
    lists: dict[str, list[str]] = field(default_factory=lambda: {"next-step": [], "next-turn": []})
    latched: bool = False
    committed: bool = False
    sent: bool = False
    turn: int = 0
    driven: bool = False
    seq: int = 0
    disposals: list[str] = field(default_factory=list)
    job: str = ""
    why: Clauses = ()
    hears: bool = False

    @property
    def identity(self) -> str:
        """The id of agent and session."""
        return id_of(self.handle)

    @property
    def active(self) -> bool:
        """Whether a driver or a maintenance task is at work."""
        return bool(self.open & {"driver", "model", "job"})

    @property
    def pending(self) -> bool:
        """Whether anything is in its inbox."""
        return any(self.lists.values())

    @property
    def ending(self) -> bool:
        """Whether its teardown has begun, and is not over."""
        return self.phase in {"quiescing", "unwinding"}

    def copy(self) -> "Life":
        """A life to try things on."""
        other = copy.copy(self)
        other.causes, other.told, other.open = list(self.causes), dict(self.told), set(self.open)
        other.disposals = list(self.disposals)
        other.lists = {target: list(held) for target, held in self.lists.items()}
        return other


@dataclass(slots=True)
class Listener:
    """A function that listens.

    Args:
        event: To what.
        about: The life of which it hears.
        fn: What it does.
        scoped: Whether it is in the scope of that life.
        when: What else its calls must have, if anything.
    """

    event: str
    about: str
    fn: JsonMap
    scoped: bool
    when: JsonMap


@dataclass(slots=True)
class Closing:
    """Somebody waits for the end of lives: who closes the plugin or the loop.

    Args:
        owner: What closes.
        task: The name of the task.
        lives: Those that are not gone.
        all: Those that it began with.
    """

    owner: str
    task: str
    lives: set[str]
    all: frozenset[str]

    @property
    def clauses(self) -> Clauses:
        """Who says when it is over."""
        return ("LIFE-OWN-06",) if self.owner == "loop" else ("LIFE-OWN-01",)


@dataclass(slots=True)
class State:
    """The whole state.

    Args:
        lives: By handle, in order of beginning.
        store: Whose session is live, by id.
        registry: Who is registered, by id, in order of registration.
        owners: The state of what owns lives; the plugin has none before it was opened.
        signals: The reason of each signal that is aborted; nothing while it is not.
        listeners: In order of registration.
        closings: What closes, and is not closed.
        loads: The lives whose load is open, in order of opening.
        failed: The ids of which a resume failed behind its load.
        haunted: The ids with which an agent may run that is gone, where an implementation is followed.
        used: Every name that was used.
    """

    lives: dict[str, Life] = field(default_factory=dict)
    store: dict[str, str] = field(default_factory=dict)
    registry: dict[str, str] = field(default_factory=dict)
    owners: dict[str, Literal["open", "closing", "closed"]] = field(
        default_factory=lambda: {"root": "open", "loop": "open"}
    )
    signals: dict[str, tuple[Json, ...]] = field(default_factory=lambda: {"s": (), "r": ()})
    listeners: list[Listener] = field(default_factory=list)
    closings: list[Closing] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    haunted: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)

    def copy(self) -> "State":
        """A state to try a command on."""
        other = copy.copy(self)
        other.lives = {handle: life.copy() for handle, life in self.lives.items()}
        other.store, other.registry, other.owners = dict(self.store), dict(self.registry), dict(self.owners)
        other.signals, other.listeners, other.loads = dict(self.signals), list(self.listeners), list(self.loads)
        other.closings = [Closing(one.owner, one.task, set(one.lives), one.all) for one in self.closings]
        other.failed, other.haunted, other.used = set(self.failed), set(self.haunted), set(self.used)
        return other

    def children(self, handle: str) -> list[Life]:
        """The lives that an agent owns, and that are not gone.

        Args:
            handle: The agent's.
        """
        return [life for life in self.lives.values() if life.owner == handle and life.phase != "gone"]

    def owning(self, life: Life) -> bool:
        """Whether an agent owns a life."""
        return life.owner in self.lives

    def hearing(self, event: str, life: Life) -> Iterator["Listener"]:
        """Who listens to an event of a life, in order, as long as they do."""
        for listener in list(self.listeners):
            if listener.event == event and listener.about == life.handle and listener in self.listeners:
                yield listener

    def accepts(self, owner: str) -> bool:
        """Whether something can be created through a context.

        Args:
            owner: The context: `root`, the plugin, or the handle of a life.

        Returns:
            Whether its owner is there and not closing.

        Raises:
            Undecided: No clause says.
        """
        if owner in self.owners:
            return self.owners[owner] == "open"
        life = self.lives.get(owner)
        if life is None or not life.handed:
            raise Undecided
        return life.phase in {"live", "quiescing"}


Job: TypeAlias = Callable[[], None]
"""What goes on when the command has returned."""
