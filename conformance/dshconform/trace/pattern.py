"""Patterns: JSON that says what a value must be, and which clause says so.

A pattern is JSON. A scalar matches the equal scalar, a list the list whose items match one by one, an object any
object whose listed members match (further members are free). Objects with one of these keys are special:

| pattern | matches |
|---|---|
| `{"$any": true}` | anything that is there |
| `{"$absent": true}` | as a member's value, annotated or not: the member is missing |
| `{"$exact": {…}}` | an object with these members and no others |
| `{"$type": "integer"}` | a value of that JSON type |
| `{"$oneOf": [p, …]}` | what one of the patterns matches |
| `{"$bind": name}` | anything the first time in a world, then only the same again |
| `{"$by": clause, "is": p}` | what `p` matches; a difference inside is blamed on that clause (or list of clauses) |

Objects of the protocol's value notation (`{"$value": "undefined"}`, …) are no patterns: they stand for themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dshconform.protocol.json_value import Json
from dshconform.trace.fits import SPECIAL, fits

Path: TypeAlias = tuple[str | int, ...]

ANY: Final[Mapping[str, Json]] = {"$any": True}
ABSENT: Final[Mapping[str, Json]] = {"$absent": True}
MISSING: Final = "(nothing)"
"""Stands in a difference where a member or a row is not there."""


class PatternError(ValueError):
    """A pattern that is none: an unknown special form or a wrong argument of one."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where a value is not what a pattern demands.

    `at` names the annotated place (`log turn/end.event.data.reason`) and is what a ledger entry refers to,
    `found` the value there; `expected` and `observed` are the differing parts themselves, `path` leads from the
    annotated place to them.
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
    held: dict[str, int] = field(default_factory=dict)

    def hold(self, clauses: Sequence[str]) -> None:
        """Count one successful evaluation for each of the clauses."""
        held = self.held
        for clause in clauses:
            held[clause] = held.get(clause, 0) + 1

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
        return None if self.fits(pattern, value, clauses) else self._blame(pattern, value, clauses, (), at)

    def fits(self, pattern: Json, value: Json, clauses: tuple[str, ...]) -> bool:
        """Whether `value` matches, in which case it is counted; when false, nothing has happened."""
        held: list[Json] = []
        names = len(self.bound)
        if fits(pattern, value, self.bound, held):
            self.hold(clauses)
            for annotation in held:
                self.hold(annotation if isinstance(annotation, tuple) else clause_list(annotation))
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
                if key in value and not _is_absent(wanted):
                    inner = self._match(wanted, value[key], (*path, key), at)
                else:
                    inner = self._presence(wanted, value.get(key, MISSING), (*path, key), at)
                if inner is not None:
                    return inner
            return None
        if isinstance(pattern, list | tuple):
            return self._items(pattern, value, path, at)
        return None if _same_scalar(pattern, value) else (path, pattern, value)

    def _presence(self, wanted: Json, value: Json, path: Path, at: str) -> "Difference | _Mismatch | None":
        """Match a member that is missing, or that must be."""
        clauses = clause_list(wanted["$by"]) if isinstance(wanted, dict) and "$by" in wanted else ()
        if _is_absent(wanted) and value == MISSING:
            self.hold(clauses)
            return None
        mismatch = path, MISSING if _is_absent(wanted) else plain(wanted), value
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
            case "$absent":
                raise PatternError("$absent stands only as a member's value")
            case "$exact":
                return self._exact(argument, value, path, at)
            case "$type":
                return None if _has_type(value, argument) else (path, plain(pattern), value)
            case "$oneOf":
                if not isinstance(argument, list | tuple):
                    raise PatternError(f"$oneOf needs a list of patterns, not {argument!r}")
                if any(self._match(option, value, path, at) is None for option in argument):
                    return None
                return path, plain(pattern), value
            case "$bind":
                if not isinstance(argument, str):
                    raise PatternError(f"$bind needs a name, not {argument!r}")
                if argument not in self.bound:
                    self.bound[argument] = value
                    return None
                return self._match_literal(self.bound[argument], value, path)
            case _:  # "$by"
                return self._blame(pattern.get("is"), value, clause_list(argument), path, at)

    def _exact(self, argument: Json, value: Json, path: Path, at: str) -> "Difference | _Mismatch | None":
        if not isinstance(argument, dict):
            raise PatternError(f"$exact needs an object, not {argument!r}")
        inner = self._match(argument, value, path, at)
        if inner is not None:
            return inner
        assert isinstance(value, Mapping)
        for key in value:
            if key not in argument:
                return (*path, key), MISSING, value[key]
        return None

    def _match_literal(self, wanted: Json, value: Json, path: Path) -> "_Mismatch | None":
        return None if same(wanted, value) else (path, wanted, value)


_Mismatch: TypeAlias = tuple[Path, Json, Json]
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (Mapping,),
    "array": (list, tuple),
    "null": (type(None),),
}


def _is_absent(wanted: Json) -> bool:
    """Whether a member's pattern says that the member is missing, annotated or not."""
    if not isinstance(wanted, dict):
        return False
    if "$by" in wanted:
        wanted = wanted.get("is")
    return isinstance(wanted, dict) and "$absent" in wanted


def clause_list(argument: Json) -> tuple[str, ...]:
    """Read the clauses of an annotation: one id or a list of ids.

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
        return {key: plain(value) for key, value in pattern.items() if not _is_absent(value)}
    if isinstance(pattern, list | tuple):
        return [plain(item) for item in pattern]
    return pattern


def same(one: Json, other: Json) -> bool:
    """Whether two JSON values are equal; lists and tuples are both arrays, booleans are no numbers."""
    if one is other:
        return True
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping)
            and len(one) == len(other)
            and all(key in other and same(value, other[key]) for key, value in one.items())
        )
    if isinstance(one, list | tuple):
        return (
            isinstance(other, list | tuple)
            and len(one) == len(other)
            and all(same(a, b) for a, b in zip(one, other, strict=True))
        )
    return _same_scalar(one, other)


def _same_scalar(wanted: Json, value: Json) -> bool:
    return wanted == value and isinstance(wanted, bool) == isinstance(value, bool)


def _has_type(value: Json, name: Json) -> bool:
    if not isinstance(name, str) or name not in _TYPES:
        raise PatternError(f"unknown $type {name!r}; known: {', '.join(sorted(_TYPES))}")
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _sentence(at: str, path: Path, expected: Json, observed: Json) -> str:
    place = ".".join(str(part) for part in (at, *path))
    if observed == MISSING:
        return f"{place} is missing"
    if expected == MISSING:
        return f"{place} should not be there"
    return f"{place} differs"
