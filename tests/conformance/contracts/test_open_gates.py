"""What answers a gate is legal only while a gate of that kind waits."""

from typing import Final

import pytest
from typeguard import suppress_type_checks

from dshconform.checks.catalog import MODELS
from dshconform.contracts.agent_model import AgentModel
from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.model import Model
from dshconform.contracts.turn_commands import kind_of_gate
from dshconform.protocol.json_value import JsonMap

OF_AGENTS: Final = [model_type for model_type in MODELS.values() if issubclass(model_type, AgentModel)]


@pytest.mark.parametrize("model_type", OF_AGENTS, ids=lambda model_type: model_type.name)
@suppress_type_checks
def test_no_answer_is_legal_where_no_such_gate_waits(model_type: type[Model]) -> None:
    """Pieces of prologues are tried everywhere, and a minimiser leaves out what opened the gate."""
    prologues = model_type().prologues()
    answers: dict[tuple[str, str], JsonMap] = {}
    for command in (command for prologue in prologues for command in prologue):
        op, args = read_command(command)
        kind = kind_of_gate(args)
        if kind is not None:
            answers[op, kind] = command
    assert answers
    refused = 0
    for prologue in prologues:
        model = model_type()
        assert isinstance(model, AgentModel)
        model.opening()
        for command in prologue:
            for (op, kind), answer in answers.items():
                if kind not in model.agent.waiting:
                    assert not model.legal(answer), (op, kind, model.agent.waiting)
                    refused += 1
            model.apply(command)
    assert refused > len(prologues)
