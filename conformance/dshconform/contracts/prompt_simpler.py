"""Plainer commands of the prompt contract, for a minimiser."""

from collections.abc import Mapping, Sequence

from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.prompt_commands import RELEASE, assemble, hold, provider, read_contribution, read_scope
from dshconform.protocol.json_value import Json, JsonMap


def simpler(written: JsonMap) -> list[JsonMap]:
    """Commands that say less than this one.

    Args:
        written: As a scenario writes it.
    """
    op, args = read_command(written)
    if op == "world.open":
        return [] if args == {"config": {"prompt": {}}} else [{"do": op, "args": {"config": {"prompt": {}}}}]
    if op == "burst" and written != RELEASE:
        items = args["do"]
        assert isinstance(items, list)
        assembles = items[1]
        assert isinstance(assembles, Mapping)
        scope = read_scope(read_command(assembles)[1].get("scope"))
        return [assemble(scope), *([hold()] if scope != "near" else [])]
    if not op.startswith("prompt.") or op == "prompt.assemble":
        return []
    plainer: list[JsonMap] = [{key: value for key, value in args.items() if key not in {"in", "complete"}}]
    plainer += [{**args, "order": 0}] if args.get("order", 0) != 0 else []
    plainer += [{**args, key: value} for key in ("text", "value", "provide") for value in _plainer(op, args, key)]
    return [{"do": op, "args": one} for one in plainer if one != args]


def _plainer(op: str, args: JsonMap, key: str) -> list[Json]:
    """A function that does less, and then its answer."""
    if key not in args:
        return []
    provided = read_contribution(op, args).provided
    if provided.part is None:
        return ["x"] if key != "provide" and args[key] != "x" else []
    fewer = [[*provided.script[:at], *provided.script[at + 1 :]] for at in range(len(provided.script))]
    shorter = [provider(provided.part, provided.value, *less, fails=provided.fails) for less in fewer]
    return [provided.value, *shorter]


def tidied(written: Sequence[JsonMap]) -> list[JsonMap]:
    """The same commands; their names are plain as they are.

    Args:
        written: The commands of one example.
    """
    return list(written)
