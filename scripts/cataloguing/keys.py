"""Event keys and service keys: what their declarations say."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import griffe

from cataloguing.reading import Package
from cataloguing.sites import MODES

_SERVICE: Final = "ServiceKey"
_POLICY: Final = {"scoped": "True", "contained": "False", "first_value_wins": "True"}


@dataclass(frozen=True, slots=True)
class EventKey:
    """The declaration of an event.

    Args:
        path: The canonical path of the key.
        event: The event's name in the specification.
        mode: `Emit`, `Serial`, `Parallel` or `Waterfall`.
        payload: The payload's type.
        result: What a listener answers, where that counts.
        policy: Its arguments, those that it leaves out with their defaults.
        attribute: Where it is declared.
    """

    path: str
    event: str
    mode: str
    payload: griffe.Expr | str
    result: griffe.Expr | str | None
    policy: dict[str, str]
    attribute: griffe.Attribute


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """The declaration of a service.

    Args:
        path: The canonical path of the key.
        service: Its name in the specification.
        provides: The service's type.
        attribute: Where it is declared.
    """

    path: str
    service: str
    provides: griffe.Expr | str
    attribute: griffe.Attribute


def event_keys(package: Package) -> Iterator[EventKey]:
    """The events that a package declares, in the order of modules.

    Args:
        package: The package.
    """
    for attribute, made, types in _declarations(package):
        if made not in MODES.values():
            continue
        name, policy = _arguments(attribute)
        payload, result = (types[0], types[1]) if len(types) > 1 else (types[0], None)
        yield EventKey(attribute.canonical_path, name, made, payload, result, _POLICY | policy, attribute)


def service_keys(package: Package) -> Iterator[ServiceKey]:
    """The services that a package declares, in the order of modules.

    Args:
        package: The package.
    """
    for attribute, made, types in _declarations(package):
        if made == _SERVICE:
            yield ServiceKey(attribute.canonical_path, _arguments(attribute)[0], types[0], attribute)


def _declarations(package: Package) -> Iterator[tuple[griffe.Attribute, str, list[griffe.Expr | str]]]:
    """Module-level constants `NAME = Made[types](…)`."""
    for module in package.modules:
        for named in module.names:
            match named:
                case griffe.Attribute(
                    value=griffe.ExprCall(function=griffe.ExprSubscript(left=griffe.ExprName(name=made), slice=types))
                ):
                    listed = types.elements if isinstance(types, griffe.ExprTuple) else [types]
                    yield named, made, list(listed)
                case _:
                    pass


def _arguments(attribute: griffe.Attribute) -> tuple[str, dict[str, str]]:
    call = ast.parse(str(attribute.value), mode="eval").body
    assert isinstance(call, ast.Call)
    name = ast.literal_eval(call.args[0])
    assert isinstance(name, str)
    return name, {word.arg: ast.unparse(word.value) for word in call.keywords if word.arg is not None}
