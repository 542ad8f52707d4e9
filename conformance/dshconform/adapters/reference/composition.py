"""The composition under test: its root context, and what the suite calls the agents and sessions in it."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from dshconform.adapters.reference import llm_forms, tool_forms
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.observe import observe
from dshconform.adapters.reference.owners import Owners
from dshconform.adapters.reference.parts import Parts
from dshconform.adapters.reference.prompt_forms import show_assembly
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import Json
from dshcore.agent import AGENTS, Agent, AgentHandle, Enter, Reject, Retry
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.llm import GenerateOptions
from dshcore.session import SESSIONS, Session
from dshcore.system_prompt import Assembly
from dshcore.tools import ToolDefinition, ToolToken

if TYPE_CHECKING:
    from dshconform.adapters.reference.models import SuiteModel


class Composition:
    """One composed root.

    Args:
        world: The world that it is in.
    """

    def __init__(self, world: World) -> None:
        self._world: Final = world
        self._agents: Final[dict[str, Agent]] = {}
        self._sessions: Final[dict[str, Session]] = {}
        """Those that the suite has made itself."""
        self._making: Final[list[str | None]] = []
        """The names of sessions that are being made; none where the session has appeared."""
        self._handles: Final[dict[str, AgentHandle]] = {}
        self._names: Final[dict[int, tuple[object, str]]] = {}
        """By identity; the object is held, so that no other one gets its identity."""
        self._expected: Final[dict[str, list[str]]] = {}
        self._tools: Final[dict[str, ToolDefinition]] = {}
        self.models: Final[dict[str, SuiteModel]] = {}
        """The model adapters, by the suite's names."""
        self.opened = False
        """Whether all parts are mounted."""
        self.root: Final = Context()
        self.parts: Final = Parts(world, self.root)
        """The parts that are mounted."""
        self.owners: Final = Owners(world, self.root)
        """The owners, scopes and services that the suite has named."""
        observe(world, self)

    # --- names ---------------------------------------------------------------------------------------------------

    def expect(self, agent_id: str, name: str) -> None:
        """Note that an agent is being created, and what it will be called.

        Args:
            agent_id: The id that the agent will have.
            name: What the suite will call it.
        """
        self._expected.setdefault(agent_id, []).append(name)

    def expect_no_more(self, agent_id: str, name: str) -> None:
        """Note that its creation has ended.

        Args:
            agent_id: The id that the agent has, or would have had.
            name: What the suite called it.
        """
        self._expected[agent_id].remove(name)

    def bind(self, name: str, agent: Agent) -> None:
        """Let a name stand for an agent, and for the session that it drives."""
        self._names.pop(id(self._sessions.pop(name, None)), None)
        for old in (self._agents.get(name), agent):
            if old is not None:
                self._names.pop(id(old), None)
                self._names.pop(id(old.session), None)
        self._agents[name] = agent
        self._names[id(agent)] = (agent, name)
        self._names[id(agent.session)] = (agent.session, name)

    def bind_expected(self, agent: Agent) -> None:
        """Name an agent that has just become visible, where only one creation can have made it."""
        names = self._expected.get(agent.id, ())
        if id(agent) not in self._names and len(names) == 1:
            self.bind(names[0], agent)

    def bind_handle(self, name: str, handle: AgentHandle) -> Agent:
        """Keep the handle of an agent, which alone can dispose of it.

        Args:
            name: What the suite calls it.
            handle: As its creation answered it.

        Returns:
            The agent.
        """
        self._handles[name] = handle
        if id(handle.agent) not in self._names:
            self.bind(name, handle.agent)
        return handle.agent

    def bind_stub(self, name: str, agent: Agent) -> None:
        """Let a name stand for an agent alone: its session has a name of its own."""
        self._agents[name] = agent
        self._names[id(agent)] = (agent, name)

    def named_now(self, agent_id: str, name: str, make: Callable[[], Agent]) -> Json:
        """Make an agent at once, which is named as soon as it appears.

        Args:
            agent_id: The id that the agent will have.
            name: What the suite will call it.
            make: The synchronous creation.

        Returns:
            What a result calls it.
        """
        self.expect(agent_id, name)
        try:
            agent = make()
        finally:
            self.expect_no_more(agent_id, name)
        if id(agent) not in self._names:
            self.bind(name, agent)
        return self.refer(agent)

    async def named(self, agent_id: str, name: str, making: Awaitable[AgentHandle]) -> Agent:
        """Wait for an agent that is being made, which is named as soon as it appears.

        Args:
            agent_id: The id that the agent will have.
            name: What the suite will call it.
            making: Its creation, or its resuming.

        Returns:
            The agent.

        Cancellation:
            The making is cancelled, and the name is not expected any more.
        """
        self.expect(agent_id, name)
        try:
            handle = await making
        finally:
            self.expect_no_more(agent_id, name)
        return self.bind_handle(name, handle)

    @contextmanager
    def making(self, name: str) -> Iterator[None]:
        """While a session is being made, which will have a name: it has it as soon as it appears."""
        self._making.append(name)
        try:
            yield
        finally:
            self._making.pop()

    def bind_made(self, session: Session) -> None:
        """Name a session that has just been announced, if it is the one that is being made."""
        agents = self.root.get(AGENTS)
        agent = None if agents is None else agents.get(session.id)
        if agent is not None and agent.session is session:
            self.bind_expected(agent)
        name = self._making[-1] if self._making else None
        if name is not None and id(session) not in self._names:
            self._making[-1] = None
            self.bind_session(name, session)

    def bind_session(self, name: str, session: Session) -> None:
        """Let a name stand for a session."""
        agent = self._agents.pop(name, None)
        for old in (self._sessions.get(name), agent, None if agent is None else agent.session):
            if old is not None:
                self._names.pop(id(old), None)
        self._sessions[name] = session
        self._names[id(session)] = (session, name)

    def name(self, subject: object) -> str:
        """What rows call an agent or session: its name, else its id.

        Args:
            subject: An agent, a session, or what has an id.
        """
        entry = self._names.get(id(subject))
        if entry is not None:
            return entry[1]
        expected = self._expected.get(getattr(subject, "id", ""), ())
        return expected[0] if len(expected) == 1 else str(getattr(subject, "id", subject))

    def refer(self, subject: Agent | Session | None) -> Json:
        """What a result calls an agent or session: the name of that very object, or that it is another one.

        Args:
            subject: An agent or session; none for null.
        """
        if subject is None:
            return None
        entry = self._names.get(id(subject))
        return {"other": subject.id} if entry is None else entry[1]

    def refer_key(self, key: object) -> Json:
        """What a result calls a scope key: the name of that very object, or that it is another one."""
        if isinstance(key, Agent):
            return self.refer(key)
        return self.owners.name_of(key) or {"other": str(key)}

    def bind_tool(self, name: str, definition: ToolDefinition) -> None:
        """Let a name stand for a definition."""
        self._tools[name] = definition

    def refer_tool(self, definition: ToolDefinition | None) -> Json:
        """What a result calls a definition: the name of that very object, or that it is another one."""
        if definition is None:
            return None
        names = (name for name, known in self._tools.items() if known is definition)
        return next(names, None) or {"other": definition.name}

    # --- finding -------------------------------------------------------------------------------------------------

    def context(self, where: object) -> Context:
        """The context that `in` names.

        Args:
            where: A name, or `{"agent": name}`.

        Raises:
            Fault: It names none.
        """
        match where:
            case str():
                return self.owners.context(where)
            case {"agent": which}:
                return self.agent(which).ctx
        raise Fault(f"there is no context {where!r}: a name or {{'agent': name}} is wanted")

    def scope(self, where: object) -> object | None:
        """The scope key that `scope` names: an agent, or one of the suite's own; none for the root.

        Args:
            where: A name, or `{"agent": name}`.

        Raises:
            Fault: It names none.
        """
        match where:
            case "root":
                return None
            case str():
                return self.owners.scope_key(where)
            case {"agent": which}:
                return self.agent(which)
        raise Fault(f"there is no scope {where!r}: a name or {{'agent': name}} is wanted")

    def agent(self, which: object) -> Agent:
        """The agent of a name, else of an id; an agent stands for itself.

        Args:
            which: A name or an id.

        Raises:
            Fault: There is none.
        """
        if isinstance(which, Agent):
            return which
        agents = self.root.get(AGENTS)
        found = None
        if isinstance(which, str):
            found = self._agents.get(which) or (None if agents is None else agents.get(which))
        if found is None:
            raise Fault(f"there is no agent {which!r}")
        return found

    def handle(self, which: object) -> AgentHandle:
        """The handle of an agent that the suite created, by the agent's name or the agent itself.

        Args:
            which: A name.

        Raises:
            Fault: There is none.
        """
        name = self.name(which) if isinstance(which, Agent) else which
        if not isinstance(name, str) or name not in self._handles:
            raise Fault(f"there is no handle of an agent {which!r}")
        return self._handles[name]

    def session(self, which: object) -> Session:
        """The session of a name, or of its agent's name, else of an id; a session stands for itself.

        Args:
            which: A name or an id.

        Raises:
            Fault: There is none.
        """
        if isinstance(which, Session):
            return which
        found = None
        if isinstance(which, str):
            sessions = self.root.get(SESSIONS)
            agent = self._agents.get(which)
            found = self._sessions.get(which) if agent is None else agent.session
            if found is None and sessions is not None:
                found = sessions.get(which)
        if found is None:
            raise Fault(f"there is no session {which!r}")
        return found

    def agent_of(self, request: GenerateOptions) -> Agent | None:
        """The live agent whose request it is, if any."""
        agents = self.root.get(AGENTS)
        return None if agents is None or request.session_id is None else agents.get(request.session_id)

    # --- showing -------------------------------------------------------------------------------------------------

    def show(self, value: object) -> Json | None:
        """Show what has a form of its own; none for everything else.

        Args:
            value: Something of the implementation.

        Returns:
            Its form.
        """
        match value:
            case CancelSignal():
                return self._show_signal(value)
            case Agent() | Session():
                return self.name(value)
            case Context():
                return self.owners.name_of(value) or value.name
            case GenerateOptions():
                return self._world.show(value.to_json())
            case Enter():
                return {"kind": "enter", "messages": self._world.show(value.messages)}
            case Reject():
                return {"kind": "reject"}
            case Retry():
                return {"kind": "retry"}
            case ToolToken():
                return self._world.names.token_name(value)
            case Assembly():
                return self._world.show(show_assembly(value))
            case _:
                members = tool_forms.show(value) or llm_forms.show(value)
                return self.owners.name_of(value) if members is None else self._world.show(members)

    def _show_signal(self, signal: CancelSignal) -> Json:
        name = next((name for name, known in self._world.names.signals.items() if known is signal), None)
        shown: dict[str, Json] = {"signal": name, "aborted": signal.aborted}
        if signal.aborted:
            shown["reason"] = self._world.show(signal.reason)
        return shown
