"""Which clauses of the scope contract answer for what ends, and in which place, and for who is called behind whom."""

from collections.abc import Mapping
from typing import Final

from dshconform.contracts.inbox_rows import Clauses
from dshconform.contracts.scope_state import Fiber, Item, Listener

GOES_ON: Final[Mapping[str, Clauses]] = {
    "emit": ("EVT-EMIT-01",),
    "serial": ("EVT-SER-01",),
    "parallel": ("EVT-PAR-02",),
    "waterfall": ("EVT-WF-01",),
}
"""By mode, who says that a listener is called behind one that has answered, failed or called it."""

CUT: Final[Mapping[str, Clauses]] = {
    "emit": ("EVT-EMIT-02",),
    "serial": ("EVT-SER-01", "EVT-SER-02"),
    "waterfall": ("EVT-WF-02",),
}
"""By mode, who says that a listener is not called because another one has ended the dispatch."""


def placed(item: Item) -> Clauses:
    """Who says in which place a composite undoes what it holds.

    Args:
        item: A part of the composite.
    """
    return ("LAYER-EFF-05",) if item.adopted == "entry" else ("SCOPE-DISP-05",)


def ends(fiber: Fiber) -> Clauses:
    """Who says that what an owner owns is undone.

    Args:
        fiber: The owner.
    """
    if fiber.ended_by == "its owner":
        above = fiber.parent
        assert above is not None
        scoped = above.kind == "scope" and fiber.kind == "plugin"
        if fiber.waited:
            return ("FIBER-DISP-10",)
        return ("SCOPE-DISP-01",) if scoped else ("SCOPE-MINT-03",) if fiber.kind == "scope" else ("FIBER-DISP-03",)
    if fiber.waited:
        return ("FIBER-DISP-10",)
    return ("SCOPE-DISP-01",) if fiber.kind == "scope" else ("FIBER-DISP-03",)


def undone_early(fiber: Fiber) -> Clauses:
    """Who says what becomes of effects whose undo was started before their owner ends.

    Args:
        fiber: Their owner.
    """
    began = [item for item in fiber.owned if item.began and item.fiber is None]
    joined = ("EFFECT-SINGLE-02",) if any(not item.done for item in began) else ()
    return (*joined, *(("EFFECT-RUN-02",) if any(item.done for item in began) else ()))


def silenced(listener: Listener) -> Clauses:
    """Who says that a listener is not heard when its owner has ended."""
    fiber = listener.via.fiber
    scoped = ("SCOPE-DISP-01",) if fiber.kind == "scope" else ("EVT-ON-03",)
    return (*scoped, *(("SCOPE-EVT-04", "EVT-FILT-02") if listener.everywhere else ()))
