"""The commands of the core."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from dshconform.protocol.commands.arguments import Arguments, OfAgent, Placed, Scoped, Target, Which
from dshconform.protocol.commands.lifecycle import STORE_KINDS
from dshconform.protocol.commands.operation import Operation
from dshconform.protocol.functions import FunctionSpec, Item, Script
from dshconform.protocol.json_value import Json
from dshconform.protocol.names import Name, Path
from dshconform.protocol.values import FieldRef

# --- worlds and the running of commands --------------------------------------------------------------------------


class HelloArguments(Arguments, frozen=True, kw_only=True):
    """The greeting."""

    protocol: int


class PersistenceConfig(Arguments, frozen=True, kw_only=True):
    """Where sessions are stored: a stub of the suite (feature `stub-store`), which has functions for everything."""

    kind: Literal["stub"]
    """Which store: the stub is the only one."""
    load: FunctionSpec | UnsetType = UNSET
    """Answers the header and the events of a stored session, or null."""
    list: FunctionSpec | UnsetType = UNSET
    """Answers the ids of what is stored."""
    release: FunctionSpec | UnsetType = UNSET
    """Called when what was loaded is not held any more."""


class WorldConfig(Arguments, frozen=True, kw_only=True):
    """What a composition consists of. Other members come with the profiles that need them.

    `without` leaves parts out, `bare` all of them (profile `context`). `prompt` holds the options of prompt assembly;
    without it there are no built-in sections. `enforce` has the relations that every log keeps checked before an event
    is accepted (feature `enforcement`). `settings` is true where the user has any (feature `settings`). `agents` are
    the configured agents, `identities` (feature `identities`) what a launcher fixes of them; both are raw.
    """

    without: list[Literal["loop", "agents", "sessions", "llm", "tools", "prompt"]] | UnsetType = UNSET
    max_parallel_tool_calls: Json | UnsetType = msgspec.field(default=UNSET, name="maxParallelToolCalls")
    """The largest batch of tool calls that run at once, raw, for refusals too."""
    prompt: Json | UnsetType = UNSET
    bare: bool = False
    enforce: bool | UnsetType = UNSET
    settings: Json | UnsetType = UNSET
    agents: Json | UnsetType = UNSET
    identities: Json | UnsetType = UNSET
    persistence: PersistenceConfig | UnsetType = UNSET
    """The store, none unless given."""


class WorldOpen(Arguments, frozen=True, kw_only=True):
    """A fresh composition; an open one is closed first."""

    config: WorldConfig | UnsetType = UNSET


class WorldClose(Arguments, frozen=True, kw_only=True):
    """Nothing."""


class Burst(Arguments, frozen=True, kw_only=True):
    """Commands in one uninterrupted stretch, answers to gates included."""

    do: list[Item]


class Run(Arguments, frozen=True, kw_only=True):
    """A script as an asynchronous function that nobody awaits; its rows have `task` as their `part`."""

    task: Name
    do: Script
    """What it does, action by action."""


class Undo(Arguments, frozen=True, kw_only=True):
    """The disposer to call; `task` follows what it answers, if that is an awaitable."""

    of: Name
    """The name of the disposer."""
    task: Name | UnsetType = UNSET


class Listen(Placed, frozen=True, kw_only=True):
    """A listener; `as` names its disposer."""

    as_: Name = msgspec.field(name="as")
    event: Name
    """The event's name in the specification, or one of the suite's own."""
    fn: FunctionSpec
    """The listener itself."""
    prepend: Json | UnsetType = UNSET
    """Whether it stands before the listeners that are there, raw."""
    global_: Json | UnsetType = msgspec.field(default=UNSET, name="global")
    """Whether it hears other scopes too, raw."""
    once: Json | UnsetType = UNSET
    """Whether it leaves after its first call, raw."""


class Effect(Placed, frozen=True, kw_only=True):
    """A cleanup in the scope of `in`, or a body that answers or yields some; `as` names its disposer.

    `async` is for a body that waits; `task` then follows its setup. (Both belong to the profile `context`.)
    """

    as_: Name = msgspec.field(name="as")
    undo: FunctionSpec | UnsetType = UNSET
    """The cleanup."""
    body: FunctionSpec | UnsetType = UNSET
    async_: bool = msgspec.field(default=False, name="async")
    task: Name | UnsetType = UNSET


class SignalNew(Arguments, frozen=True, kw_only=True):
    """The name of the new signal."""

    signal: Name


class SignalRead(Arguments, frozen=True, kw_only=True):
    """A signal by name, or inside a function the one of this call."""

    signal: Name | FieldRef


class SignalAbort(Arguments, frozen=True, kw_only=True):
    """A signal made by `signal.new`, and with what reason it shall fire."""

    signal: Name
    reason: Json | UnsetType = UNSET
    """What the signal is fired with, raw."""


# --- answers to gates --------------------------------------------------------------------------------------------


class OfGate(Arguments, frozen=True, kw_only=True):
    """A gate, by the adapter's id."""

    gate: Name


class GateResolve(OfGate, frozen=True, kw_only=True):
    """What the call answers; without `value`, nothing."""

    value: Json | UnsetType = UNSET


class GateReject(OfGate, frozen=True, kw_only=True):
    """What the call fails with."""

    error: Json


class GateNext(OfGate, frozen=True, kw_only=True):
    """What `next` is called with."""

    args: list[Json] | UnsetType = UNSET
    """Its arguments; none unless given."""
    keep: Name | UnsetType = UNSET
    """The name under which what `next` answers is held (feature `values`)."""


class GateDo(OfGate, frozen=True, kw_only=True):
    """Actions that do not wait, run inside the waiting call."""

    do: Script


class StreamChunk(OfGate, frozen=True, kw_only=True):
    """The next item, held until it is pulled."""

    chunk: Json


# --- agents ------------------------------------------------------------------------------------------------------


class AgentCreate(Placed, frozen=True, kw_only=True):
    """`agent` is the id, `handle` the suite's name for the agent (by default the id).

    With `sync` (profile `lifecycle`, feature `sync-create`) it is the loop's synchronous creation, which has neither
    task nor seed, signal and setup.
    """

    task: Name | UnsetType = UNSET
    """The name of the task, which ends as the creation does."""
    agent: Name
    handle: Name | UnsetType = UNSET
    options: Json | UnsetType = UNSET
    """The agent's options, raw."""
    meta: Json | UnsetType = UNSET
    """The metadata of its session's header, raw."""
    seed: Json | UnsetType = UNSET
    """The events that the log of its session begins with, raw."""
    signal: Json | UnsetType = UNSET
    """What aborts the creation while it lasts."""
    setup: FunctionSpec | UnsetType = UNSET
    """Composes the scope of the agent before anything is published."""
    sync: bool = False


class AgentTask(OfAgent, frozen=True, kw_only=True):
    """An asynchronous operation of an agent."""

    task: Name | UnsetType = UNSET


class AgentMessage(OfAgent, frozen=True, kw_only=True):
    """The message to deliver."""

    message: Json


class AgentSend(AgentMessage, frozen=True, kw_only=True):
    """The message, which list it goes to, and whether it wakes the agent."""

    target: Target
    """The list that the message goes to."""
    wakeup: Json
    """Whether it wakes the agent, raw."""


class AgentCancel(OfAgent, frozen=True, kw_only=True):
    """The cause, and whether the pending messages stay."""

    cause: Json
    keep_inbox: Json | UnsetType = msgspec.field(default=UNSET, name="keepInbox")
    """Whether the pending messages stay, raw."""


class AgentMaintain(AgentTask, frozen=True, kw_only=True):
    """The job."""

    fn: FunctionSpec


class InboxInsert(AgentMessage, frozen=True, kw_only=True):
    """The list and the message."""

    target: Target


class InboxSplice(OfAgent, frozen=True, kw_only=True):
    """As the list operation of that name."""

    target: Target
    """The list to change."""
    start: Json | UnsetType = UNSET
    """The place of the change, counted from the end where it is negative."""
    delete_count: Json | UnsetType = msgspec.field(default=UNSET, name="deleteCount")
    """How many messages leave from there; none unless given."""
    inserted: Json | UnsetType = UNSET
    """The messages that come in their place."""


class InboxRemove(OfAgent, frozen=True, kw_only=True):
    """The id of the message."""

    id: Json


class InboxReplace(InboxRemove, frozen=True, kw_only=True):
    """The id of the message, and the one that takes its place."""

    message: Json


class RegistryGet(Placed, frozen=True, kw_only=True):
    """The id of the agent."""

    id: Json


# --- sessions ----------------------------------------------------------------------------------------------------

View: TypeAlias = Literal[
    "events",
    "seq",
    "header",
    "messages",
    "firstLiveSeq",
    "nodes",
    "replaceGeneration",
    "requestHeader",
    "requestContext",
]
"""What can be read of a session."""


class SessionRead(Arguments, frozen=True, kw_only=True):
    """The name of a session or of its agent, and what to read of it. `core` has the first four views."""

    session: Which
    what: list[View]
    """The views that are wanted."""


class SessionAppend(Arguments, frozen=True, kw_only=True):
    """An event to append; `intent` is the surface operation."""

    session: Which
    """The session, by its name or that of its agent."""
    type: Json
    """The type of the event, raw."""
    data: Json | UnsetType = UNSET
    """The data of the event, raw."""
    intent: Json | UnsetType = UNSET


Folded: TypeAlias = Literal["work", "surface", "requestHeader", "todos", "canonical", "equal", "message"]
"""What can be folded: the pure functions over logs."""


class Fold(Arguments, frozen=True, kw_only=True):
    """What to fold, and of what: `events`, and for single steps of folds a `header`, `a` and `b`, or an `event`.

    `core` has `work`, `session` the others.
    """

    what: Folded
    """Which fold."""
    events: Json | UnsetType = UNSET
    from_: Json | UnsetType = msgspec.field(default=UNSET, name="from")
    """The header in force before the events, for the fold of request headers."""
    header: Json | UnsetType = UNSET
    a: Json | UnsetType = UNSET
    b: Json | UnsetType = UNSET
    event: Json | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Refuse a fold of nothing."""
        for name in _FOLDED.get(self.what, ("events",)):
            if getattr(self, name) is UNSET:
                raise ValueError(f"a fold of {self.what!r} needs {name!r}")


_FOLDED: Final[Mapping[str, tuple[str, ...]]] = {"canonical": ("header",), "equal": ("a", "b"), "message": ("event",)}
"""What the folds need that need no `events`."""


# --- models and tools --------------------------------------------------------------------------------------------


class ModelRegister(Placed, frozen=True, kw_only=True):
    """A model adapter for `routes`.

    `adapter` names its instance: the same name again is the same instance. `resolve` is a function, or an object from
    model to raw metadata; `names` goes from route to raw metadata.
    """

    as_: Name = msgspec.field(name="as")
    """The suite's name for the registration, and for its disposer."""
    routes: Json
    stream: FunctionSpec
    """Makes the items of a reply."""
    adapter: Name | UnsetType = UNSET
    start: FunctionSpec | UnsetType = UNSET
    """Called with the stream operation of the adapter, before `stream`; what it raises fails the start."""
    resolve: Json | UnsetType = UNSET
    models: FunctionSpec | UnsetType = UNSET
    """Answers the models of the adapter."""
    close: FunctionSpec | UnsetType = UNSET
    """Called when the consumer closes a stream."""
    names: Json | UnsetType = UNSET
    retry_policy: Json | UnsetType = msgspec.field(default=UNSET, name="retryPolicy")
    """What the adapter says of retries, raw."""


class ToolRegister(Placed, frozen=True, kw_only=True):
    """The definition as it is, functions of the suite included; with `typed` it goes through `defineTool`."""

    as_: Name = msgspec.field(name="as")
    """The name of the registration."""
    definition: Json
    typed: bool = False


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call of a tool. Without `signal` it gets a fresh one."""

    call_id: Json = msgspec.field(name="callId")
    """The id of the call, raw."""
    name: Json
    """The tool's name, raw."""
    arguments: Json
    """What the model passed, raw."""
    signal: Json | UnsetType = UNSET
    root_call_id: Json | UnsetType = msgspec.field(default=UNSET, name="rootCallId")
    """The call at the root of nested ones, raw."""
    parent: Json | UnsetType = UNSET
    """The execution that makes the call, raw."""


class ToolMode(Scoped, frozen=True, kw_only=True):
    """The call to classify."""

    call: ToolCall


class ToolExecute(ToolMode, frozen=True, kw_only=True):
    """The call to execute."""

    task: Name | UnsetType = UNSET


class ToolGet(Scoped, frozen=True, kw_only=True):
    """The name of the tool."""

    name: Json


# --- kept values (feature `values`) ------------------------------------------------------------------------------


class ValueKeep(Arguments, frozen=True, kw_only=True):
    """A value to hold, and under which name."""

    as_: Name = msgspec.field(name="as")
    """The name under which it is held."""
    value: Json


class ValueGet(Arguments, frozen=True, kw_only=True):
    """A kept value, and where to look in it."""

    of: Name
    """The name of the kept value."""
    path: Path | UnsetType = UNSET
    """The members and places that lead to what is read; the value itself unless given."""


class ValueSet(Arguments, frozen=True, kw_only=True):
    """A kept value, where to assign in it, and what."""

    of: Name
    """The name of the kept value."""
    path: Path
    """The members and places that lead to where it is assigned."""
    value: Json


class ValueRemove(Arguments, frozen=True, kw_only=True):
    """A kept value, and what to take out of it."""

    of: Name
    """The name of the kept value."""
    path: Path
    """The members and places that lead to what leaves."""


# --- the table ---------------------------------------------------------------------------------------------------


_MODEL_KINDS: Final = {name: f"model/{name}" for name in ("start", "stream", "resolve", "models", "close")}
_TOOL_KINDS: Final = {
    "definition.execute": "tool/execute",
    "definition.isConcurrencySafe": "tool/safe",
    "definition.output.render": "tool/render",
    "definition.output.presentationMeta": "tool/meta",
    "definition.finalizeContent": "tool/finalize",
    "definition.presentCall": "tool/present-call",
    "definition.presentResult": "tool/present-result",
}

CORE: Final[Mapping[str, Operation]] = {
    "hello": Operation(HelloArguments, "the declaration of the adapter", top_level=True),
    "world.open": Operation(
        WorldOpen,
        "nothing; raises when the composition does not load",
        top_level=True,
        kinds={f"config.persistence.{name}": kind for name, kind in STORE_KINDS.items()},
    ),
    "world.close": Operation(WorldClose, "nothing", top_level=True),
    "burst": Operation(Burst, "a list with `{result}` or `{error}` for each command"),
    "run": Operation(
        Run, "what the script returns; at its end a list with `{result}` or `{error}` for each of its commands"
    ),
    "undo": Operation(
        Undo, '`"nothing"` or `"awaitable"`, at once; what the awaitable gave is the value of the task', may_await=True
    ),
    "listen": Operation(Listen, "nothing"),
    "effect": Operation(Effect, "nothing", may_await=True, kinds={"undo": "undo", "body": "effect"}),
    "signal.new": Operation(SignalNew, "nothing"),
    "signal.read": Operation(SignalRead, "`{aborted, reason?}`"),
    "signal.abort": Operation(SignalAbort, "nothing"),
    "gate.resolve": Operation(GateResolve, "nothing", answers_gate=True),
    "gate.reject": Operation(GateReject, "nothing", answers_gate=True),
    "gate.next": Operation(GateNext, "nothing", answers_gate=True),
    "gate.do": Operation(GateDo, "as of `burst`", answers_gate=True),
    "stream.chunk": Operation(StreamChunk, "nothing", answers_gate=True),
    "stream.end": Operation(OfGate, "nothing", answers_gate=True),
    "stream.fail": Operation(GateReject, "nothing", answers_gate=True),
    "agent.create": Operation(AgentCreate, "the agent", asynchronous=True, kinds={"setup": "setup"}),
    "agent.dispose": Operation(AgentTask, "nothing", asynchronous=True),
    "agent.whenIdle": Operation(AgentTask, "nothing", asynchronous=True),
    "agent.send": Operation(AgentSend, "nothing"),
    "agent.followup": Operation(AgentMessage, "nothing"),
    "agent.steer": Operation(AgentMessage, "nothing"),
    "agent.inject": Operation(AgentMessage, "nothing"),
    "agent.cancel": Operation(AgentCancel, "nothing"),
    "agent.maintain": Operation(AgentMaintain, "the value of the job", asynchronous=True, kinds={"fn": "maintenance"}),
    "agent.inspect": Operation(OfAgent, "`{id, status, nextTurn, nextStep, hasPending, options, session}`"),
    "inbox.append": Operation(InboxInsert, "nothing"),
    "inbox.prepend": Operation(InboxInsert, "nothing"),
    "inbox.splice": Operation(InboxSplice, "the removed messages"),
    "inbox.replace": Operation(InboxReplace, "true or false"),
    "inbox.remove": Operation(InboxRemove, "true or false"),
    "inbox.clear": Operation(OfAgent, "nothing"),
    "registry.get": Operation(RegistryGet, "the agent, or null"),
    "registry.list": Operation(Placed, "agents"),
    "registry.roots": Operation(Placed, "agents"),
    "session.read": Operation(SessionRead, "an object with the views that were asked for"),
    "session.append": Operation(SessionAppend, "the logged event"),
    "fold": Operation(Fold, "the fold; of `work` `{end?, droppedUnrun}`"),
    "model.register": Operation(ModelRegister, "nothing", kinds=_MODEL_KINDS),
    "tool.register": Operation(ToolRegister, "nothing", kinds=_TOOL_KINDS),
    "tool.execute": Operation(ToolExecute, "the result", asynchronous=True),
    "tool.mode": Operation(ToolMode, "the mode"),
    "tool.schemas": Operation(Scoped, "the schemas"),
    "tool.get": Operation(ToolGet, "the definition, by the name of its registration (`as`), or null"),
    "value.keep": Operation(ValueKeep, "nothing", feature="values"),
    "value.get": Operation(ValueGet, "what stands there", feature="values"),
    "value.set": Operation(ValueSet, "nothing", feature="values"),
    "value.remove": Operation(ValueRemove, "nothing", feature="values"),
}
"""Every operation of the core, in the order of the protocol page."""
