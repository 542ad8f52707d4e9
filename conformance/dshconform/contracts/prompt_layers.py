"""What is contributed to prompts, in layers: who sees what, in which order, and what is refused (sheet 50)."""

import math
import re
from dataclasses import dataclass, field

from dshconform.contracts.inbox_rows import Clauses
from dshconform.contracts.prompt_commands import CHAINS, SCOPES, TEXT_KINDS, Contribution, Kind, Scope
from dshconform.contracts.prompt_text import NAME
from dshconform.protocol.json_value import Json, JsonMap


@dataclass(frozen=True, slots=True)
class Refusal:
    """How a contribution is refused, and who says so."""

    error: JsonMap
    """A pattern for what is thrown."""
    clause: str
    """The one that says so."""


@dataclass(slots=True)
class Layers:
    """The contributions of a world.

    Args:
        entries: Those of each scope, in order of registration.
        closed: The scopes that have ended.
        past: Who says that what happened to contributions that are not there leaves no trace.
    """

    entries: dict[Scope, list[Contribution]] = field(default_factory=lambda: {scope: [] for scope in SCOPES})
    closed: set[Scope] = field(default_factory=set)
    past: Clauses = ()

    def copy(self) -> "Layers":
        """A copy of the layers to try commands on."""
        return Layers({scope: list(held) for scope, held in self.entries.items()}, set(self.closed), self.past)

    # ------------------------------------------------------------------ changes

    def decided(self, contribution: Contribution) -> bool:
        """Whether it is said how a contribution ends: of two reasons to refuse it, not which one counts."""
        closed = contribution.scope in self.closed
        return sum((closed, self._misplaced(contribution) is not None, self._taken(contribution) is not None)) <= 1

    def refusal(self, contribution: Contribution) -> Refusal | None:
        """Why a contribution is refused, if it is."""
        if contribution.scope in self.closed:
            return Refusal({"code": "INACTIVE_EFFECT"}, "PROMPT-SCOPE-04")
        return self._misplaced(contribution) or self._taken(contribution)

    def _misplaced(self, contribution: Contribution) -> Refusal | None:
        """A name or an order that nothing of the kind can have."""
        kind, name, order = contribution.kind, contribution.name, contribution.order
        if kind == "variable" and re.fullmatch(NAME, name) is None:
            return Refusal(
                {"message": f'invalid prompt variable name "{name}" (must match /^{NAME}$/)'}, "PROMPT-VAR-01"
            )
        if kind in TEXT_KINDS and not _is_finite(order):
            return Refusal({"message": f'prompt {kind} "{name}" order must be a finite number'}, "PROMPT-SEC-03")
        return None

    def _taken(self, contribution: Contribution) -> Refusal | None:
        kind, name, scope = contribution.kind, contribution.name, contribution.scope
        if not name or all((one.kind, one.name) != (kind, name) for one in self.entries[scope]):
            return None
        text = f'prompt {kind} "{name}" is already registered'
        if scope != "root":
            return Refusal({"message": f"{text} in this scope"}, "PROMPT-SEC-04")
        what = "value" if kind == "variable" else "override"
        hint = f"(for a per-agent {what}, register through that agent's `agent.ctx` instead)"
        return Refusal({"message": f"{text} {hint}"}, "PROMPT-SEC-04")

    def add(self, contribution: Contribution) -> None:
        """A contribution is filed, last in its layer."""
        self.entries[contribution.scope].append(contribution)

    def remove(self, contribution: Contribution) -> bool:
        """A contribution ends; false if it is not there."""
        held = self.entries[contribution.scope]
        there = contribution in held
        if there:
            held.remove(contribution)
            self.remember("PROMPT-DISP-01")
        return there

    def close(self, scope: Scope) -> int:
        """A scope ends with all that it contributed; how much that was."""
        ended = len(self.entries[scope])
        self.entries[scope].clear()
        self.closed.add(scope)
        self.remember("PROMPT-SCOPE-04")
        self.remember("TRACE-OWNER-03")
        return ended

    def remember(self, clause: str) -> None:
        """Something has happened of which no trace may be left.

        Args:
            clause: The one that says so.
        """
        self.past = tuple(dict.fromkeys((*self.past, clause)))

    # ------------------------------------------------------------------ views

    def seen(self, scope: Scope, kind: Kind) -> list[Contribution]:
        """All contributions of a kind that a scope sees, the farthest layer first."""
        return [one for layer in CHAINS[scope] for one in self.entries[layer] if one.kind == kind]

    def effective(self, scope: Scope, kind: Kind) -> list[Contribution]:
        """Those that count, in order: the nearest of each name, in the place of what it hides.

        Args:
            scope: Where they are looked for.
            kind: Which of them.
        """
        merged = {one.name: one for one in self.seen(scope, kind)}
        return sorted(merged.values(), key=_order_of)

    def hides(self, scope: Scope, kind: Kind) -> bool:
        """Whether a contribution of a kind hides another one there.

        Args:
            scope: Where they are looked for.
            kind: Which of them.
        """
        names = [one.name for one in self.seen(scope, kind)]
        return len(set(names)) < len(names)

    def suppressed(self, scope: Scope) -> bool:
        """Whether runtime contexts are suppressed there.

        Args:
            scope: Where they would count.
        """
        return bool(self.seen(scope, "suppress"))


def _is_finite(order: Json) -> bool:
    return isinstance(order, int | float) and not isinstance(order, bool) and math.isfinite(order)


def _order_of(contribution: Contribution) -> float:
    assert isinstance(contribution.order, int | float)
    return contribution.order
