import msgspec

from dshconform.adapters.reference.dispatch import TABLE
from dshconform.protocol.commands import OPERATIONS

ELSEWHERE = {"hello", "world.close"}
"""Operations that need no world and are not in the table."""


def test_every_operation_of_the_protocol_takes_its_arguments() -> None:
    """The adapter's table and the protocol's agree, operation by operation."""
    offered = {op for op in OPERATIONS if op not in ELSEWHERE}
    assert offered == TABLE.keys()
    for op in sorted(offered):
        fields = msgspec.structs.fields(OPERATIONS[op].args)
        given = {*TABLE[op].required, *TABLE[op].optional}
        assert given == {field.encode_name for field in fields}, op
        required = {field.encode_name for field in fields if field.required}
        if op != "model.register":  # `stream` is not needed where an earlier adapter is registered again
            assert set(TABLE[op].required) - {"task"} == required - {"task"}, op
