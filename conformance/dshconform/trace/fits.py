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
_CLAUSES: Final = frozenset({str, list, tuple})
_OBJECT: Final = (dict, Mapping)  # the first alone costs a tenth of asking an abstract class


def fits(pattern: Json, value: Json, bound: dict[str, Json], held: list[Json]) -> bool:
    """Whether a value is what a pattern demands.

    Args:
        pattern: The pattern; of a malformed one nothing is said (false).
        value: What is there.
        bound: The names bound so far; new ones are added, and stay when the answer is false.
        held: Gets the clauses of every annotation that held.
    """
    kind = type(pattern)
    if kind is str or pattern is None:
        return pattern == value
    if kind is bool or kind is int or kind is float:
        return pattern == value and (kind is bool) == (type(value) is bool)
    if not isinstance(pattern, dict):
        return isinstance(pattern, _ARRAY) and _items(pattern, value, bound, held)
    if SPECIAL.isdisjoint(pattern):
        return isinstance(value, _OBJECT) and _members(pattern, value, bound, held)
    if "$by" in pattern:
        held.append(pattern["$by"])  # after a no, nobody looks at `held`
        return type(pattern["$by"]) in _CLAUSES and fits(pattern.get("is"), value, bound, held)
    return _special(pattern, value, bound, held)


def _members(pattern: JsonMap, value: JsonMap, bound: dict[str, Json], held: list[Json]) -> bool:
    for key, member in pattern.items():
        wanted = member
        if type(member) is dict and "$by" in member:  # spares a call
            if type(member["$by"]) not in _CLAUSES:
                return False
            held.append(member["$by"])
            wanted = member.get("is")
        if type(wanted) is str:  # most members are texts
            if value.get(key) != wanted:
                return False
        elif key in value:
            if not fits(wanted, value[key], bound, held):  # `$absent` fits nothing that is there
                return False
        elif type(wanted) is not dict or "$absent" not in wanted:
            return False
    return True


def _special(pattern: JsonMap, value: Json, bound: dict[str, Json], held: list[Json]) -> bool:
    if "$exact" in pattern:
        members = pattern["$exact"]
        met = _MET.get((id(members), id(value)))
        if met is not None and met[0] is members and met[1] is value:
            return True
        return (
            isinstance(members, dict)
            and SPECIAL.isdisjoint(members)
            and isinstance(value, _OBJECT)
            and _members(members, value, bound, held)
            and value.keys() <= members.keys()
            and _meet(members, value)
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


_MET: Final[dict[tuple[int, int], tuple[JsonMap, JsonMap]]] = {}
"""Pairs that fit, whatever is bound: a model names its pending messages again and again, and an implementation in this
process shows the very objects. Nothing that was once observed or expected changes; the pairs are held, so that no other
object gets the identity of one."""
_MOST_MET: Final = 1_000


def _meet(members: JsonMap, value: JsonMap) -> bool:
    """Remember a pair that fits, if nothing but the two decided that."""
    if _is_plain(members):
        if len(_MET) >= _MOST_MET:
            _MET.clear()
        _MET[id(members), id(value)] = members, value
    return True


def _is_plain(pattern: Json) -> bool:
    """Whether a pattern is JSON and no more."""
    todo: list[Json] = [pattern]
    for item in todo:  # it grows while it is walked
        if isinstance(item, dict):
            if not SPECIAL.isdisjoint(item):
                return False
            todo.extend(member for member in item.values() if not isinstance(member, str))
        elif isinstance(item, _ARRAY):
            todo.extend(item)
    return True
