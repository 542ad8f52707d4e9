"""Paths into values: member names and list indexes joined by dots, as `when`, `$arg` and `set` use them.

The values are the implementation's own. A name leads to an item of a mapping or sequence, else to the attribute of that
name in the spelling of Python (`retryPolicy` is found as `retry_policy`).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

import msgspec

from dshconform.adapters.reference.fault import Fault


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""What a path that leads nowhere leads to."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake_case(name: str) -> str:
    """The Python spelling of a name of the specification."""
    return _HUMP.sub("_", name).lower()


def camel_case(name: str) -> str:
    """The specification's spelling of a Python name."""
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def read(value: object, path: str) -> object:
    """Follow a path.

    Returns:
        What it leads to, the object itself; `MISSING` if it leads nowhere. The empty path leads to the value.
    """
    for name in path.split(".") if path else ():
        value = _step(value, name)
        if value is MISSING:
            return MISSING
    return value


def write(value: object, path: str, item: object) -> None:
    """Assign to what a path leads to, in place.

    Args:
        value: What the path begins at.
        path: Members and places, with dots between them.
        item: What is assigned.

    Raises:
        Fault: The path leads nowhere.
        Exception: Whatever the value refuses the assignment with.
    """
    holder, name = _holder(value, path)
    if isinstance(holder, Mapping):
        cast("dict[str, object]", holder)[name] = item
    elif _is_list(holder):
        cast("list[object]", holder)[_index(name, path)] = item
    else:
        _assign(holder, _attribute(holder, name), item)


def remove(value: object, path: str) -> None:
    """Take away what a path leads to, in place.

    Raises:
        Fault: The path leads nowhere.
        Exception: Whatever the value refuses the removal with.
    """
    holder, name = _holder(value, path)
    if isinstance(holder, Mapping):
        del cast("dict[str, object]", holder)[name]
    elif _is_list(holder):
        del cast("list[object]", holder)[_index(name, path)]
    else:
        delattr(holder, _attribute(holder, name))


def _step(value: object, name: str) -> object:
    if isinstance(value, Mapping):
        return value.get(name, MISSING)
    if _is_list(value):
        items = cast("Sequence[object]", value)
        return items[int(name)] if name.isdecimal() and int(name) < len(items) else MISSING
    found = getattr(value, _attribute(value, name), MISSING)
    if found is MISSING and hasattr(value, "to_json"):  # a record whose members are spread over its parts
        return _step(value.to_json(), name)
    return found


def _holder(value: object, path: str) -> tuple[object, str]:
    head, _, name = path.rpartition(".")
    holder = read(value, head)
    if holder is MISSING or not name:
        raise Fault(f"the path {path!r} leads nowhere")
    return holder, name


def _assign(holder: object, attribute: str, item: object) -> None:
    """Assign to an attribute; one of a record's configuration by giving the record another configuration."""
    config = getattr(holder, "config", None)
    if isinstance(config, msgspec.Struct) and attribute in config.__struct_fields__ and not hasattr(holder, attribute):
        attribute, item = "config", msgspec.structs.replace(config, **{attribute: item})
    setattr(holder, attribute, item)


def _attribute(holder: object, name: str) -> str:
    if name == "cause" and isinstance(holder, BaseException):
        return "__cause__"
    return name if hasattr(holder, name) else snake_case(name)


def _index(name: str, path: str) -> int:
    if not name.isdecimal():
        raise Fault(f"the path {path!r} leads into a list: {name!r} is no index")
    return int(name)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
