"""Kept values (feature `values`): a test changes what it handed in or got, and looks again."""

from collections.abc import Mapping
from typing import Final

from dshconform.adapters.reference import paths
from dshconform.adapters.reference.commands import Arguments, Operation
from dshconform.adapters.reference.paths import MISSING
from dshconform.adapters.reference.world import World


def _keep(world: World, args: Arguments) -> None:
    """Hold a new value."""
    world.names.kept[args.text("as")] = args.raw("value")


def _get(world: World, args: Arguments) -> object:
    """Look at a kept value, or at something in it."""
    value = paths.read(_kept(world, args), str(args.values.get("path", "")))
    if value is MISSING:
        raise args.wrong("path", "leads nowhere")
    return value


def _change(world: World, args: Arguments) -> None:
    """Assign in a kept value, in place."""
    paths.write(_kept(world, args), args.text("path"), args.raw("value"))


def _remove(world: World, args: Arguments) -> None:
    """Take something out of a kept value, in place."""
    paths.remove(_kept(world, args), args.text("path"))


KEPT: Final[Mapping[str, Operation]] = {
    "value.keep": Operation(_keep, ("as", "value")),
    "value.get": Operation(_get, ("of",), ("path",)),
    "value.set": Operation(_change, ("of", "path", "value")),
    "value.remove": Operation(_remove, ("of", "path")),
}
"""Every operation on kept values."""


def _kept(world: World, args: Arguments) -> object:
    name = args.text("of")
    if name not in world.names.kept:
        raise args.wrong("of", "must be the name of a kept value")
    return world.names.kept[name]
