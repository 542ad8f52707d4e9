"""The block under a clause, in the HTML of the site: closed, it says how much there is; open, what."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from dshconform.spec.markdown import CODE_SPAN
from evidencing.citations import Place
from evidencing.holding import Held, Shown
from evidencing.statuses import Standing

_MANY: Final = 6
"""So many scenarios still get a line each, with their titles."""


@dataclass(frozen=True, slots=True)
class Links:
    """Where something is shown, from the page that the block stands on; nothing where it is not.

    Args:
        code: Where the API catalog documents a place of the reference.
        check: Where a check is drawn.
    """

    code: Callable[[Place], str | None]
    check: Callable[[Held], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of one clause.

    Args:
        code: The places of the reference that cite it.
        uncited: Why none can, where that is said.
        checks: What checks it.
        tests: The project's own tests that cite it.
        faults: What violates it.
        unfaulted: Why none can, where that is said.
        standings: What the last published runs say of it.
    """

    code: Sequence[Place] = ()
    uncited: str | None = None
    checks: Sequence[Held] = ()
    tests: Sequence[Place] = ()
    faults: Sequence[Shown] = ()
    unfaulted: str | None = None
    standings: Sequence[Standing] = ()


def block(evidence: Evidence, links: Links) -> str:
    """Write the block of a clause.

    Args:
        evidence: What is known of the clause.
        links: Where more is shown.

    Returns:
        A `details` element, which the search does not look into: a clause is found by its own words.
    """
    rows = "".join(f"<dt>{label}</dt><dd>{content}</dd>" for label, content in _rows(evidence, links))
    return (
        '<details class="clause-evidence" data-search-exclude>'
        f"<summary>{_summary(evidence)}</summary><dl>{rows}</dl></details>"
    )


def _summary(evidence: Evidence) -> str:
    counts = [
        _count(len(evidence.code), "place in the code", "places in the code"),
        _count(len(evidence.checks), "check", "checks") if evidence.checks or not evidence.tests else "",
        _count(len(evidence.tests), "own test", "own tests") if evidence.tests and not evidence.checks else "",
        _count(len(evidence.faults), "fault", "faults"),
    ]
    badges = "".join(f" {_badge(standing)}" for standing in evidence.standings)
    return f"<b>evidence</b> {' · '.join(count for count in counts if count)}{badges}"


def _badge(standing: Standing) -> str:
    kind = "not-bound" if standing.status is None else standing.status.replace("_", "-")
    return f'<span class="clause-status clause-status--{kind}">{escape(standing.name)} {standing.word}</span>'


def _count(number: int, one: str, several: str) -> str:
    return f"{number or 'no'} {one if number == 1 else several}"


def _rows(evidence: Evidence, links: Links) -> Iterator[tuple[str, str]]:
    if evidence.code:
        yield "code", _list([_linked(_code(place), links.code(place)) for place in evidence.code])
    elif evidence.uncited:
        yield "code", f"None can cite it. {_prose(evidence.uncited)}"
    if evidence.checks:
        yield "checks", _checks(evidence.checks, links)
    elif evidence.tests:
        yield "own tests", _list([_test(place) for place in evidence.tests])
    if evidence.faults:
        yield "faults", _list([_fault(fault) for fault in evidence.faults])
    elif evidence.unfaulted:
        yield "faults", f"None. {_prose(evidence.unfaulted)}"
    for standing in evidence.standings:
        if standing.reason is not None:
            yield escape(standing.name), _prose(standing.reason)


def _list(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _linked(content: str, target: str | None) -> str:
    return content if target is None else f'<a href="{escape(target)}">{content}</a>'


def _code(place: Place) -> str:
    return f"<code>{escape(place.file)}{f' {escape(place.symbol)}' if place.symbol else ''}</code>"


def _test(place: Place) -> str:
    return f"<code>{escape(place.file)}::{escape(place.symbol)}</code>"


def _checks(checks: Sequence[Held], links: Links) -> str:
    """One line for those that are no scenarios; a line for each scenario, unless they are many."""
    scenarios = [check for check in checks if check.title]
    others = [check for check in checks if not check.title]
    lines = [_names(others, links)] if others else []
    if len(scenarios) <= _MANY:
        lines += [f"{_name(check, links)} {_prose(check.title)}" for check in scenarios]
    else:
        lines.append(_names(scenarios, links))
    return _list(lines)


def _names(checks: Sequence[Held], links: Links) -> str:
    return ", ".join(_name(check, links) for check in checks)


def _name(check: Held, links: Links) -> str:
    return _linked(f"<code>{escape(check.name)}</code>", links.check(check))


def _fault(fault: Shown) -> str:
    killed = "" if fault.killed_by is None else f" <small>found by <code>{escape(fault.killed_by)}</code></small>"
    return f"<code>{escape(fault.id)}</code> {_prose(fault.about)}{killed}"


def _prose(markdown: str) -> str:
    """A sentence, with its spans of code."""
    text = escape(" ".join(markdown.split()), quote=False)
    return CODE_SPAN.sub(lambda span: f"<code>{span[0].strip('`')}</code>", text)
