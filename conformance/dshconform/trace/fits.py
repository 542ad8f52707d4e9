"""Whether a value fits a pattern: the fast half of the comparison, for the many values that do.

`pattern.Matching` says where and why something differs. That takes paths, places and asking the ledger, and of a
hundred thousand comparisons a handful need it: so this is tried first, and says no more than yes or no.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap

SPECIAL: Final = frozenset({"$any", "$absent", "$exact", "$type", "$starts", "$oneOf", "$bind", "$by"})
"""The keys that make an object of a pattern more than an object."""

_ARRAY: Final = (list, tuple)
_OBJECT: Final = (dict, Mapping)  # the first alone costs a tenth of asking an abstract class


def fits(pattern: Json, value: Json, bound: dict[str, Json], held: list[Json]) -> bool:
    """Whether a value is what a pattern demands.

    Args:
        pattern: The pattern; of a malformed one nothing is said (false).
        value: The value.
        bound: The names bound so far; new ones are added, and stay when the answer is false.
        held: Gets the clauses of every annotation that held.
    """
    if isinstance(pattern, str):
        return pattern == value
    if isinstance(pattern, dict):
        if "$by" in pattern:
            if not fits(pattern.get("is"), value, bound, held):
                return False
            held.append(pattern["$by"])
            return True
        if not SPECIAL.isdisjoint(pattern):
            return _special(pattern, value, bound, held)
        return isinstance(value, _OBJECT) and _members(pattern, value, bound, held)
    if isinstance(pattern, _ARRAY):
        return _items(pattern, value, bound, held)
    return pattern == value and isinstance(pattern, bool) == isinstance(value, bool)


def _members(pattern: JsonMap, value: JsonMap, bound: dict[str, Json], held: list[Json]) -> bool:
    for key, member in pattern.items():
        if key not in value:
            if not _absent(member, held):
                return False
            continue
        wanted = member
        if isinstance(member, dict) and "$by" in member:  # spares a call; after a no, nobody looks at `held`
            held.append(member["$by"])
            wanted = member.get("is")
        if isinstance(wanted, str):  # most members are texts
            if wanted != value[key]:
                return False
        elif not fits(wanted, value[key], bound, held):  # `$absent` fits nothing that is there
            return False
    return True


def _absent(wanted: Json, held: list[Json]) -> bool:
    """Whether a member may be missing, as it is."""
    if not isinstance(wanted, dict):
        return False
    if "$by" not in wanted:
        return "$absent" in wanted
    inner = wanted.get("is")
    if isinstance(inner, dict) and "$absent" in inner:
        held.append(wanted["$by"])
        return True
    return False


def _special(pattern: JsonMap, value: Json, bound: dict[str, Json], held: list[Json]) -> bool:
    if "$exact" in pattern:
        members = pattern["$exact"]
        return (
            isinstance(members, dict)
            and SPECIAL.isdisjoint(members)
            and isinstance(value, _OBJECT)
            and _members(members, value, bound, held)
            and value.keys() <= members.keys()
        )
    if "$bind" in pattern:
        name = pattern["$bind"]
        if not isinstance(name, str):
            return False
        if name not in bound:
            bound[name] = value
            return True
        one = bound[name]
        return one == value and isinstance(one, str | int) and isinstance(one, bool) == isinstance(value, bool)
    return "$any" in pattern


def _items(pattern: Sequence[Json], value: Json, bound: dict[str, Json], held: list[Json]) -> bool:
    if not isinstance(value, _ARRAY) or len(pattern) != len(value):
        return False
    for wanted, item in zip(pattern, value, strict=True):  # noqa: SIM110 - a generator would cost more than the rest
        if not fits(wanted, item, bound, held):
            return False
    return True
