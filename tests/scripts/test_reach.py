"""`scripts/reach.py`: targeting brings more different histories, and the table says so."""

import sys

import pytest
import reach
from typeguard import suppress_type_checks

from dshconform.checks.catalog import MODELS


@suppress_type_checks
@pytest.mark.parametrize("contract", ["inbox", "turn", "scheduling"])
def test_targeting_reaches_more(contract: str) -> None:
    """More pairs and triples of cells, in as many examples."""
    without, aimed = (reached_by(contract, choosing) for choosing in (reach.proposed, reach.targeted))
    assert aimed[1] > without[1]
    assert aimed[2] > without[2]


def reached_by(contract: str, choosing: reach.Choosing) -> tuple[int, int, int]:
    return reach.reached(MODELS[contract], choosing, examples=12, seed=1)


@suppress_type_checks
def test_the_table_has_a_line_for_each(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Machine, seed and way of choosing, at 80 columns."""
    monkeypatch.setattr(sys, "argv", ["reach.py", "--examples", "1", "--seed", "5"])
    assert reach.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 * len(MODELS)
    assert max(map(len, lines)) <= 80
    assert all(line.startswith(contract) for line, contract in zip(lines[1::2], MODELS, strict=True))
