"""What each command of the rollback contract does: at the top, in a burst, or in a function of the suite."""

from collections.abc import Callable, Mapping
from typing import Final

from dshconform.contracts import rollback_rows as rows
from dshconform.contracts.inbox_commands import items_of, read_command
from dshconform.contracts.inbox_rows import Clauses, by
from dshconform.contracts.model import CommandError
from dshconform.contracts.rollback_reading import message_id, script_of, text_in
from dshconform.contracts.rollback_state import Life, State, Undecided
from dshconform.contracts.rollback_surroundings import Outcome, Surroundings
from dshconform.contracts.rollback_teardowns import Ending
from dshconform.protocol.json_value import JsonMap
from dshconform.running.step import UNCHECKED

_LOOKS: Final = frozenset({"registry.get", "session.get", "agent.inspect", "session.read"})


class Calls(Surroundings):
    """One command.

    Args:
        state: Changed by it.
        switches: Variants in which the implementation is followed.
    """

    def __init__(self, state: State, switches: frozenset[str]) -> None:
        super().__init__(state, switches)
        self._caller: Life | None = None
        """The life whose function runs, if any."""
        first = self.record.strands.first
        for closing in state.closings:
            first[closing.task] = closing.clauses
        for life in state.lives.values():
            first |= dict.fromkeys(life.disposals, ("LIFE-DISP-07",))
            if life.failure is not None:
                first[f"t.{life.handle}"] = ("LIFE-ROLL-06",)

    # ------------------------------------------------------------------ commands

    def perform(self, op: str, args: JsonMap) -> Outcome:
        """Perform a command, and let everything come to rest.

        Args:
            op: The operation.
            args: Its arguments.

        Returns:
            What the reply must say.

        Raises:
            Undecided: No clause says what happens.
            CommandError: It is none.
        """
        outcome: Outcome = {}
        if op == "burst":
            for at, item in enumerate(items_of(args)):
                inner, given = read_command(item)
                ended = self._call(inner, given, ())
                self.record.add(rows.returned(inner, ended, at=str(at)), self.record.after)
            self.record.add(rows.returned(op, {}), self.record.after)
        elif op in _ANSWERS:
            _ANSWERS[op](self, args)
        else:
            outcome = self._call(op, args, ())
            if not self.record.inside:
                self.record.add(rows.returned(op, {}), self.record.after)
        self.settle()
        return outcome

    def _call(self, op: str, args: JsonMap, clauses: Clauses) -> Outcome:
        """Do what a command does before it returns; the clauses answer for what a look shows."""
        if op not in _CALLS:
            raise CommandError(f"{op!r} is no command of the rollback contract")
        return _CALLS[op](self, args, clauses)

    def run(self, fn: JsonMap, kind: str, clauses: Clauses, looks: Clauses = ()) -> Ending:
        """Call a function of the suite, which follows its script.

        Args:
            fn: The function.
            kind: What it stands for, as the protocol calls it.
            clauses: Answer for its being called now.
            looks: Answer for what it sees, where they are others.

        Returns:
            How the call ends, and with which value or error.

        Raises:
            Undecided: It acts in an announcement of which nobody says that it is made.
        """
        part, script = script_of(fn)
        outer, caller = self._caller, self.state.lives.get(part.partition(".")[0])
        if not script or script[0].get("do") != "gate":
            self.record.add(rows.called(part, kind), clauses)
        for at, one in enumerate(script):
            if "op" not in one:
                return self._ends(one, part, kind, clauses)
            op, args = read_command(one)
            self._caller, self.record.limit = caller, ()
            outcome = self._call(op, args, looks or clauses)
            self._caller = outer
            self.record.add(rows.returned(op, outcome, part, str(at)), (*self.record.limit, *clauses))
            if self.record.lists and op not in _LOOKS:
                raise Undecided  # in an announcement of which nobody says that it is made
        return "pass", None

    def _ends(self, one: JsonMap, part: str, kind: str, clauses: Clauses) -> Ending:
        match one.get("do"):
            case "gate":
                self.record.add(rows.called(part, kind, waits=True), clauses)
                return "gate", None
            case "return":
                return "return", one.get("value")
            case "throw" | "reject" as how:
                return str(how), one.get("error")
            case other:
                raise CommandError(f"a function of the rollback contract does not {other!r}")

    def _acted_on(self, args: JsonMap) -> Life:
        """The same, where the call acts on it before it returns."""
        life = self.life(args)
        if self._caller is None:  # a function has its own strand
            self.record.strands.caller = life.handle
        return life

    # ------------------------------------------------------------------ looks

    def get_agent(self, args: JsonMap, clauses: Clauses) -> Outcome:
        """Who is registered.

        Args:
            args: The id that is looked up.
            clauses: Answer for what is seen.
        """
        return self._found(text_in(args, "id"), self.state.registry, clauses)

    def get_session(self, args: JsonMap, clauses: Clauses) -> Outcome:
        """Whose session is live.

        Args:
            args: The id that is looked up.
            clauses: Answer for what is seen.
        """
        return self._found(text_in(args, "id"), self.state.store, clauses)

    def _found(self, identity: str, among: Mapping[str, str], clauses: Clauses) -> Outcome:
        unsure = identity in self.record.unsure or self.record.lists
        return {} if unsure else {"result": by(clauses, among.get(identity))}

    def inspect(self, args: JsonMap, clauses: Clauses) -> Outcome:
        """An agent as it shows itself.

        Args:
            args: The handle of the agent.
            clauses: Answer for what is seen.

        Raises:
            Undecided: There is none of that handle, or it was disposed of before it opened a turn and is not idle yet.
        """
        life = self.life(args)
        if life.handle in self.stopping:
            raise Undecided
        return {"result": by(clauses, inspected(life))}

    def read(self, args: JsonMap, clauses: Clauses) -> Outcome:
        """The length of a log.

        Args:
            args: The handle whose session it is.
            clauses: Answer for what is seen.

        Raises:
            Undecided: There is none of that handle.
        """
        life = self.life({"agent": text_in(args, "session")})
        stored: Clauses = ("LIFE-RES-02",) if life.form == "resume" else ()
        return {"result": by((*stored, *clauses), {"seq": life.seq})}

    def nothing(self, _: JsonMap, __: Clauses) -> Outcome:
        """Change nothing.

        Returns:
            Nothing that a reply is compared with.
        """
        return {}

    # ------------------------------------------------------------------ agents

    def create(self, args: JsonMap, _: Clauses) -> Outcome:
        """Create an agent.

        Args:
            args: Its handle, and what it is created with.
        """
        self.new(text_in(args, "handle"))
        return self.begin("create", args, self._caller)

    def resume(self, args: JsonMap, _: Clauses) -> Outcome:
        """Resume a stored agent.

        Args:
            args: Its handle, and what it is resumed with.

        Returns:
            Nothing that is looked at, or the error of a call that throws.
        """
        self.new(text_in(args, "handle"))
        return self.begin("resume", args, self._caller)

    def dispose(self, args: JsonMap, _: Clauses) -> Outcome:
        """Dispose of an agent through its handle.

        Args:
            args: Its handle, and the task.

        Returns:
            Nothing that is looked at: its task settles when nothing of the agent is left.

        Raises:
            Undecided: Nobody has been given the handle.
        """
        life, task = self._acted_on(args), self.new(text_in(args, "task"))
        if not life.handed:
            raise Undecided  # nobody has the handle (LIFE-OWN-10)
        self.disposal_cell(life, "handle")
        self.record.strands.first[rows.CALL] = ("LIFE-DISP-24",)
        if life.phase == "gone":
            clauses: Clauses = ("LIFE-DISP-08",) if life.identity in self.state.store else ("LIFE-DISP-07",)
            self.record.after = self.record.blame[life.identity] = clauses
            self.jobs.append(lambda: self.record.add(rows.settled(task, value=by(clauses, UNCHECKED)), clauses))
            return {}
        life.disposals.append(task)
        if life.ending:
            self.record.after = ("LIFE-DISP-07", "LIFE-DISP-09")
        self.tear_down(life, "handle", ("LIFE-DISP-01",))
        return {}

    def followup(self, args: JsonMap, _: Clauses) -> Outcome:
        """A message for a turn of its own.

        Args:
            args: The agent and the message.
        """
        return self._send(args, "followup")

    def steer(self, args: JsonMap, _: Clauses) -> Outcome:
        """A message for the next step.

        Args:
            args: The agent and the message.
        """
        return self._send(args, "steer")

    def inject(self, args: JsonMap, _: Clauses) -> Outcome:
        """A message that wakes nobody.

        Args:
            args: The agent and the message.
        """
        return self._send(args, "inject")

    def _send(self, args: JsonMap, preset: str) -> Outcome:
        return self.deliver(self._acted_on(args), self.new(message_id(args)), preset)

    def cancel(self, args: JsonMap, _: Clauses) -> Outcome:
        """Cancel as the user does.

        Args:
            args: The agent.

        Returns:
            Nothing that is looked at.
        """
        self.cancel_turn(self._acted_on(args))
        return {}

    def begin_maintenance(self, args: JsonMap, _: Clauses) -> Outcome:
        """Start a maintenance task.

        Args:
            args: The agent, the task and its function.

        Returns:
            Nothing that is looked at: its task settles when the function is answered.

        Raises:
            CommandError: The function is not named after its agent.
            Undecided: There is no such agent, or it is busy, or something is pending.
        """
        life = self.life(args)
        part, _script = script_of(args.get("fn"))
        if part != f"{life.handle}.job":
            raise CommandError(f"the function of a maintenance task is named after its agent: {life.handle}.job")
        self.maintain(life, self.new(text_in(args, "task")))
        return {}

    # ------------------------------------------------------------------ answers to what waits

    def resolve(self, args: JsonMap) -> None:
        """A function goes on, and its call ends.

        Args:
            args: The gate, and the value.
        """
        self._answer(args, failed=False)

    def reject_gate(self, args: JsonMap) -> None:
        """A function goes on, and fails.

        Args:
            args: The gate, and the error.
        """
        self._answer(args, failed=True)

    def _answer(self, args: JsonMap, *, failed: bool) -> None:
        gate = args.get("gate")
        if not isinstance(gate, Mapping):
            raise CommandError(f"a gate is named by what it is, not {gate!r}")
        if gate.get("kind") == "store/load":
            place = gate.get("at", 0)
            if not isinstance(place, int) or ("at" not in gate and self._loads(gate) > 1):
                raise Undecided
            self.loaded(text_in(gate, "session"), place, args, failed=failed)
            return
        life, what = self._waiting(gate)
        if failed and what in {"job", "commit"}:
            raise Undecided  # the affair of other contracts
        life.open.discard(what)
        match what:
            case "setup" if life.waits:
                self.composed(life, "reject" if failed else "return", args.get("error" if failed else "value"))
            case "setup":
                which = "setup that ended itself" if life.step == "setup" else "setup"
                self.record.cell("late", which, "fails" if failed else "commits" if args.get("value") else "returns")
                late: Clauses = ("LIFE-ROLL-12",) if failed else ("LIFE-SETUP-04", "LIFE-ROLL-12")
                self.record.after = self.record.blame[life.identity] = late
            case "undo":
                if failed:
                    self.cleanup_failed(life, "reject")
                self.record.after = (*life.why, "LIFE-DISP-01")
                self.leave(life)
            case "job":
                self.maintained(life, args.get("value"))
            case _:
                self.record.after = ("LIFE-SETUP-03",)

    def _loads(self, gate: JsonMap) -> int:
        return sum(self.state.lives[handle].identity == gate.get("session") for handle in self.state.loads)

    def _waiting(self, gate: JsonMap) -> tuple[Life, str]:
        """The life of which a function waits, and which of its functions that is."""
        handle, _, what = text_in(gate, "part").partition(".")
        life = self.life({"agent": handle})
        if what not in life.open:
            raise Undecided
        return life, what

    def inside(self, args: JsonMap) -> None:
        """A setup that waits registers something, or looks.

        Args:
            args: The gate of the setup, and its actions.

        Raises:
            CommandError: There is no gate, or no list of actions.
            Undecided: Another function than a setup waits there, or it would do more than that.
        """
        gate, do = args.get("gate"), args.get("do")
        if not isinstance(gate, Mapping) or not isinstance(do, list | tuple):
            raise CommandError("gate.do needs a gate, and a list of actions")
        life, what = self._waiting(gate)
        if what != "setup":
            raise Undecided
        clauses: Clauses = ("LIFE-SETUP-01",) if life.waits else ("LIFE-ROLL-12",)
        self.record.after = clauses
        for at, one in enumerate(do):
            assert isinstance(one, Mapping)
            op, given = read_command(one)
            if op not in {"listen", *_LOOKS}:
                raise Undecided
            outcome = self._call(op, given, clauses)
            self.record.add(rows.returned(op, outcome, text_in(gate, "part"), f"do.{at}"), clauses)

    def stream_ends(self, args: JsonMap) -> None:
        """The model's stream ends.

        Args:
            args: The gate of the model's call.

        Raises:
            Undecided: There is no such agent, no model of it is waiting, or another turn would follow.
        """
        gate = args.get("gate")
        self.end_stream(self.life(gate if isinstance(gate, Mapping) else {}))


def inspected(life: Life) -> JsonMap:
    """What an agent shows of itself.

    Args:
        life: Its state as the model has it.
    """
    running = bool(life.open & {"driver", "model"})
    lists: JsonMap = {
        name: [{"id": identity} for identity in life.lists[target]]
        for name, target in (("nextStep", "next-step"), ("nextTurn", "next-turn"))
    }
    return {"id": life.identity, "status": "running" if running else "idle", **lists}


_CALLS: Final[Mapping[str, Callable[[Calls, JsonMap, Clauses], Outcome]]] = {
    "registry.get": Calls.get_agent,
    "session.get": Calls.get_session,
    "agent.inspect": Calls.inspect,
    "session.read": Calls.read,
    "registry.list": Calls.nothing,
    "owner.open": Calls.open_owner,
    "owner.close": Calls.close_owner,
    "world.unload": Calls.unload,
    "world.load": Calls.load,
    "signal.new": Calls.new_signal,
    "signal.abort": Calls.abort_signal,
    "listen": Calls.listen,
    "effect": Calls.effect,
    "registry.enter": Calls.enter_stub,
    "undo": Calls.undo,
    "agent.create": Calls.create,
    "agent.resume": Calls.resume,
    "agent.dispose": Calls.dispose,
    "agent.followup": Calls.followup,
    "agent.steer": Calls.steer,
    "agent.inject": Calls.inject,
    "agent.cancel": Calls.cancel,
    "agent.maintain": Calls.begin_maintenance,
}
_ANSWERS: Final[Mapping[str, Callable[[Calls, JsonMap], None]]] = {
    "gate.resolve": Calls.resolve,
    "gate.reject": Calls.reject_gate,
    "gate.do": Calls.inside,
    "stream.end": Calls.stream_ends,
}
