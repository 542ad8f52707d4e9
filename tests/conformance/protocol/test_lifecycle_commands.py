"""What the suite checks of commands about the lifecycle before it sends them."""

import pytest

from dshconform.protocol.check import BadCommandError, check_command
from dshconform.protocol.json_value import Json


def test_a_synchronous_creation_has_no_task() -> None:
    """Without `sync` a creation needs one."""
    check_command("agent.create", {"agent": "a", "sync": True})
    with pytest.raises(BadCommandError, match=r"'agent\.create' is asynchronous"):
        check_command("agent.create", {"agent": "a"})


@pytest.mark.parametrize(("name", "value"), [("task", "t"), ("seed", []), ("signal", None), ("setup", {"$fn": "f"})])
def test_what_a_synchronous_creation_does_not_take(name: str, value: Json) -> None:
    """It is over when the call returns, and has nothing that takes time."""
    with pytest.raises(BadCommandError, match="a creation with `sync` has none of seed, setup, signal, task"):
        check_command("agent.create", {"agent": "a", "sync": True, name: value})


def test_a_function_of_a_stub_is_of_its_kind() -> None:
    """What is called to release does not wait."""
    config: dict[str, Json] = {"kind": "stub", "release": {"$fn": "f", "do": "gate"}}
    with pytest.raises(BadCommandError, match="store/release"):
        check_command("world.open", {"config": {"persistence": config}})
    with pytest.raises(BadCommandError, match="store/release"):
        check_command("world.load", {"task": "t", "part": "persistence", "config": {"release": config["release"]}})
