"""Where events are dispatched and listened to: every call that names a key."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import griffe

from cataloguing.reading import Module, Package

MODES: Final = {"emit": "Emit", "prepare": "Emit", "serial": "Serial", "parallel": "Parallel", "waterfall": "Waterfall"}
"""The methods that dispatch, each with the mode of its keys."""

LISTEN: Final = "on"


@dataclass(frozen=True, slots=True)
class Site:
    """A call that dispatches an event or listens to one.

    Args:
        method: The method called: `emit`, `on`, ….
        key: The canonical path of the key; none where the call does not name one.
        module: The module of the call.
        within: The function that it stands in, from the module: `Driver._run_turn`.
        written: The first argument, as it is written.
    """

    method: str
    key: str | None
    module: str
    within: str
    written: str


def sites(package: Package, keys: frozenset[str]) -> Iterator[Site]:
    """Every dispatch and every registration of a listener.

    Args:
        package: Its modules are looked through.
        keys: The canonical paths of the event keys.

    Yields:
        In the order of the source: calls whose first argument names a key, and those that dispatch something else with
        a payload, unless the function around them was given it. Of `prepare`, which others have too, the latter only
        where the variable is called `key`.
    """
    for module in package.modules:
        yield from _Finder(module, package, keys).found()


class _Finder:
    """Walks one module, and knows in which function it is."""

    def __init__(self, module: Module, package: Package, keys: frozenset[str]) -> None:
        self._module = module
        self._package = package
        self._keys = keys

    def found(self) -> Iterator[Site]:
        filepath = self._module.tree.filepath
        assert not isinstance(filepath, list)
        yield from self._walk(ast.parse(filepath.read_text("utf-8")), (), frozenset())

    def _walk(self, node: ast.AST, within: tuple[str, ...], given: frozenset[str]) -> Iterator[Site]:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.Call():
                    yield from self._call(child, within, given)
                    yield from self._walk(child, within, given)
                case ast.FunctionDef(name=name, args=arguments) | ast.AsyncFunctionDef(name=name, args=arguments):
                    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
                    yield from self._walk(child, (*within, name), given | {one.arg for one in every})
                case ast.ClassDef(name=name):
                    yield from self._walk(child, (*within, name), frozenset())
                case _:
                    yield from self._walk(child, within, given)

    def _call(self, call: ast.Call, within: tuple[str, ...], given: frozenset[str]) -> Iterator[Site]:
        match call:
            case ast.Call(func=ast.Attribute(attr=method), args=[first, *more]) if method in MODES or method == LISTEN:
                pass
            case _:
                return
        written = ast.unparse(first)
        key = self._key(written) if isinstance(first, ast.Name | ast.Attribute) else None
        unseen = method in MODES and bool(more) and written not in given and (method != "prepare" or written == "key")
        if key is not None or unseen:
            yield Site(method, key, self._module.path, ".".join(within), written)

    def _key(self, written: str) -> str | None:
        try:
            path = self._module.tree.resolve(written.partition(".")[0])
        except griffe.NameResolutionError:
            return None
        found = self._package.find(path)
        canonical = path if found is None else found.canonical_path
        return canonical if canonical in self._keys else None
