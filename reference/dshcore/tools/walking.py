"""Recursion without the call stack: a walk is a generator that yields the walks it needs and is sent their results.

Schemas and values nest as deep as memory allows (SCHEMA-NODE-13); written as walks, the functions over them still read
like recursion.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


def walk(outermost: Generator[Any, Any, T]) -> T:
    """Run a walk, and all that it yields; answer what it returns.

    Args:
        outermost: Yields further walks, is sent what each returned, and returns a value of its own.

    Returns:
        What the walk comes to.

    Raises:
        Exception: What one of them raised.
    """
    open_walks: list[Generator[Any, Any, Any]] = [outermost]
    returned: Any = None
    while open_walks:
        try:
            inner = open_walks[-1].send(returned)
        except StopIteration as stop:
            open_walks.pop()
            returned = stop.value
        else:
            open_walks.append(inner)
            returned = None
    result: T = returned
    return result


class Circular(Exception):
    """A value contains itself."""


@contextmanager
def inside(container: object, around: set[int]) -> Generator[None, None, None]:
    """Stand inside a container while its parts are walked.

    Args:
        container: The container.
        around: The identities of those that it stands in; the container's own is among them meanwhile.

    Returns:
        What the inner walk comes to.

    Raises:
        Circular: It is one of them.
    """
    if id(container) in around:
        raise Circular
    around.add(id(container))
    try:
        yield
    finally:
        around.discard(id(container))
