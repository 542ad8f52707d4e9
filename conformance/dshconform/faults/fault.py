"""What a fault is: the reference with one clause violated, for as long as it is planted."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One named fault of the reference.

    Args:
        id: Its name.
        clause: The clause that it violates. Only a check that cites it can prove that it sees the fault.
        about: What the reference then does, in a sentence.
        plant: Plants it; it is there while the context manager is entered. A world that is open must be opened anew.
    """

    id: str
    clause: str
    about: str
    plant: Callable[[], AbstractContextManager[None]]


@contextmanager
def replaced(owner: object, members: Mapping[str, object]) -> Iterator[None]:
    """Put other members into a module or class, and put the old ones back at the end.

    Args:
        owner: The module or class.
        members: What replaces what.

    Returns:
        A context that lasts as long as they are replaced.

    Raises:
        AttributeError: The owner has no such member: the reference has changed and the fault must follow it.
    """
    old = {name: getattr(owner, name) for name in members}
    for name, member in members.items():
        setattr(owner, name, member)
    try:
        yield
    finally:
        for name, member in old.items():
            setattr(owner, name, member)
