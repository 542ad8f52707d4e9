"""Who owns what in a world of scopes, and what ends with whom: written from sheet 20, and what it needs of sheet 10.

A command acts at once; the undos that it has asked for start when nothing else is left to do (`settle`).
"""

from typing import Final

from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.inbox_rows import Clauses, by, return_row
from dshconform.contracts.scope_blame import ends, placed, silenced, undone_early
from dshconform.contracts.scope_commands import (
    KEYS,
    MINTER,
    SCOPES,
    act_in,
    adopted_in,
    doing_in,
    function_in,
    is_gated,
    load_of,
    where_in,
)
from dshconform.contracts.scope_state import (
    Context,
    Done,
    Fiber,
    Item,
    Keys,
    Layers,
    Listener,
    Place,
    Task,
)
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import UNCHECKED
from dshconform.trace.rows import ExpectedRow

_BOUND: Final[JsonMap] = {
    "message": "dsh-scope: scope key is already bound to a parent; re-linking requires the binding returned by the "
    "original bind"
}
_CYCLE: Final[JsonMap] = {"message": "dsh-scope: scope parent link would form a cycle"}
_INACTIVE: Final[JsonMap] = {"code": "INACTIVE_EFFECT"}


class ScopeOwners:
    """The owners of a world, with what they own; it begins with the minter and the scopes that it has minted."""

    def __init__(self) -> None:
        root = Fiber("root", "root")
        minter = Fiber(MINTER, "plugin", root)
        self.contexts: dict[str, Context] = {"root": Context("root", root), MINTER: Context(MINTER, minter)}
        """The contexts, by the suite's names."""
        self.items: dict[str, Item] = {}
        """What is registered, by the suite's names."""
        self.keys = Keys()
        """The parents of the keys."""
        self.layers = Layers()
        """The entries of the table."""
        self.listeners: list[Listener] = []
        """Those that are heard, in order."""
        self.known: dict[str, Listener] = {}
        """Every listener there was, by the suite's names."""
        self.fibers: list[Fiber] = [root, minter]
        """Every owner there was, in the order in which they were mounted."""
        self.tasks: list[Task] = []
        """What is to settle."""
        self.waiting: dict[str, Item | Fiber] = {}
        """By function, whose undo or body waits for the suite."""
        self.used: set[str] = {"root", MINTER}
        """The names that are taken."""
        self.ended_keys: set[str] = set()
        """The keys of which a scope has ended."""
        self.rows: list[ExpectedRow] = []
        """What the command must show."""
        self.late: list[ExpectedRow] = []
        """What follows when the command has returned."""
        self.changed: Clauses = ()
        """Who says what the command has changed in the views and links."""
        self.kept: Clauses = ()
        """Who says what it has not."""
        self.outside: Clauses = ()
        """Who says that it has changed nothing for whoever is in no scope, where that is said by others."""
        self.unsaid: frozenset[str] = frozenset()
        """The rows of which no clause says whether they come."""
        self._depth = 0
        root.owned.append(Item(MINTER, self.contexts["root"], fiber=minter))
        for name, key in SCOPES.items():
            self._own_fiber(Fiber(name, "scope", minter, key), self.contexts[MINTER])

    # ------------------------------------------------------------------ looking

    def fiber(self, where: str) -> Fiber:
        """The owner behind a context.

        Args:
            where: The name of the context.
        """
        return self.contexts[where].fiber

    def view(self, key: str | None) -> list[Json]:
        """What a key sees."""
        return self.layers.view(self.keys, key)

    # ------------------------------------------------------------------ performing

    def begin(self) -> None:
        """A command comes."""
        self.rows, self.late = [], []
        self.changed = self.kept = self.outside = ()
        self.unsaid = frozenset()

    def says(self, changed: Clauses = (), kept: Clauses = ()) -> None:
        """Remember who says what views and links are like behind the command.

        Args:
            changed: Answer for what has changed.
            kept: Answer for what has stayed.
        """
        self.changed = tuple(dict.fromkeys((*self.changed, *changed)))
        self.kept = tuple(dict.fromkeys((*self.kept, *kept)))

    def _return(self, op: str, done: Done, place: Place) -> None:
        self.rows.append(return_row(op, (*done.clauses, *done.deaf), place.at, done.outcome, place.part))

    # ------------------------------------------------------------------ registering

    def _refusal(self, where: str, clauses: Clauses) -> Done | None:
        """Why nothing can be registered through a context, if so."""
        fiber = self.fiber(where)
        if not fiber.refuses:
            return None
        if fiber.kind == "scope":
            ended = ("SCOPE-DISP-03",) if fiber.ended_by == "itself" else ("SCOPE-MINT-03",)
        else:
            ended = ("FIBER-DISP-06",) if fiber.state == "leaving" else ("CTX-DEAD-01",)
        self.says(kept=ended)
        return Done((*clauses, *ended), error=_INACTIVE)

    def _accepted(self, where: str) -> Clauses:
        """Who says that something can be registered through a context."""
        return ("SCOPE-MINT-01",) if self.fiber(where).kind == "scope" else ("TRACE-OWNER-01",)

    def _own(self, item: Item) -> None:
        item.via.fiber.owned.append(item)
        self.items[item.name] = item
        self.used.add(item.name)

    def _own_fiber(self, fiber: Fiber, via: Context) -> Item:
        item = Item(fiber.name, via, fiber=fiber)
        self._own(item)
        self.fibers.append(fiber)
        self.contexts[fiber.name] = Context(fiber.name, fiber)
        return item

    def _mint(self, args: JsonMap) -> Done:
        where, name, key = where_in(args), str(args["scope"]), str(args["key"])
        self.says(kept=("SCOPE-TAG-02",))
        if "parent" in args:
            parent = str(args["parent"])
            if key in self.keys.parents:
                self.says(kept=("BIND-MINT-02",))
                return Done(("BIND-MINT-02",), error=_BOUND)
            if self.keys.closes_cycle(key, parent):
                self.says(kept=("BIND-MINT-02", "BIND-CYCLE-01"))
                return Done(("BIND-MINT-02", "BIND-CYCLE-01"), error=_CYCLE)
            self.keys.parents[key] = parent
            self.says(changed=("BIND-MINT-01",))
        refused = self._refusal(where, ("SCOPE-MINT-02",))
        if refused is not None:
            return refused
        self._own_fiber(Fiber(name, "scope", self.fiber(where), key), self.contexts[where])
        return Done(self._accepted(where))

    def _mount(self, args: JsonMap) -> Done:
        where, name = where_in(args), str(args["owner"])
        refused = self._refusal(where, ("FIBER-MOUNT-03",))
        if refused is not None:
            return refused
        load, context = load_of(args), self.contexts[where]
        fiber = Fiber(name, "plugin", context.fiber, context.tag, begun=False)
        fiber.state = "waiting" if load == "waiting" else "loading"
        fiber.gated = load == "gated"
        self._own_fiber(fiber, context)
        return Done(self._accepted(where))

    def _derive(self, args: JsonMap) -> Done:
        name = str(args["context"])
        self.contexts[name] = Context(name, self.fiber(where_in(args)), derived=True)
        self.used.add(name)
        return Done()

    def _effect(self, args: JsonMap) -> Done:
        where, name = where_in(args), str(args["as"])
        refused = self._refusal(where, ())
        if refused is not None:
            return refused
        context, adopted = self.contexts[where], adopted_in(args)
        if adopted is None:
            self._own(Item(name, context, gated=is_gated(args)))
            return Done((*self._accepted(where), *(("CTX-TREE-01",) if context.derived else ())))
        item = Item(name, context, adopted=adopted)
        self._own(item)
        self.used |= {f"{name}.{part}" for part in ("first", "last", "w", "s", "e")}
        if adopted == "entry":
            inner = Item(f"{name}.e", context, entry=f"{name}.e")
            self.layers.add(inner)
            self.items[inner.name] = item.inner = inner
            self._return("service.add", Done(("SCOPE-DEPS-01",)), Place("1", f"body {name}"))
            self.says(changed=("LAYER-EFF-05",))
            return Done()
        fiber = Fiber(f"{name}.s", "scope", context.fiber, "e")
        self._return("scope.open", Done(), Place("1", f"body {name}"))
        scope = self._own_fiber(fiber, context)
        if adopted == "scope":
            context.fiber.owned.remove(scope)
            item.inner = scope
        self._return("effect", Done(("SCOPE-MINT-01",)), Place("2", f"body {name}"))
        self._own(Item(f"{name}.e", self.contexts[fiber.name], gated=True))
        return Done()

    def _add(self, args: JsonMap) -> Done:
        where, part, name = where_in(args), str(args["as"]), str(args["name"])
        context = self.contexts[where]
        found = ("SCOPE-DEPS-01",) if context.fiber.kind == "scope" else ()
        refused = self._refusal(where, found)
        if refused is not None:
            return refused
        item = Item(part, context, entry=name)
        self._own(item)
        self.layers.add(item)
        changed: list[str] = []
        if context.tag is not None and (context.derived or context.fiber.kind == "plugin"):
            changed += ["SCOPE-TAG-01", "SCOPE-TAG-03"]
        if args["key"] != "table":
            changed.append("TRACE-OWNER-02")
        self.says((*changed, "SCOPE-MINT-04"), ("SCOPE-MINT-04", "SCOPE-TAG-02"))
        self.outside = ("TRACE-OWNER-02",)
        return Done((*found, *self._accepted(where)), result=None)

    def _listen(self, args: JsonMap) -> Done:
        where, name = where_in(args), str(args["as"])
        refused = self._refusal(where, ())
        if refused is not None:
            return refused
        part, shared = function_in(args)
        listener = Listener(
            name,
            self.contexts[where],
            part,
            self.known[part].doing if shared else doing_in(args),
            act_in(args),
            once=args.get("once") is True,
            everywhere=args.get("global") is True,
            fresh=self._depth > 0,
        )
        if listener.act is not None:
            self.used |= made_by(listener.act)
        self.known[name] = listener
        self.listeners.insert(0 if args.get("prepend") is True else len(self.listeners), listener)
        self._own(Item(name, self.contexts[where], listener=listener))
        return Done(self._accepted(where))

    # ------------------------------------------------------------------ links

    def _link(self, op: str, args: JsonMap) -> Done:
        keys, parent = self.keys, str(args["parent"])
        if op == "scope.rebind":
            key = keys.bindings[str(args["of"])]
            if keys.closes_cycle(key, parent):
                self.says(kept=("BIND-REBIND-02",))
                return Done(("BIND-REBIND-02",), error=_CYCLE)
            keys.parents[key] = parent
            keys.moved.add(key)
            self.says(("BIND-REBIND-01",), ("BIND-REBIND-03",))
            return Done(("BIND-REBIND-01",))
        key = str(args["key"])
        if key in keys.parents:
            self.says(kept=("BIND-ONCE-01", "BIND-MINT-01"))
            return Done(("BIND-ONCE-01", "BIND-MINT-01"), error=_BOUND)
        if keys.closes_cycle(key, parent):
            self.says(kept=("BIND-CYCLE-01",))
            return Done(("BIND-CYCLE-01",), error=_CYCLE)
        keys.parents[key] = parent
        keys.bindings[str(args["as"])] = key
        self.used.add(str(args["as"]))
        self.says(changed=("BIND-ONCE-01",))
        return Done(("BIND-ONCE-01",))

    # ------------------------------------------------------------------ ending

    def _begin_end(self, fiber: Fiber, why: str) -> bool:
        """An end is asked for; false if it was before."""
        if fiber.refuses:
            return False
        running = fiber.state == "loading" and fiber.begun
        fiber.waited = fiber.state == "waiting"
        fiber.state = "leaving" if running else "ending"
        fiber.begun = True
        fiber.ended_by = "itself" if why == "itself" else "its owner"
        if fiber.kind == "scope" and fiber.tag is not None:
            self.ended_keys.add(fiber.tag)
        return True

    def _close(self, args: JsonMap) -> Done:
        self._join(self.fiber(str(args["scope"])), str(args["task"]))
        self.says(("SCOPE-DISP-01",), ("SCOPE-MINT-05", "SCOPE-DISP-06"))
        return Done(("SCOPE-DISP-02",))

    def _join(self, fiber: Fiber, task: str) -> None:
        """The shared disposal of a scope is called, which starts it or joins it."""
        fiber.shared = self._begin_end(fiber, "itself") or fiber.shared
        joins = "SCOPE-DISP-02" if fiber.shared else "SCOPE-DISP-04"
        self.tasks.append(Task(task, (*undone_early(fiber), joins, "SCOPE-DISP-01"), fiber))

    def _end(self, args: JsonMap) -> Done:
        fiber = self.fiber(str(args["owner"]))
        self.says(("TRACE-OWNER-01", "SCOPE-MINT-03") if fiber.tag is None else ("SCOPE-TAG-03",))
        if not self._begin_end(fiber, "itself"):
            return Done(("FIBER-DISP-05",), "nothing")
        self.tasks.append(Task(str(args["task"]), (*undone_early(fiber), "FIBER-DISP-02"), fiber))
        return Done(("FIBER-DISP-02",), "awaitable")

    def _undo(self, args: JsonMap) -> Done:
        item, task = self.items[str(args["of"])], str(args["task"])
        fiber = item.fiber
        if fiber is not None:
            self.says(("SCOPE-DISP-01",), ("SCOPE-MINT-05", "SCOPE-DISP-06"))
            if not self._begin_end(fiber, "itself"):
                return Done(("SCOPE-DISP-04",), "nothing")
            fiber.raw = True
            self.tasks.append(Task(task, ("SCOPE-DISP-04",), fiber))
            return Done(("SCOPE-DISP-04",), "awaitable")
        if item.entry is not None:
            self.says(("LAYER-EFF-05",))
        if item.began:
            again = ("EVT-ON-02",) if item.listener is not None else ("EFFECT-SINGLE-01",)
            return Done((*again, *(("LAYER-EFF-05",) if item.entry is not None else ())), "nothing")
        self._start(item, ("EFFECT-SINGLE-01",))
        if item.listener is not None:
            item.listener.gone = ("EVT-SNAP-01",) if self._depth else ("EVT-ON-02",)
        if item.done:
            return Done(("EFFECT-SINGLE-01",), "nothing")
        self.tasks.append(Task(task, ("EFFECT-SINGLE-01",), item=item))
        return Done(("EFFECT-SINGLE-01",), "awaitable")

    def _release(self, part: str) -> Done:
        waiting = self.waiting.pop(part)
        if isinstance(waiting, Item):
            waiting.done = True
        elif waiting.state == "leaving":
            waiting.state = "ending"
            self.says(("FIBER-DISP-06",))
        else:
            waiting.state = "active"
        return Done()

    def _start(self, item: Item, clauses: Clauses) -> None:
        """The undo of something is started."""
        if item.began:
            return
        item.began = True
        if item.fiber is not None:
            self._begin_end(item.fiber, "its owner")
        elif item.listener is not None:
            if item.listener in self.listeners:
                self.listeners.remove(item.listener)
                item.listener.gone = silenced(item.listener)
            item.done = True
        elif item.entry is not None:
            self.layers.remove(item)
            item.done = True
        elif item.adopted is not None:
            self._unwind(item)
        else:
            self._tell_undo(item.name, clauses, item.via, gated=item.gated)
            if item.gated:
                self.waiting[item.name] = item
            item.done = not item.gated

    def _tell_undo(self, part: str, clauses: Clauses, via: Context, *, gated: bool = False) -> None:
        own = (*(("CTX-TREE-01",) if via.derived else ()), *clauses)
        row: JsonMap = {"on": "gate" if gated else "script", "kind": "undo", "part": by(("FIBER-DISP-03",), part)}
        self.rows.append(ExpectedRow(row, own))

    def _unwind(self, item: Item) -> None:
        """A composite is undone: its last part, and what it has adopted, which may take time."""
        clauses = placed(item)
        self._tell_part(item, "last", clauses)
        if item.adopted == "entry":
            assert item.inner is not None
            self._start(item.inner, clauses)
        elif item.adopted == "wrapper":
            self._tell_part(item, "w", clauses)
            self._join(self.fiber(f"{item.name}.s"), f"{item.name}.t")
            self._return("scope.close", Done(), Place("0", f"{item.name}.w"))
        else:
            assert item.inner is not None
            self._start(item.inner, clauses)
            if not _is_done(item.inner):
                return
        self._finish(item)

    def _finish(self, item: Item) -> None:
        self._tell_part(item, "first", placed(item))
        item.done = True

    def _tell_part(self, item: Item, which: str, clauses: Clauses) -> None:
        part = f"{item.name}.{which}"
        row: JsonMap = {"on": "script", "kind": "undo", "part": by(clauses, part)}
        self.rows.append(ExpectedRow(row, clauses))
        if item.adopted == "entry":
            alone = all(fiber.state != "ending" or fiber is item.via.fiber for fiber in self.fibers)
            looked = Done(("LAYER-EFF-05",), self.view("e") if alone else UNCHECKED)
            self._return("service.view", looked, Place("0", part))

    # ------------------------------------------------------------------ coming to rest

    def settle(self) -> None:
        """What was asked for happens, until nothing more can."""
        before = self.rows
        self.rows = self.late
        while self._load() or self._go_on():
            pass
        for task in [task for task in self.tasks if task.settled]:
            self.tasks.remove(task)
            self.rows.append(ExpectedRow({"on": "task", "task": task.name, "value": None}, task.clauses))
        for listener in self.known.values():
            listener.fresh = False
            if listener.gone == ("EVT-SNAP-01",):
                listener.gone = ("EVT-ON-02",)
        self.rows = before

    def _load(self) -> bool:
        """A plugin that was mounted begins."""
        for fiber in self.fibers:
            if fiber.begun or fiber.state != "loading":
                continue
            fiber.begun = True
            if fiber.gated:
                part = f"body {fiber.name}"
                self.waiting[part] = fiber
                self.rows.append(ExpectedRow({"on": "gate", "kind": "body", "part": part}))
            else:
                fiber.state = "active"
            return True
        return False

    def _go_on(self) -> bool:
        """Something that ends makes a step, if it can."""
        for fiber in self.fibers:
            if fiber.state != "ending":
                continue
            if not fiber.unwinding:
                fiber.unwinding = True
                for item in reversed(fiber.owned):
                    self._start(item, ends(fiber))
                return True
            if all(_is_done(item) for item in fiber.owned):
                fiber.state = "gone"
                return True
        for item in self.items.values():
            inner = item.inner
            if item.adopted == "scope" and item.began and not item.done and inner is not None and _is_done(inner):
                self._finish(item)
                return True
        return False

    # ------------------------------------------------------------------ what stands in which order

    def owners(self) -> dict[str, str]:
        """For each undo, the owner of what it undoes."""
        found: dict[str, str] = {}
        for item in self.items.values():
            whole = (
                [item.name] if item.adopted is None else [f"{item.name}.{which}" for which in ("first", "last", "w")]
            )
            found |= dict.fromkeys(whole, item.via.fiber.name)
        return found

    def places(self) -> dict[str, str]:
        """For each undo that a composite has a place for, the composite."""
        adopting = [item for item in self.items.values() if item.adopted == "scope"]
        return {f"{item.name}.{part}": item.name for item in adopting for part in ("first", "last", "e")}

    def behind(self) -> dict[str, frozenset[str]]:
        """For each task of an owner, the owners whose undos it comes after."""
        found: dict[str, frozenset[str]] = {}
        for task in self.tasks:
            if task.fiber is not None:
                below = (fiber.name for fiber in self.fibers if task.fiber in fiber.line)
                found[task.name] = frozenset(below)
        return found


def made_by(command: JsonMap) -> set[str]:
    """The names that a command gives to what it makes."""
    op, args = read_command(command)
    member = {"scope.open": "scope", "owner.open": "owner", "ctx.derive": "context"}.get(op, "as")
    return {str(args[member])} if op not in {"scope.rebind", "undo"} and member in args else set()


def _is_done(item: Item) -> bool:
    return item.fiber.state == "gone" if item.fiber is not None else item.done


VIEWED: Final[tuple[str | None, ...]] = (None, *KEYS)
"""The keys whose views are looked at."""
