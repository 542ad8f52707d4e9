"""What no type can tell of the commands on owners, scopes and contexts."""

from typing import Any, Final

import pytest
from tests.conformance.protocol.test_check import bad

from dshconform.protocol.check import check_command

YIELD: Final[dict[str, Any]] = {"do": "yield", "value": {"$fn": "undo"}}
BODY: Final[dict[str, Any]] = {"$fn": "body", "do": [YIELD]}


def test_bodies_alone_yield() -> None:
    """Of the callbacks, only the bodies of plugins and effects hand over what they own."""
    check_command("owner.open", {"owner": "p", "body": BODY})
    check_command("effect", {"as": "e", "body": BODY})
    bad("effect", {"as": "e", "undo": BODY}, "'yield' is for bodies", "undo", "`$.undo.do[0]`")
    bad("observe", {"as": "o", "fn": BODY}, "'yield' is for bodies", "observer")


def test_an_effect_is_a_cleanup_or_a_body() -> None:
    """It has one of the two, and what belongs to a setup with the body only."""
    bad("effect", {"as": "e"}, "an `undo` or a `body`")
    bad("effect", {"as": "e", "undo": {"$fn": "f"}, "body": BODY}, "an `undo` or a `body`")
    bad("effect", {"as": "e", "undo": {"$fn": "f"}, "async": True}, "belong to the `body`")
    check_command("effect", {"as": "e", "body": {"$fn": "f", "do": "gate"}, "async": True, "task": "t"})


@pytest.mark.parametrize("mode", ["serial", "parallel"])
def test_awaited_dispatches_are_followed(mode: str) -> None:
    """A dispatch that is awaited has a task, or a script that awaits it; the others may have one."""
    awaited: dict[str, Any] = {"op": "dispatch", "args": {"mode": mode, "event": "ping"}}
    bad("dispatch", {"mode": mode, "event": "ping"}, "give it a `task`")
    check_command("dispatch", {"mode": mode, "event": "ping", "task": "t"})
    check_command("run", {"task": "r", "do": [awaited | {"await": True}]})
    check_command("dispatch", {"mode": "waterfall", "event": "ping", "task": "t"})
    check_command("dispatch", {"mode": "emit", "event": "ping"})


def test_the_contracts_own_events_are_not_dispatched_by_the_suite() -> None:
    """What the implementation tells is not for the suite to say."""
    bad("dispatch", {"mode": "emit", "event": "agent/status"}, "another name")


def test_the_default_is_that_of_a_waterfall() -> None:
    """No other mode has anything behind its listeners."""
    bad("dispatch", {"mode": "emit", "event": "ping", "default": {"$fn": "d"}}, "only a waterfall")


@pytest.mark.parametrize("other", [{}, {"key": "k", "filter": {"$fn": "f"}}])
def test_a_base_makes_a_carrier(other: dict[str, Any]) -> None:
    """It is carried for a key, and filters for itself."""
    bad("target.new", {"target": "t", "base": "b", **other}, "it needs a `key`")
    check_command("target.new", {"target": "t", "base": {"service": "s"}, "key": None})


def test_a_disposal_may_be_awaited() -> None:
    """A script may wait for the end of an owner, as it may for an undo."""
    check_command("run", {"task": "r", "do": [{"op": "owner.close", "args": {"owner": "p"}, "await": True}]})


def test_filters_and_observers_do_not_wait() -> None:
    """Whoever asks them wants to know at once."""
    bad("target.new", {"target": "t", "filter": {"$fn": "f", "do": "gate"}}, "nobody waits")
    bad("observe", {"as": "o", "fn": {"$fn": "f", "do": [{"do": "pause", "ticks": 1}]}}, "nobody waits")
