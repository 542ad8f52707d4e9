"""What each command of the prompt contract does, and when the clauses say so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.contracts.inbox_commands import items_of, read_command
from dshconform.contracts.inbox_rows import AGENT
from dshconform.contracts.model import CommandError
from dshconform.contracts.prompt_assembly import Listener
from dshconform.contracts.prompt_commands import (
    CHANGE,
    CLOSE_FAR,
    END_BESIDE,
    GUARDS,
    KINDS,
    OPEN_FAR,
    RELEASE,
    TURN,
    guard,
    hold,
    read_contribution,
    read_scope,
    read_shape,
    refuse,
)
from dshconform.contracts.prompt_world import Ended, LeftOpen, PromptWorld
from dshconform.protocol.json_value import JsonMap

LISTENERS: Final = 3
"""Listeners of assemblies, at most."""

_CONTRIBUTES: Final = frozenset(f"prompt.{kind}" for kind in KINDS)
_CALLS: Final = _CONTRIBUTES | {
    *("world.open", "undo", "prompt.assemble", "burst", "listen", "agent.dispose", "scope.close", "scope.open"),
    "agent.followup",
}
_ALWAYS_THE_SAME: Final[Mapping[str, JsonMap]] = {
    str(command["do"]): command for command in (END_BESIDE, CLOSE_FAR, OPEN_FAR, TURN)
}


@dataclass(slots=True)
class PromptCalls:
    """The commands of one world, on their way through the model."""

    world: PromptWorld
    opened: bool = False
    """Whether there is a world yet."""
    _tried: dict[int, tuple[JsonMap, PromptWorld | None]] = field(default_factory=dict)
    """What commands would make of the world as it is; the arguments are held, so that they keep their identity."""

    def legal(self, op: str, args: JsonMap) -> bool:
        """Whether the clauses say what a command does now.

        Args:
            op: The operation.
            args: Its arguments.

        Raises:
            CommandError: It is no command of this contract.
        """
        if op not in _CALLS:
            raise CommandError(f"{op!r} is no command of this contract; known: {', '.join(sorted(_CALLS))}")
        if self.opened == (op == "world.open"):
            return False
        return self._makes_sense(op, args) and self._try(op, args) is not None

    def visits(self, op: str, args: JsonMap) -> Sequence[tuple[str, ...]]:
        """What a legal command does to contributions, and when.

        Args:
            op: The operation.
            args: Its arguments.
        """
        tried = self._try(op, args)
        return () if tried is None else tried.visited

    def _try(self, op: str, args: JsonMap) -> PromptWorld | None:
        key = id(args)
        if key not in self._tried:
            self._tried[key] = args, self._played(op, args)
        return self._tried[key][1]

    def _played(self, op: str, args: JsonMap) -> PromptWorld | None:
        trial = PromptCalls(self.world.copy(), self.opened)
        trial.world.begin()
        try:
            trial.call(op, args)
        except LeftOpen:
            return None
        return trial.world

    # ------------------------------------------------------------------ what makes sense

    def _makes_sense(self, op: str, args: JsonMap) -> bool:
        world = self.world
        if op in _CONTRIBUTES:
            contribution = read_contribution(op, args)
            return not self._is_named(contribution.part, contribution.provided.part)
        match op:
            case "undo":
                return args.get("of") in world.disposers
            case "prompt.assemble":
                return args.get("agent") in {None, AGENT} or "beside" not in world.layers.closed
            case "listen":
                return self._may_listen(args)
            case _ if op in _ALWAYS_THE_SAME:
                return self._closes(op, args)
            case "burst":
                return (world.held is not None) == self._releases(args)
            case _:
                return True

    def _is_named(self, *parts: str | None) -> bool:
        """Whether something has one of these names already: then nothing would tell it from the new thing."""
        return any(part in self.world.disposers or part in self.world.times for part in parts if part is not None)

    def _may_listen(self, args: JsonMap) -> bool:
        world, part = self.world, str(args.get("as"))
        if args == refuse(part)["args"]:
            return world.refuser is None
        if part in GUARDS and args == guard(part)["args"]:
            beside = {"reject": {"drop"}, "drop": {"reject", "remove"}, "remove": {"drop"}}[part]
            return part not in world.guards and beside.isdisjoint(world.guards)
        if read_shape(args) is None:
            raise CommandError(f"a listener of the prompt contract is one of its own, not {dict(args)!r}")
        closed = read_scope(args.get("in")) in world.layers.closed
        return not closed and len(world.listeners) < LISTENERS and not self._is_named(part)

    def _closes(self, op: str, args: JsonMap) -> bool:
        """Whether a command that is written in one way only makes sense.

        Raises:
            CommandError: It is written in another way.
        """
        written = _ALWAYS_THE_SAME[op]
        if args != written["args"]:
            raise CommandError(f"the {op} of the prompt contract is {written['args']}, not {dict(args)!r}")
        closed = self.world.layers.closed
        match op:
            case "agent.dispose":
                return "beside" not in closed
            case "scope.close":
                return "far" not in closed
            case "scope.open":
                return "far" in closed
            case _:
                return True

    @staticmethod
    def _releases(args: JsonMap) -> bool:
        """Whether a burst lets the listener that waits go on; else it makes one wait.

        Raises:
            CommandError: It does neither.
        """
        if args == RELEASE["args"]:
            return True
        _, assembles = [*(read_command(item) for item in items_of(args)), ("", {}), ("", {})][:2]
        if args != hold(read_scope(assembles[1].get("scope")))["args"]:
            raise CommandError("a burst of the prompt contract assembles with a listener that waits, or lets it go on")
        return False

    # ------------------------------------------------------------------ what is done

    def call(self, op: str, args: JsonMap) -> Ended:
        """Do a command.

        Args:
            op: The operation.
            args: Its arguments.

        Returns:
            What it returns or throws, and the clauses that say so.

        Raises:
            LeftOpen: The clauses do not say what it does now.
        """
        world = self.world
        self._tried.clear()
        match op:
            case "world.open":
                config = args.get("config", {})
                options = config.get("prompt", {}) if isinstance(config, dict) else {}
                assert isinstance(options, dict)
                ended = world.open(options)
                self.opened = ended.error is None
                return ended
            case "undo":
                return world.undo(str(args["of"]))
            case "prompt.assemble":
                agent = None if args.get("agent") is None else str(args["agent"])
                return world.assemble(read_scope(args.get("scope")), agent=agent, aborted="signal" in args)
            case "agent.dispose":
                return world.close("beside")
            case "scope.close":
                return world.close("far")
            case "scope.open":
                return world.reopen("far")
            case "agent.followup":
                return world.turn()
            case "listen":
                return self._listen(args)
            case "burst" if self._releases(args):
                return world.release()
            case "burst":
                return world.hold(read_scope(read_command(items_of(args)[1])[1].get("scope")))
            case _:
                return world.contribute(read_contribution(op, args))

    def _listen(self, args: JsonMap) -> Ended:
        world, part = self.world, str(args["as"])
        shape = read_shape(args)
        if args.get("event") == CHANGE:
            world.refuser = part
        elif shape is None:
            world.guards.append(part)
        else:
            listener = Listener(part, read_scope(args.get("in")), shape)
            world.disposers[part] = listener
            world.listeners.insert(0 if args.get("prepend") is True else len(world.listeners), listener)
        return Ended(("PROMPT-ASM-01",))
