"""What the suite checks of commands about sessions before it sends them."""

import pytest

from dshconform.protocol.check import BadCommandError, check_command
from dshconform.protocol.json_value import JsonMap


@pytest.mark.parametrize(
    "args",
    [
        {"what": "work", "events": []},
        {"what": "surface", "events": []},
        {"what": "requestHeader", "events": [], "from": {}},
        {"what": "todos", "events": []},
        {"what": "canonical", "header": {}},
        {"what": "equal", "a": {}, "b": {}},
        {"what": "message", "event": {}},
    ],
    ids=lambda args: str(args["what"]),
)
def test_a_fold_has_what_it_is_of(args: JsonMap) -> None:
    """Each of its members is needed, but for the header that was in force before."""
    check_command("fold", args)
    for name in args.keys() - {"what", "from"}:
        less = {key: value for key, value in args.items() if key != name}
        with pytest.raises(BadCommandError, match=f"a fold of '{args['what']}' needs '{name}'"):
            check_command("fold", less)


def test_a_flush_is_followed() -> None:
    """It is asynchronous; a creation is not."""
    check_command("session.create", {"session": "s"})
    check_command("session.flush", {"session": "s", "task": "t"})
    with pytest.raises(BadCommandError, match=r"'session\.flush' is asynchronous"):
        check_command("session.flush", {"session": "s"})
