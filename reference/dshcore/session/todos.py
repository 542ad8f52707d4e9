"""The list of things to do, as an agent last wrote it."""

from collections.abc import Iterable

from dshcore.json import Json
from dshcore.session.vocabulary import SessionEvent, is_array, member


def fold_todos(events: Iterable[SessionEvent]) -> tuple[Json, ...]:
    """Answer the list in force: each `todo/write` is the whole list, so the last one counts.

    Args:
        events: A log.

    Returns:
        Its items; none where nothing was written.

    Spec:
        LOG-EVT-14
    """
    todos: tuple[Json, ...] = ()
    for event in events:
        if event["type"] == "todo/write" and is_array(written := member(event["data"], "todos")):
            todos = written
    return todos
