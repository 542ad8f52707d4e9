"""Faults as changed lines: a function of the reference, compiled again with one piece of its text replaced.

What the specification calls a *violation* is most often one line left out, moved or changed. Written so, a fault shows
exactly that line, and when the line is gone from the reference, planting the fault fails and says so.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import CodeType, FunctionType
from typing import TypeAlias

from dshconform.faults.fault import replaced

Plant: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Plants something, for as long as the context manager is entered."""


class LineGone(LookupError):
    """The text that a fault changes does not stand once in its function: the reference has changed, follow it."""


def edit(owner: object, name: str, *changes: tuple[str, str]) -> Plant:
    """Change the text of one function.

    The function itself stays, whoever has imported it, and gets another body: so it does not matter by which name it
    is called.

    Args:
        owner: The class or module that has it.
        name: Its name there. Of a property the getter is changed.
        changes: What is replaced by what; the first must stand in the text once. Lines are indented as in a function
            at the left margin.

    Returns:
        What plants it. Planting raises `LineGone` where a text is not there, or more than once.
    """

    def plant() -> AbstractContextManager[None]:
        function = _function(inspect.getattr_static(owner, name))
        return replaced(function, {"__code__": _changed(function, changes)})

    return plant


def together(*plants: Plant) -> Plant:
    """One fault that needs several changes.

    Args:
        *plants: Planted in this order, and taken out in the opposite one.
    """

    @contextmanager
    def plant() -> Iterator[None]:
        with ExitStack() as stack:
            for one in plants:
                stack.enter_context(one())
            yield

    return plant


def _function(member: object) -> FunctionType:
    """The function itself, without what was wrapped around it."""
    found: object = member.fget if isinstance(member, property) else member
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    assert isinstance(found, FunctionType), f"{member!r} is no function"
    return found


def _changed(function: FunctionType, changes: Sequence[tuple[str, str]]) -> CodeType:
    """Compile a function's text with these changes; it goes on living in its module."""
    text = textwrap.dedent(inspect.getsource(function))
    for old, new in changes:
        if text.count(old) != 1:
            raise LineGone(f"{function.__qualname__} has {old!r} {text.count(old)} times: the fault must follow it")
        text = text.replace(old, new)
    text = _enclosed(text, function)
    made: dict[str, object] = {}
    code = compile(text, f"<{function.__qualname__} with a fault>", "exec")
    exec(code, function.__globals__, made)  # noqa: S102 - the reference's own text, changed by the suite
    return _function(made[function.__name__]).__code__


def _enclosed(text: str, function: FunctionType) -> str:
    """Have what a function closes over around its text: `super()` is the class that it stands in."""
    names = function.__code__.co_freevars
    if not names:
        return text
    name = function.__name__
    around = f"def enclosing():\n    {' = '.join(names)} = None\n{textwrap.indent(text, '    ')}    return {name}\n"
    return f"{around}{name} = enclosing()\n"
