"""What commands of the rollback contract do to what is around lives: owners, signals, listeners, what is registered."""

from collections.abc import Mapping
from typing import TypeAlias

from dshconform.contracts import rollback_rows as rows
from dshconform.contracts.inbox_rows import Clauses, by
from dshconform.contracts.rollback_commands import LOOP, OWNER, STUB
from dshconform.contracts.rollback_reading import owner_in, script_of, text_in
from dshconform.contracts.rollback_state import Closing, Life, Listener, Undecided
from dshconform.contracts.rollback_transactions import Transactions
from dshconform.protocol.json_value import Json, JsonMap

Outcome: TypeAlias = Mapping[str, Json]
"""How a command ended: a pattern for its `result` or `error`, and nothing where that is not looked at."""


class Surroundings(Transactions):
    """One command, as far as it is about what lives are owned by, aborted by, heard through."""

    def life(self, args: JsonMap) -> Life:
        """The life that a command is about, by its handle.

        Args:
            args: The arguments of the command.

        Returns:
            The life; it may be gone.

        Raises:
            Undecided: There is none, so far, or there never was an agent.
        """
        life = self.state.lives.get(text_in(args, "agent"))
        if life is None or life.step == "load":
            raise Undecided
        return life

    def new(self, name: str) -> str:
        """Use a name, which nothing has had before.

        Args:
            name: The name.

        Returns:
            The name.

        Raises:
            Undecided: Something has it, or had it.
        """
        if name in self.state.used:
            raise Undecided
        self.state.used.add(name)
        return name

    # ------------------------------------------------------------------ owners and signals

    def open_owner(self, args: JsonMap, _: Clauses) -> Outcome:
        """Mount the plugin.

        Args:
            args: Name the plugin.

        Returns:
            Nothing that is looked at.

        Raises:
            Undecided: It is another plugin than that of the contract, or open already.
        """
        if text_in(args, "owner") != OWNER or self.state.owners.get(OWNER, "closed") != "closed":
            raise Undecided
        self.state.owners[OWNER] = "open"
        return {}

    def close_owner(self, args: JsonMap, _: Clauses) -> Outcome:
        """Close the plugin.

        Args:
            args: Name the plugin and the task.

        Returns:
            Nothing that is looked at: its task settles when all that it owned is gone.
        """
        return self._close(text_in(args, "owner"), args)

    def unload(self, args: JsonMap, _: Clauses) -> Outcome:
        """Close the loop.

        Args:
            args: Name the part and the task.

        Returns:
            Nothing that is looked at: its task settles when all lives are gone.
        """
        self.unloaded = True
        return self._close(text_in(args, "part"), args)

    def _close(self, owner: str, args: JsonMap) -> Outcome:
        state, task = self.state, self.new(text_in(args, "task"))
        if owner not in {OWNER, LOOP} or state.owners.get(owner) != "open":
            raise Undecided
        state.owners[owner] = "closing"
        who = "loop" if owner == LOOP else "owner"
        owned = [life for life in state.lives.values() if owner in {LOOP, life.owner}]
        held = [life for life in owned if life.phase != "gone"]
        handles = {life.handle for life in held}
        closing = Closing(owner, task, handles, frozenset(handles))
        state.closings.append(closing)
        self.record.after = ("LIFE-OWN-06",) if owner == LOOP else ("LIFE-OWN-08", "LIFE-OWN-01")
        for life in held:
            if owner == LOOP or not life.ending:
                self.disposal_cell(life, who)
            self.close(life, owner)
        if owner == OWNER and any(life.identity in state.store for life in owned) and not held:
            self.record.cell("disposal", "id reused", who)
        self.record.strands.first[task] = closing.clauses
        self.close_next(closing)
        return {}

    def load(self, args: JsonMap, _: Clauses) -> Outcome:
        """The loop comes back.

        Args:
            args: Name the part and the task.

        Returns:
            Nothing that is looked at: its task settles behind everything else.

        Raises:
            Undecided: It is another part than the loop, or there already.
        """
        task = self.new(text_in(args, "task"))
        if args.get("part") != LOOP or self.state.owners[LOOP] != "closed":
            raise Undecided
        self.state.owners[LOOP] = "open"
        self.jobs.append(lambda: self.record.add(rows.settled(task), ("LIFE-OWN-06",)))
        return {}

    def new_signal(self, args: JsonMap, _: Clauses) -> Outcome:
        """A new signal under a name; the old one has to do with nobody.

        Args:
            args: The name.

        Returns:
            Nothing that is looked at.

        Raises:
            Undecided: The name is none of the contract's, or a life has its signal.
        """
        name = text_in(args, "signal")
        if any(life.signal == name for life in self.state.lives.values()) or name not in self.state.signals:
            raise Undecided
        self.state.signals[name] = ()
        return {}

    def abort_signal(self, args: JsonMap, _: Clauses) -> Outcome:
        """Abort a signal, once.

        Args:
            args: The name and the reason.

        Returns:
            Nothing that is looked at.

        Raises:
            Undecided: It is aborted already, or there is none of that name.
        """
        name, reason = text_in(args, "signal"), args.get("reason")
        if self.state.signals.get(name) != ():
            raise Undecided
        self.state.signals[name] = (reason,)
        for life in self.state.lives.values():
            if life.signal != name or life.phase == "gone":
                continue
            if not life.handed:
                self.abort(life, reason)
                continue
            self.record.after = self.record.blame[life.identity] = ("LIFE-ABORT-06",)
            if life.phase == "live":
                self.record.cell(life.form, "live", "aborted")
        return {}

    # ------------------------------------------------------------------ scopes and registrations

    def listen(self, args: JsonMap, _: Clauses) -> Outcome:
        """Listen to what is told of a life.

        Args:
            args: The listener, whose name begins with the handle of the life.

        Returns:
            Nothing that is looked at, or the error of a scope that is gone.

        Raises:
            Undecided: It goes through a scope that is being unwound.
        """
        fn, scoped = args.get("fn"), "in" in args
        part, _script = script_of(fn)
        life = self.life({"agent": part.partition(".")[0]})
        if scoped and life.phase == "unwinding":
            raise Undecided  # from when on the scope refuses is the affair of contexts
        if scoped and life.phase == "gone":
            late = "setup" in life.open
            self.record.cell("scope", "setup outlived" if late else "gone", "registers")
            self.record.after = ("LIFE-ROLL-12",) if late else ("LIFE-DISP-17",)
            return {"error": by(self.record.after, {"code": "INACTIVE_EFFECT"})}
        assert isinstance(fn, Mapping)
        event, when = text_in(args, "event"), fn.get("when")
        narrowed: JsonMap = {}
        if isinstance(when, Mapping):
            narrowed = {name: value for name, value in when.items() if name not in {"agent", "session"}}
        life.hears = life.hears or (scoped and event.endswith("/disposed"))
        self.state.listeners.append(Listener(event, life.handle, fn, scoped, narrowed))
        return {}

    def effect(self, args: JsonMap, _: Clauses) -> Outcome:
        """Leave a cleanup in the scope of an agent, which has none.

        Args:
            args: The scope and the cleanup.

        Returns:
            Nothing that is looked at.

        Raises:
            Undecided: The agent has a cleanup already, or its scope may take none.
        """
        life, undo = self.life({"agent": owner_in(args)}), args.get("undo")
        if life.cleanup is not None or life.failure or life.phase not in {"composing", "announcing", "live"}:
            raise Undecided
        assert isinstance(undo, Mapping)
        life.cleanup = undo
        return {}

    def enter_stub(self, _: JsonMap, __: Clauses) -> Outcome:
        """Somebody registers what is shaped like an agent.

        Returns:
            Nothing that is looked at.

        Raises:
            Undecided: Its id is taken.
        """
        if "b" in self.state.registry:
            raise Undecided
        self.state.registry["b"] = STUB
        return {}

    def undo(self, args: JsonMap, _: Clauses) -> Outcome:
        """It is withdrawn.

        Args:
            args: Name the registration.

        Returns:
            Nothing that is looked at.

        Raises:
            Undecided: It is not registered.
        """
        if args.get("of") != "leave" or self.state.registry.get("b") != STUB:
            raise Undecided
        del self.state.registry["b"]
        self.record.after = self.record.blame["b"] = ("REG-DET-01",)
        return {}
