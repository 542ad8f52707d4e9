"""Patterns: JSON that says what a value must be, and which clause says so.

A pattern is JSON. A scalar matches the equal scalar, a list the list whose items match one by one, an object any
object whose listed members match (further members are free). Objects with one of these keys are special:

| pattern | matches |
|---|---|
| `{"$any": true}` | anything that is there |
| `{"$absent": true}` | as a member's value, annotated or not: the member is missing |
| `{"$exact": {…}}` | an object with these members and no others |
| `{"$type": "integer"}` | a value of that JSON type |
| `{"$starts": "text"}` | a text that begins so |
| `{"$oneOf": [p, …]}` | what one of the patterns matches |
| `{"$bind": name}` | anything the first time in a world, then only the same again |
| `{"$by": clause, "is": p}` | what `p` matches; a difference inside is blamed on that clause (or list of clauses) |

Objects of the protocol's value notation (`{"$value": "undefined"}`, …) are no patterns: they stand for themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dshconform.protocol.json_value import Json, JsonMap, same
from dshconform.protocol.values import NOTATIONS
from dshconform.trace.fits import SPECIAL, fits

Path: TypeAlias = tuple[str | int, ...]
"""The members and places that lead to a value in a pattern, from an annotated place on."""


class _Nothing(str):
    """A text that is told from every observed one by its identity, in another process too."""

    __slots__ = ()

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final = _Nothing("(nothing)")
"""Stands in a difference where a member or a row is not there; only itself is it, no text that reads so."""


class PatternError(ValueError):
    """A pattern that is none: an unknown special form or a wrong argument of one."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where a value is not what a pattern demands.

    Args:
        clauses: Those that demand what was not found, the one that answers first before the others.
        at: The annotated place (`log turn/end.event.data.reason`), which is what a ledger entry refers to.
        found: The value there.
        path: What leads from the annotated place to the parts that differ.
        expected: What the pattern has there.
        observed: What was observed there.
        sentence: What the clauses demand, in words.
    """

    clauses: tuple[str, ...]
    at: str
    found: Json
    path: Path
    expected: Json
    observed: Json
    sentence: str


def _never(_: Difference) -> bool:
    return False


@dataclass(slots=True)
class Matching:
    """What one world's comparisons share: bound names, clauses that held, and what to do about a difference.

    `tolerate` is asked about every difference at an annotated place; true means that the difference is a listed
    deviation and that the comparison goes on as if the place had matched.
    """

    tolerate: Callable[[Difference], bool] = _never
    bound: dict[str, Json] = field(default_factory=dict)
    """What the names of `$bind` stand for so far."""
    _evaluated: list[Json] = field(default_factory=list)
    """The clauses of every evaluation that held, in order: adding is cheap, and they are counted once, at the end."""

    @property
    def held(self) -> dict[str, int]:
        """How often each clause was evaluated and held.

        Raises:
            PatternError: What an annotation names is no clause.
        """
        counts: dict[str, int] = {}
        for group in self._evaluated:
            for clause in clause_list(group):
                counts[clause] = counts.get(clause, 0) + 1
        return counts

    def hold(self, clauses: tuple[str, ...]) -> None:
        """Count one successful evaluation for each of the clauses."""
        self._evaluated.append(clauses)

    def trial(self) -> "Matching":
        """A matching to try something on that knows what is bound so far, and tolerates nothing."""
        return Matching(bound=dict(self.bound))

    def adopt(self, trial: "Matching") -> None:
        """Take over what a trial has bound and counted: it matched."""
        self.bound |= trial.bound
        self._evaluated += trial._evaluated  # noqa: SLF001 - one of its own kind

    def annotated(self, pattern: Json, value: Json, clauses: tuple[str, ...], at: str) -> Difference | None:
        """Match `value`, found at the place named `at`, and blame `clauses` for what differs.

        Args:
            pattern: What the value must match.
            value: What was observed.
            clauses: Who says so; inner `$by` annotations take precedence for their part.
            at: The name of the place, as ledger entries spell it.

        Returns:
            The first difference that is not tolerated, or nothing.

        Raises:
            PatternError: The pattern is malformed.
        """
        if self.fits(pattern, value, clauses):
            return None
        check_pattern(pattern)
        return self._blame(pattern, value, clauses, (), at)

    def fits(self, pattern: Json, value: Json, clauses: tuple[str, ...]) -> bool:
        """Whether `value` matches, in which case it is counted; when false, nothing has happened.

        Args:
            pattern: What is demanded.
            value: What is there.
            clauses: Those that demand it; they count as evaluated when it fits.
        """
        held: list[Json] = []
        names = len(self.bound)
        if fits(pattern, value, self.bound, held):
            self._evaluated.append(clauses)
            self._evaluated += held
            return True
        for name in list(self.bound)[names:]:
            del self.bound[name]
        return False

    def _blame(self, pattern: Json, value: Json, clauses: tuple[str, ...], place: Path, at: str) -> Difference | None:
        """Match what stands at `place` below `at`; a difference that no inner annotation claims is the clauses'."""
        found = self._match(pattern, value, place, at)
        if found is None:
            self.hold(clauses)
            return None
        if isinstance(found, Difference):
            return found
        return self._differs(clauses, value, place, found, at)

    def _differs(
        self, clauses: tuple[str, ...], value: Json, place: Path, mismatch: "_Mismatch", at: str
    ) -> Difference | None:
        path, expected, observed = mismatch
        where = ".".join(str(part) for part in (at, *place))
        rest = path[len(place) :]
        sentence = _sentence(where, rest, expected, observed)
        difference = Difference(clauses, where, value, rest, expected, observed, sentence)
        return None if self.tolerate(difference) else difference

    def _match(self, pattern: Json, value: Json, path: Path, at: str) -> "Difference | _Mismatch | None":
        if isinstance(pattern, dict):
            if not SPECIAL.isdisjoint(pattern):
                special = next(key for key in pattern if key in SPECIAL)
                return self._special(special, pattern, value, path, at)
            if not isinstance(value, Mapping):
                return path, plain(pattern), value
            for key, wanted in pattern.items():
                if key in value and not is_absent(wanted):
                    inner = self._match(wanted, value[key], (*path, key), at)
                else:
                    inner = self._presence(wanted, value.get(key, MISSING), (*path, key), at)
                if inner is not None:
                    return inner
            return None
        if isinstance(pattern, list | tuple):
            return self._items(pattern, value, path, at)
        return None if same(pattern, value) else (path, pattern, value)

    def _presence(self, wanted: Json, value: Json, path: Path, at: str) -> "Difference | _Mismatch | None":
        """Match a member that is missing, or that must be."""
        clauses = clause_list(wanted["$by"]) if isinstance(wanted, dict) and "$by" in wanted else ()
        absent = is_absent(wanted)
        if absent and value is MISSING:
            self.hold(clauses)
            return None
        mismatch = path, MISSING if absent else plain(wanted), value
        return self._differs(clauses, value, path, mismatch, at) if clauses else mismatch

    def _items(self, pattern: Sequence[Json], value: Json, path: Path, at: str) -> "Difference | _Mismatch | None":
        if isinstance(value, str) or not isinstance(value, Sequence):
            return path, plain(pattern), value
        for index, (wanted, item) in enumerate(zip(pattern, value, strict=False)):
            inner = self._match(wanted, item, (*path, index), at)
            if inner is not None:
                return inner
        shorter = min(len(pattern), len(value))
        if len(pattern) > shorter:
            return (*path, shorter), plain(pattern[shorter]), MISSING
        if len(value) > shorter:
            return (*path, shorter), MISSING, value[shorter]
        return None

    def _special(
        self, special: str, pattern: Mapping[str, Json], value: Json, path: Path, at: str
    ) -> "Difference | _Mismatch | None":
        argument = pattern[special]
        match special:
            case "$any":
                return None
            case "$exact":
                return self._exact(argument, value, path, at)
            case "$type":
                return None if _has_type(value, str(argument)) else (path, plain(pattern), value)
            case "$starts":
                begins = isinstance(value, str) and value.startswith(str(argument))
                return None if begins else (path, plain(pattern), value)
            case "$oneOf":
                return None if self._any_of(argument, value, path, at) else (path, plain(pattern), value)
            case "$bind":
                one = self.bound.setdefault(str(argument), value)
                return None if same(one, value) else (path, one, value)
            case _:  # "$by"; "$absent" is a member's, and met there
                return self._blame(pattern.get("is"), value, clause_list(argument), path, at)

    def _exact(self, argument: Json, value: Json, path: Path, at: str) -> "Difference | _Mismatch | None":
        inner = self._match(argument, value, path, at)
        if inner is not None:
            return inner
        assert isinstance(argument, Mapping)
        assert isinstance(value, Mapping)
        for key in value:
            if key not in argument:
                return (*path, key), MISSING, value[key]
        return None

    def _any_of(self, options: Json, value: Json, path: Path, at: str) -> bool:
        """Whether one of the options matches; what the others bound, held and differed in is forgotten."""
        assert isinstance(options, Sequence)
        for option in options:
            trial = self.trial()
            if trial._match(option, value, path, at) is None:  # noqa: SLF001 - one of its own kind
                self.adopt(trial)
                return True
        return False


_Mismatch: TypeAlias = tuple[Path, Json, Json]
_KNOWN: Final = SPECIAL | NOTATIONS.keys()
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (Mapping,),
    "array": (list, tuple),
    "null": (type(None),),
}


def check_pattern(pattern: Json, *, member: bool = False) -> None:
    """Check a pattern and everything in it.

    Args:
        pattern: What is to be a pattern.
        member: Whether it is the value of a member, which may be missing.

    Raises:
        PatternError: It is none; the message names the form, its argument and what is known.
    """
    if isinstance(pattern, Mapping):
        if "$raw" in pattern:
            return
        unknown = next((key for key in pattern if key.startswith("$") and key not in _KNOWN), None)
        if unknown is not None:
            raise PatternError(f"unknown special form {unknown!r}; known: {', '.join(sorted(SPECIAL))}")
        special = next((key for key in pattern if key in SPECIAL), None)
        if special is None:
            for value in pattern.values():
                check_pattern(value, member=True)
        else:
            _check_special(special, pattern, member=member)
    elif isinstance(pattern, list | tuple):
        for item in pattern:
            check_pattern(item)


def _check_special(special: str, pattern: JsonMap, *, member: bool) -> None:
    special = "$by" if "$by" in pattern else special
    argument = pattern[special]
    members = {"$by", "is"} if special == "$by" else {special}
    if pattern.keys() != members:
        raise PatternError(f"{special} has the members {', '.join(sorted(members))}, not {', '.join(pattern)}")
    match special:
        case "$by":
            clause_list(argument)
            check_pattern(pattern["is"], member=member)
        case "$absent" if not member:
            raise PatternError("$absent stands only as a member's value")
        case "$exact":
            if not isinstance(argument, Mapping) or not SPECIAL.isdisjoint(argument):
                raise PatternError(f"$exact needs an object of members, not {argument!r}")
            check_pattern(argument)
        case "$oneOf":
            if not isinstance(argument, list | tuple):
                raise PatternError(f"$oneOf needs a list of patterns, not {argument!r}")
            check_pattern(argument)
        case "$type" if not isinstance(argument, str) or argument not in _TYPES:
            raise PatternError(f"unknown $type {argument!r}; known: {', '.join(sorted(_TYPES))}")
        case "$starts" | "$bind" if not isinstance(argument, str):
            raise PatternError(f"{special} needs a text, not {argument!r}")


def is_absent(wanted: Json) -> bool:
    """Whether a member's pattern says that the member is missing, annotated or not.

    Args:
        wanted: The pattern of one member.
    """
    if not isinstance(wanted, dict):
        return False
    if "$by" in wanted:
        wanted = wanted.get("is")
    return isinstance(wanted, dict) and "$absent" in wanted


def clause_list(argument: Json) -> tuple[str, ...]:
    """Read the clauses of an annotation: one id or a list of ids.

    Args:
        argument: What stands beside `$by`.

    Raises:
        PatternError: It is neither.
    """
    if isinstance(argument, str):
        return (argument,)
    if isinstance(argument, list | tuple) and all(isinstance(item, str) for item in argument):
        return tuple(str(item) for item in argument)
    raise PatternError(f"a clause id or a list of clause ids is needed, not {argument!r}")


def clauses_in(pattern: Json) -> list[str]:
    """Answer every clause that a pattern's annotations cite, in order of appearance."""
    found: list[str] = []
    if isinstance(pattern, dict):
        if "$by" in pattern:
            found.extend(clause_list(pattern["$by"]))
        for value in pattern.values():
            found.extend(clauses_in(value))
    elif isinstance(pattern, list | tuple):
        for item in pattern:
            found.extend(clauses_in(item))
    return found


def plain(pattern: Json) -> Json:
    """Answer a pattern without its annotations, for people to read."""
    if isinstance(pattern, dict):
        if "$by" in pattern:
            return plain(pattern.get("is"))
        if "$exact" in pattern:
            return plain(pattern["$exact"])
        return {key: plain(value) for key, value in pattern.items() if not is_absent(value)}
    if isinstance(pattern, list | tuple):
        return [plain(item) for item in pattern]
    return pattern


def _has_type(value: Json, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _sentence(at: str, path: Path, expected: Json, observed: Json) -> str:
    place = ".".join(str(part) for part in (at, *path))
    if observed is MISSING:
        return f"{place} is missing"
    if expected is MISSING:
        return f"{place} should not be there"
    return f"{place} differs"
