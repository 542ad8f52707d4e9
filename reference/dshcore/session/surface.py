"""The surface: which events make up the conversation, and in which order.

The surface is a fold over the log. An event of a surface type either joins it at the end, or replaces a range of it
and stands where that range began. The events that it replaces stay in the log: what a human is shown is made of the
events that joined (`surfaceOp` is `"append"`), what the model is shown of those that stand on the surface now.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import UNSET, UnsetType

from dshcore.json import Json, same
from dshcore.session.vocabulary import SURFACE_TYPES, AppendRefused, SessionEvent, is_array, is_count

_REPLACE_KEYS: Final = {"op", "start", "end"}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where an accepted event will stand: at the end, or in place of the nodes `first` to `last`."""

    first: int
    last: int

    @property
    def replaces(self) -> bool:
        """Whether nodes leave the surface."""
        return self.last >= self.first


class Surface:
    """The ordered surface of one log.

    `check` tells whether an event fits and where it would stand, changing nothing; `place` puts it there.
    """

    def __init__(self) -> None:
        self._events: list[SessionEvent] = []
        self._generation = 0

    @property
    def events(self) -> Sequence[SessionEvent]:
        """The events on the surface, in its order; the list itself, for whoever projects it."""
        return self._events

    @property
    def nodes(self) -> tuple[int, ...]:
        """The seqs on the surface, in surface order."""
        return tuple(event["seq"] for event in self._events)

    @property
    def replace_generation(self) -> int:
        """How many replacements were committed (SURF-OP-08)."""
        return self._generation

    def check(self, candidate: SessionEvent) -> Placement | None:
        """Tell whether an event fits, and where it would stand.

        Args:
            candidate: The stamped event.

        Returns:
            Its place; none for an event that does not stand on the surface.

        Raises:
            AppendRefused: The first rule that the event breaks, in the order of SURF-OP-10.

        Spec:
            SURF-OP-01, SURF-OP-02, SURF-OP-03, SURF-OP-04, SURF-OP-05, SURF-OP-06, SURF-OP-07, SURF-OP-10
        """
        kind = candidate["type"]
        if kind not in SURFACE_TYPES:
            for field in ("surfaceOp", "sourceEventSeqs"):
                if field in candidate:
                    raise AppendRefused(f'session event "{kind}" is not surface-eligible and cannot carry {field}')
            return None
        if "surfaceOp" not in candidate:
            raise AppendRefused(f'session event "{kind}" is surface-eligible and requires a surfaceOp marker')
        place = self._place_of(kind, candidate["surfaceOp"])
        sources = _check_sources(candidate)
        if place.replaces:
            self._check_coverage(place, sources)
            if kind == "tool/result":
                self._check_rewrite(place, candidate)
        return place

    def shadowed_by(self, place: Placement) -> tuple[int, ...]:
        """Answer the seqs that a placement takes off the surface, in its order.

        Args:
            place: The place in the log.
        """
        return tuple(event["seq"] for event in self._events[place.first : place.last + 1])

    def place(self, event: SessionEvent, place: Placement) -> None:
        """Put a checked event where `check` said; the surface may not have changed since.

        Args:
            place: The place in the log.
            event: What was appended.

        Spec:
            SURF-OP-03, SURF-OP-04, SURF-OP-08, SURF-OP-09
        """
        if place.replaces:
            self._generation += 1
        self._events[place.first : place.last + 1] = [event]

    def _place_of(self, kind: str, marker: Json) -> Placement:
        if marker == "append":
            return Placement(len(self._events), len(self._events) - 1)
        if not isinstance(marker, Mapping):
            raise AppendRefused(f'session event "{kind}" carries an invalid surfaceOp')
        start, end = marker.get("start"), marker.get("end")
        if set(marker) != _REPLACE_KEYS or marker["op"] != "replace" or not is_count(start) or not is_count(end):
            raise AppendRefused(f'session event "{kind}" carries an invalid replace surfaceOp')
        index_of = {event["seq"]: index for index, event in enumerate(self._events)}
        for name, seq in (("start", start), ("end", end)):
            if seq not in index_of:  # SURF-OP-06
                raise AppendRefused(f"surface replace: {name} seq {seq} not found in surface")
        place = Placement(index_of[start], index_of[end])
        if not place.replaces:  # SURF-OP-05: positions count, not seqs
            raise AppendRefused(
                f"surface replace: start seq {start} (index {place.first}) is after end seq {end} (index {place.last})"
            )
        return place

    def _check_coverage(self, place: Placement, sources: Sequence[Json] | UnsetType) -> None:
        cited = frozenset(() if isinstance(sources, UnsetType) else (seq for seq in sources if isinstance(seq, int)))
        missing = ", ".join(str(seq) for seq in self.shadowed_by(place) if seq not in cited)
        if missing:  # SURF-SRC-01
            raise AppendRefused(
                f"surface replace: sourceEventSeqs must include every shadowed surface node; missing {missing}"
            )

    def _check_rewrite(self, place: Placement, candidate: SessionEvent) -> None:
        if place.first != place.last:  # SURF-TOOL-01
            raise AppendRefused("tool/result surface replacement must rewrite exactly one current node")
        replaced = self._events[place.first]
        if replaced["type"] != "tool/result":
            raise AppendRefused("tool/result surface replacement must target a current tool/result")
        if not same(_without_content(replaced["data"]), _without_content(candidate["data"])):  # SURF-TOOL-02
            raise AppendRefused("tool/result surface replacement may change only content")


def _check_sources(candidate: SessionEvent) -> Sequence[Json] | UnsetType:
    """Check the cited seqs of a surface event; answer them, or `UNSET` where there are none.

    Spec:
        SURF-SRC-02, SURF-SRC-03, SURF-SRC-04, SURF-SRC-05
    """
    if "sourceEventSeqs" not in candidate:
        return UNSET
    kind, seq, sources = candidate["type"], candidate["seq"], candidate["sourceEventSeqs"]
    if not is_array(sources):
        raise AppendRefused(f"sourceEventSeqs on event at seq {seq} must be an array when present")
    if not sources and kind != "assistant/message":  # SURF-SRC-05: there it says that the stream was empty
        raise AppendRefused("sourceEventSeqs must not be empty except on assistant/message")
    if not all(is_count(source) for source in sources):
        raise AppendRefused(f'session event "{kind}" sourceEventSeqs must densely contain non-negative safe integers')
    if len(set(sources)) != len(sources):
        raise AppendRefused("sourceEventSeqs must not contain duplicates")
    for source in sources:
        if isinstance(source, int) and source >= seq:
            raise AppendRefused(f"sourceEventSeqs must reference earlier events: {source} >= current seq {seq}")
    return sources


def _without_content(data: Json) -> Json:
    """Answer the data of a tool result with the content of its one block left out, as far as it has that shape."""
    if not isinstance(data, Mapping) or not isinstance(message := data.get("message"), Mapping):
        return data
    blocks = message.get("content")
    if not isinstance(blocks, tuple) or len(blocks) != 1 or not isinstance(blocks[0], Mapping):
        return data
    block = {name: member for name, member in blocks[0].items() if name != "content"}
    return {**data, "message": {**message, "content": (block,)}}


@dataclass(frozen=True, slots=True)
class SurfaceReader:
    """What anybody may know of a surface, as it is at any moment; only its log changes it (LOG-IMM-02)."""

    _surface: Surface

    @property
    def nodes(self) -> tuple[int, ...]:
        """The seqs on the surface, in surface order."""
        return self._surface.nodes

    @property
    def replace_generation(self) -> int:
        """How many replacements were committed (SURF-OP-08)."""
        return self._surface.replace_generation


@dataclass(frozen=True, slots=True)
class Replacement:
    """One replacement that a log holds.

    Attributes:
        seq: The event that replaced.
        start: The first of the nodes that it replaced.
        end: The last of them.
        shadowed_seqs: All of them, in surface order.
    """

    seq: int
    start: int
    end: int
    shadowed_seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SurfaceFold:
    """What the surface of a log has come to, and how.

    Attributes:
        nodes: The seqs on the surface, in its order.
        replacements: The replacements, in log order.
    """

    nodes: tuple[int, ...]
    replacements: tuple[Replacement, ...]


def fold_surface(events: Iterable[SessionEvent]) -> SurfaceFold:
    """Fold the surface of a whole log.

    Args:
        events: The log, from its first event on.

    Returns:
        The same as the live surface of a session with that log.

    Raises:
        AppendRefused: An event does not follow on the one before it, or breaks a rule of the surface.

    Spec:
        SURF-FOLD-01, SURF-OP-10
    """
    surface = Surface()
    replacements: list[Replacement] = []
    for expected, event in enumerate(events):
        seq = event["seq"]
        if seq != expected:
            raise AppendRefused(f"session event seq {seq} is not contiguous; expected {expected}")
        place = surface.check(event)
        if place is None:
            continue
        if place.replaces:
            shadowed = surface.shadowed_by(place)
            replacements.append(Replacement(seq, shadowed[0], shadowed[-1], shadowed))
        surface.place(event, place)
    return SurfaceFold(surface.nodes, tuple(replacements))
