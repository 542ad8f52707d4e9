"""What the names in a value stand for: at the top level, in a script, in an answer to a gate."""

from collections.abc import Sequence
from typing import Final

from dshconform.adapters.reference.calls import Call
from dshconform.adapters.reference.failures import make_error
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.functions import SuiteFunction
from dshconform.adapters.reference.paths import MISSING
from dshconform.adapters.reference.places import Place
from dshconform.adapters.reference.scripts import read_script
from dshconform.adapters.reference.streams import SuiteStream
from dshconform.adapters.reference.values import decode
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import Json, JsonMap


class SuiteScope:
    """The scope of the values at one place.

    Args:
        world: The world of the names.
        place: The command or action that the values belong to.
    """

    __slots__ = ("_place", "_world")

    def __init__(self, world: World, place: Place) -> None:
        self._world: Final = world
        self._place: Final = place

    def function(self, form: JsonMap) -> SuiteFunction:
        """The function of that name; a new one where the form says more than the name, or the name is new."""
        name = str(form["$fn"])
        functions = self._world.names.functions
        if len(form) > 1 or name not in functions:
            functions[name] = SuiteFunction(self._world, name, form)
        return functions[name]

    def error(self, form: JsonMap) -> BaseException:
        """A new error, named if it is to be recognised.

        Args:
            form: As `{"$error": …}` has it.

        Raises:
            Fault: The form is malformed, or a notation in it names nothing.
        """
        error = make_error(form, lambda value: decode(value, self))
        name = form.get("as")
        if isinstance(name, str):
            self._world.names.errors[id(error)] = (error, name)
        return error

    def named(self, notation: str, name: str) -> object:
        """The signal, disposer, kept value or token of that name.

        Args:
            notation: Which of them.
            name: The suite's name for it.

        Raises:
            Fault: There is none.
        """
        names = self._world.names
        found: object = MISSING
        match notation:
            case "$signal":
                found = names.signals.get(name, MISSING)
            case "$disposer":
                found = names.disposers.get(name, MISSING)
            case "$kept":
                found = names.kept.get(name, MISSING)
            case "$token":
                found = names.tokens.get(name, MISSING)
        if found is MISSING:
            raise Fault(f"{notation} {name!r} names nothing")
        return found

    def field(self, path: str) -> object:
        """A field of the call.

        Args:
            path: Members and places, with dots between them.

        Raises:
            Fault: It leads nowhere, or there is no call.
        """
        value = self._call("$arg").field(path)
        if value is MISSING:
            raise Fault(f"$arg {path!r} leads nowhere")
        return value

    def next_answer(self, index: int) -> object:
        """What a `next()` of the call answered.

        Args:
            index: Which `next()`, counted from 0.

        Raises:
            Fault: It was not called so often, or there is no call.
        """
        nexts = self._call("$next").nexts
        if not 0 <= index < len(nexts):
            raise Fault(f"$next {index}: next() was called {len(nexts)} times")
        return nexts[index].answer

    def stream(self, script: Sequence[Json]) -> SuiteStream:
        """A stream of the call.

        Args:
            script: Its items.

        Raises:
            Fault: The script is malformed, or there is no call.
        """
        call = self._call("$stream")
        return SuiteStream(call, read_script(script, "$stream"), self._place)

    def _call(self, notation: str) -> Call:
        if self._place.call is None:
            raise Fault(f"{notation} makes sense in a call of a function only")
        return self._place.call


def scope_at(world: World, place: Place) -> SuiteScope:
    """The scope of the values at a place.

    Args:
        world: Where the names stand for something.
        place: Where the values stand.
    """
    return SuiteScope(world, place)
