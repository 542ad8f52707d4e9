"""What no clause decides between two implementations: as a person reads it, and as JSON."""

from collections.abc import Iterator, Mapping, Sequence

from dshconform import __version__
from dshconform.diff.compare import Ambiguity, Comparison
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import PROTOCOL_VERSION, Hello
from dshconform.report.failure_text import clauses_lines, side_by_side, steps_lines, value_lines
from dshconform.report.text import wrapped
from dshconform.running.world import command_of
from dshconform.spec import SPECIFICATION_VERSION
from dshconform.spec.clause import Clause


def ambiguity_lines(
    ambiguity: Ambiguity, names: tuple[str, str], clauses: Mapping[str, Clause], replays: Sequence[str]
) -> Iterator[str]:
    """Write an ambiguity as lines of at most 80 columns, but for words that are longer and the lines that replay it.

    Args:
        ambiguity: What the two do differently, and no clause decides.
        names: What the two implementations are called.
        clauses: The specification's clauses, by id.
        replays: The command lines that replay it.
    """
    worlds = "one world" if ambiguity.found == 1 else f"{ambiguity.found} worlds"
    yield from wrapped(f"{ambiguity.contrast.sentence}, in {worlds}, first of {ambiguity.check}")
    width = max(map(len, names))
    yield from value_lines(f"{names[0]:<{width}}", ambiguity.contrast.left)
    yield from value_lines(f"{names[1]:<{width}}", ambiguity.contrast.right)
    yield ""
    yield from steps_lines(ambiguity.steps, ambiguity.found_after)
    yield ""
    yield from side_by_side(ambiguity.rows, names)
    yield ""
    yield "  nearest, and does not decide it:" if ambiguity.nearest else "  no clause is near"
    yield from (f"  {line}" for line in clauses_lines(ambiguity.nearest, clauses))
    if replays:
        yield ""
        yield from (f"  replay: {line}" for line in replays)


def summary_lines(comparison: Comparison, names: tuple[str, str], clauses: Mapping[str, Clause]) -> Iterator[str]:
    """Write what was compared, and what was found beside the ambiguities.

    Args:
        comparison: What was compared, with its ambiguities left to `ambiguity_lines`.
        names: What the two implementations are called.
        clauses: The specification's clauses, by id.
    """
    if comparison.left_out:
        yield "left out"
        for check, reason in comparison.left_out.items():
            yield from wrapped(f"{check}: {reason}", "  ", hanging="  ")
    if comparison.decided:
        yield "decided by a clause, and listed in no ledger"
        for one in comparison.decided.values():
            named = ", ".join(f"{clause} ({clauses[clause].level})" for clause in one.difference.clauses) or "no clause"
            yield from wrapped(f"{one.side}: {named}: {one.difference.sentence} ({one.check})", "  ", hanging="  ")
    yield f"{names[0]} and {names[1]}: {comparison.worlds:,} pairs of worlds, {comparison.commands:,} commands each"
    places = len(comparison.ambiguities)
    yield f"{places} place{'s' * (places != 1)} that no clause decides"


def report(
    comparison: Comparison,
    hellos: tuple[Hello, Hello],
    names: tuple[str, str],
    *,
    replays: Mapping[str, str],
    seed: int,
    seconds: float,
) -> JsonMap:
    """Write a comparison as JSON. The same comparison gives the same report, `footer.seconds` aside.

    Args:
        comparison: What was compared, and what was found.
        hellos: What the two declared of themselves.
        names: What they are called.
        replays: The file with the example of a place, by place.
        seed: Every random choice followed from it.
        seconds: How long it took.
    """
    return {
        "versions": {"suite": __version__, "specification": SPECIFICATION_VERSION, "protocol": PROTOCOL_VERSION},
        "implementations": [
            {"called": name, "name": one.implementation.name, "version": one.implementation.version}
            for name, one in zip(names, hellos, strict=True)
        ],
        "seed": seed,
        "worlds": comparison.worlds,
        "commands": comparison.commands,
        "ambiguities": [_ambiguity(one, replays.get(place)) for place, one in comparison.ambiguities.items()],
        "decided": [
            {
                "side": one.side,
                "clauses": list(one.difference.clauses),
                "sentence": one.difference.sentence,
                "check": one.check,
                "worlds": one.found,
            }
            for one in comparison.decided.values()
        ],
        "left_out": dict(comparison.left_out),
        "footer": {"complete": comparison.complete, **_cut_short(comparison), "seconds": round(seconds, 1)},
    }


def _ambiguity(one: Ambiguity, replay: str | None) -> JsonMap:
    commands: Sequence[Json] = [command_of(step) for step in one.steps]
    return {
        "place": one.contrast.place,
        "sentence": one.contrast.sentence,
        "left": one.contrast.left,
        "right": one.contrast.right,
        "nearest": list(one.nearest),
        "check": one.check,
        "worlds": one.found,
        "commands": commands,
        "rows": [list(pair) for pair in one.rows.pairs],
        **({} if replay is None else {"replay": replay}),
    }


def _cut_short(comparison: Comparison) -> JsonMap:
    if comparison.fault is not None:
        side, fault = comparison.fault
        return {"fault": {"side": side, "kind": fault.kind, "message": fault.message}}
    return {"interrupted": True} if comparison.interrupted else {}
