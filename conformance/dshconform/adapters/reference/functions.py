"""The functions of the suite, whatever the contract takes a callback for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dshconform.adapters.reference.bodies import hand_over, yields
from dshconform.adapters.reference.calls import Call
from dshconform.adapters.reference.commands import Arguments
from dshconform.adapters.reference.endings import Kind
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.scripts import mapping, read_commands, read_script
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import JsonMap

_FORM_MEMBERS: Final = frozenset({"$fn", "do", "calls", "when", "abort", "onAbort", "watch"})


class SuiteFunction:
    """A function of the suite, as `{"$fn": name, …}` describes it.

    Args:
        world: Where it is called.
        name: Its name, the `part` of its rows.
        form: Its other members.

    Raises:
        Fault: The form is malformed.
    """

    __slots__ = ("_scripts", "auto", "callbacks", "calls", "name", "on_abort", "watch", "when", "world")

    def __init__(self, world: World, name: str, form: JsonMap) -> None:
        unknown = form.keys() - _FORM_MEMBERS
        if unknown:
            raise Fault(f"$fn {name!r} has no member {min(unknown)!r}")
        if "do" in form and "calls" in form:
            raise Fault(f"$fn {name!r} has both `do` and `calls`")
        self.world: Final = world
        self.name: Final = name
        per_call = form["calls"] if "calls" in form else [form.get("do")]
        if not isinstance(per_call, Sequence) or isinstance(per_call, str) or not per_call:
            raise Fault(f"$fn {name!r}: `calls` must be a list with a script for each call")
        self._scripts: Final = [read_script(script, f"$fn {name!r}") for script in per_call]
        self.when: Final = mapping(form.get("when", {}), f"$fn {name!r}: `when`")
        """The fields that a call must have to be counted."""
        abort = form.get("abort", "manual")
        if abort not in ("manual", "auto"):
            raise Fault(f"$fn {name!r}: `abort` must be 'manual' or 'auto', not {abort!r}")
        self.auto: Final = abort == "auto"
        """Whether a call fails by itself when its signal has fired."""
        self.on_abort: Final = read_commands(form.get("onAbort", ()), f"$fn {name!r}: `onAbort`")
        """What runs inside the firing of the signal."""
        self.watch: Final = form.get("watch") is True
        """Whether the signal is listened to behind the end of a call too."""
        self.calls = 0
        """How many calls were counted so far."""
        self.callbacks: Final[dict[object, Callable[..., object]]] = {}
        """What it is to the implementation, by what calls it."""

    def call(
        self,
        kind: Kind,
        fields: Mapping[str, object],
        *,
        agent: object = None,
        payload: object = None,
        proceed: Callable[..., object] | None = None,
    ) -> object:
        """Be called by the implementation.

        Args:
            kind: What the function stands for.
            fields: The fields of the kind, as the implementation gave them.
            agent: The agent that stands beside them.
            payload: The object that holds the fields, where there is one: `set` assigns to it.
            proceed: `next`, in a waterfall.

        Returns:
            What an ordinary function of this kind answers.

        Raises:
            Exception: What the script throws.
        """
        call = Call(self, kind, fields, agent=agent, payload=payload, proceed=proceed)
        if not self.count(call):
            return call.pass_by()
        return hand_over(call) if yields(call) else call.begin()

    def count(self, call: "Call") -> bool:
        """Count a call and give it its script, unless `when` says that the function does not answer for it.

        Args:
            call: The call.

        Returns:
            Whether the function answers for it.
        """
        if not all(call.shows(path, value) for path, value in self.when.items()):
            return False
        call.script = self._scripts[min(self.calls, len(self._scripts) - 1)]
        self.calls += 1
        call.n = self.calls
        return True


def function_of(args: Arguments, name: str) -> SuiteFunction:
    """The argument that is a function of the suite.

    Args:
        args: The arguments of a command.
        name: The argument.

    Raises:
        Fault: It is something else.
    """
    function = args.raw(name)
    if not isinstance(function, SuiteFunction):
        raise args.wrong(name, 'must be a function, {"$fn": name, …}')
    return function
