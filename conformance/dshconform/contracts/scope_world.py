"""What commands do to a world of scopes, and whom an event reaches, as sheet 20 says, and what it needs of sheet 10.

Who owns what, and what ends with whom, is in `scope_owners`.
"""

from collections.abc import Mapping
from typing import Final

from dshconform.contracts.inbox_commands import items_of, read_command
from dshconform.contracts.inbox_rows import Clauses, by
from dshconform.contracts.scope_blame import CUT, GOES_ON, placed
from dshconform.contracts.scope_commands import (
    EVENT,
    HEARS,
    REJECTS,
    THROWS,
    part_in,
    where_in,
)
from dshconform.contracts.scope_owners import ScopeOwners
from dshconform.contracts.scope_state import (
    HEARING,
    Done,
    Listener,
    Place,
    Receiver,
    receiver,
    relation,
)
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

_ANSWERED: Final[Mapping[str, Json]] = {"answers": "answer", "answers zero": 0, "answers false": False}


class ScopeWorld(ScopeOwners):
    """The abstract world."""

    def perform(self, op: str, args: JsonMap) -> Done:
        """Do what a command does before it returns.

        Args:
            op: The operation.
            args: Its arguments.

        Returns:
            What it returns or throws, and the clauses that say so.
        """
        match op:
            case "burst":
                for at, (inner, given) in enumerate(map(read_command, items_of(args))):
                    self._return(inner, self.perform(inner, given), Place(str(at)))
                return Done()
            case "scope.open":
                return self._mint(args)
            case "owner.open":
                return self._mount(args)
            case "ctx.derive":
                return self._derive(args)
            case "effect":
                return self._effect(args)
            case "service.add":
                return self._add(args)
            case "listen":
                return self._listen(args)
            case "scope.close":
                return self._close(args)
            case "owner.close":
                return self._end(args)
            case "undo":
                return self._undo(args)
            case "gate.resolve":
                return self._release(part_in(args))
            case "scope.bind" | "scope.rebind":
                return self._link(op, args)
            case "scope.of":
                return Done(("SCOPE-TAG-01",), self.contexts[where_in(args)].tag)
            case "service.view":
                return Done(("LAYER-EFF-05",), self.view(str(args["scope"])))
            case _:
                return self._dispatch(args)

    # ------------------------------------------------------------------ dispatching

    def audience(self, to: Receiver) -> list[Listener]:
        """Who hears an event, in order.

        Args:
            to: Its receiver.
        """
        return [one for one in self.listeners if relation(self.keys, one, to) in HEARING]

    def _dispatch(self, args: JsonMap) -> Done:
        to = receiver(str(args["to"]) if "to" in args else None)
        mode, payload = str(args["mode"]), args["args"]
        heard = self.audience(to)
        deaf = self._deaf(heard, to, str(mode))
        for listener in self.listeners:
            if to.admits == listener.via.name and not listener.everywhere:
                if relation(self.keys, listener, to) not in HEARING:
                    self.unsaid = frozenset({"script filter"})
                    continue
                asked: JsonMap = {"context": listener.via.name, "receiver": to.base}
                row: JsonMap = {"on": "script", "kind": "filter", "payload": asked}
                self.rows.append(ExpectedRow(row, ("SCOPE-EVT-05" if to.carries else "EVT-FILT-01", "EVT-SNAP-02")))
        clauses: Clauses = ("CTX-DEAD-01",) if self.fiber(where_in(args)).state == "gone" else ()
        ending = self._heard(mode, heard, to, payload, clauses)
        match mode:
            case "emit":
                error = ending.get("error")
                told: Clauses = ("EVT-EMIT-01",) if error is None else ("EVT-EMIT-02",)
                return Done((*told, *clauses), None, error if isinstance(error, Mapping) else None, deaf)
            case "waterfall":
                return self._ended_waterfall(ending, deaf)
            case "serial":
                told = ("EVT-SER-02",) if "error" in ending else ("EVT-SER-01",)
            case _:
                told = ("EVT-PAR-02",)
        task: JsonMap = {"on": "task", "task": args["task"], **(ending or {"value": None})}
        self.late.append(ExpectedRow(task, told))
        return Done(told, deaf=deaf)

    @staticmethod
    def _ended_waterfall(ending: JsonMap, deaf: Clauses) -> Done:
        error = ending.get("error")
        if isinstance(error, Mapping):
            return Done(("EVT-WF-05",), error=error, deaf=deaf)
        told = ("EVT-WF-02",) if "value" in ending else ("EVT-WF-01",)
        return Done(told, ending.get("value", "default"), deaf=deaf)

    def _deaf(self, heard: list[Listener], to: Receiver, mode: str) -> Clauses:
        """Who says that the others do not hear an event."""
        others = (listener for listener in self.known.values() if listener not in heard)
        return tuple(dict.fromkeys(clause for one in others for clause in self.why_not(one, to, mode)))

    def _heard(self, mode: str, heard: list[Listener], to: Receiver, payload: Json, clauses: Clauses) -> JsonMap:
        """The listeners are called; how the dispatch ends, if not with nothing."""
        failures: list[Json] = []
        self._depth += 1
        ending: JsonMap | None = None
        behind: Clauses = ()
        for listener in heard:
            said = (*behind, *self._why(listener, to), *clauses)
            nested: Json = by(("EVT-NEST-01",), payload)
            twins = [other for other in self.known.values() if other.part == listener.part]
            ordered: Clauses = ("EVT-ON-01",) if len(twins) == 1 else ("EVT-ON-02",)
            row: JsonMap = {"on": "script", "kind": EVENT, "part": by(ordered, listener.part)}
            self.rows.append(ExpectedRow({**row, "payload": {"args": nested}}, said))
            if listener.once and listener in self.listeners:
                self.listeners.remove(listener)
                listener.gone = ("EVT-ONCE-01",)
            act = listener.act if listener.calls == 0 else None
            listener.calls += 1
            if act is not None:
                op, args = read_command(act)
                place = Place("0", listener.part)
                self._return(op, self.perform(op, args), place)
            ending = self._answered(mode, listener, failures)
            if ending is not None:
                break
            if mode == "waterfall" or listener.doing != HEARS:
                behind = GOES_ON[mode]
        self._depth -= 1
        if mode == "waterfall" and ending is None:
            self.rows.append(ExpectedRow({"on": "script", "kind": "default", "part": "default"}, ("EVT-WF-01",)))
        return ending or ({"error": {"members": failures}} if failures else {})

    @staticmethod
    def _answered(mode: str, listener: Listener, failures: list[Json]) -> JsonMap | None:
        """How a dispatch ends with a listener, if it does."""
        if listener.doing == REJECTS and mode == "emit":
            return None  # nobody waits for it
        if listener.doing in {THROWS, REJECTS}:
            failures.append({"is": listener.part})
            return None if mode == "parallel" else {"error": {"is": listener.part}}
        value = _ANSWERED.get(listener.doing)
        if mode == "serial":
            return None if value is None or value is False else {"value": value}
        return {"value": value} if mode == "waterfall" and listener.doing in _ANSWERED else None

    def _why(self, listener: Listener, to: Receiver) -> Clauses:
        """Who says that a listener hears an event."""
        found: list[str] = []
        stands, tag, fiber = relation(self.keys, listener, to), listener.via.tag, listener.via.fiber
        if listener.gone is not None:
            found.append("EVT-SNAP-01")
        match stands:
            case "global":
                found.append("EVT-FILT-02" if tag is None else "SCOPE-EVT-04")
            case "everybody" | "untagged everybody":
                found += ["SCOPE-EVT-07"] if stands == "everybody" else ["EVT-FILT-01"]
            case "untagged":
                found.append("SCOPE-EVT-03" if to.key is None else "SCOPE-EVT-01")
            case _:
                found.append("SCOPE-EVT-01")
                found += self._along(tag, to)
                found += ["SCOPE-TAG-01"] if fiber.kind == "plugin" or listener.via.derived else []
                found += ["SCOPE-MINT-05"] if tag in self.ended_keys else []
        if fiber.state in {"waiting", "loading", "leaving"}:
            found.insert(0, "EVT-ON-03")
        return tuple(found)

    def _along(self, tag: str | None, to: Receiver) -> list[str]:
        """Who says what has become of a chain."""
        chain = self.keys.chain(to.key)
        found = ["SCOPE-EVT-06", "BIND-REBIND-01"] if self.keys.moved & set(chain) else []
        return found + (["SCOPE-DISP-06"] if tag != to.key and self.ended_keys & set(chain) else [])

    def why_not(self, listener: Listener, to: Receiver, mode: str) -> Clauses:
        """Who says that a listener does not hear an event.

        Args:
            listener: The listener.
            to: The event's receiver.
            mode: How the event is dispatched.
        """
        if listener.gone is not None:
            return listener.gone
        if listener.fresh:
            return ("EVT-SNAP-01",)
        match relation(self.keys, listener, to):
            case "refused":
                return ("SCOPE-EVT-05", "EVT-FILT-01") if to.carries else ("EVT-FILT-01",)
            case "no key":
                return ("SCOPE-EVT-03",)
            case "below" | "beside":
                moved = ("SCOPE-EVT-06", "BIND-REBIND-01") if self.keys.moved else ()
                return (*moved, "SCOPE-EVT-02", "SCOPE-TAG-02")
            case _:
                return CUT.get(mode, ())

    def surplus(self, args: JsonMap) -> dict[str, Clauses]:
        """By function, who says that it is not called: listeners by a dispatch, and undos whose turn has not come.

        Args:
            args: The arguments of the command.

        Returns:
            By the name of the function, or of the task.
        """
        to = receiver(str(args["to"]) if "to" in args else None)
        mode = str(args.get("mode"))
        found: dict[str, Clauses] = {}
        for listener in self.known.values():
            found[listener.part] = (*found.get(listener.part, ()), *self.why_not(listener, to, mode))
        for item in self.items.values():
            if item.adopted is not None and not item.done:
                found |= {f"{item.name}.{which}": placed(item) for which in ("first", "last", "w")}
            elif item.listener is None:
                found[item.name] = ("EFFECT-RUN-02",) if item.began else ("SCOPE-MINT-05", "SCOPE-DISP-05")
        return found | {task.name: task.clauses for task in self.tasks}
