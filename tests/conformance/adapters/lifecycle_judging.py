"""What both adapters have to show in that session."""

from tests.conformance.adapters.lifecycle_session import LIFECYCLE_KINDS, LIFECYCLE_RESULTS, LIFECYCLE_SESSION

from dshconform.links.link import Link
from dshconform.protocol.check import check_command
from dshconform.protocol.commands.lifecycle import LIFECYCLE
from dshconform.protocol.kinds import EVENTS, FUNCTIONS


def judge_lifecycle_session(link: Link) -> None:
    """Play it: every operation answers what the table says, and every kind of call has its fields."""
    answered: dict[str, object] = {}
    kinds: dict[str, set[str]] = {}
    tasks: list[object] = []
    for op, args in LIFECYCLE_SESSION:
        check_command(op, args)
        for row in link.call(op, args).observed:
            if row["on"] == "return":
                assert "error" not in row, row
                answered.setdefault(str(row["op"]), row["result"])
            elif row["on"] == "task":
                tasks.append(row.get("value"))
            elif row["on"] in {"gate", "script"}:
                payload = row["payload"]
                assert isinstance(payload, dict)
                kinds.setdefault(str(row["kind"]), set()).update(payload)
    assert answered.keys() >= LIFECYCLE.keys()
    assert {op: answered[op] for op in LIFECYCLE_RESULTS} == LIFECYCLE_RESULTS
    assert kinds == LIFECYCLE_KINDS
    for kind, fields in LIFECYCLE_KINDS.items():
        assert fields == set((EVENTS.get(kind) or FUNCTIONS[kind]).fields or ())
    assert tasks[-1] == "x"  # what the factory of the suite has made
