import re

import pytest
from click.testing import CliRunner, Result

from dshconform.checks.catalog import all_checks
from dshconform.cli import cli
from dshconform.spec import load_specification


def list_clauses(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["list", "clauses", *arguments])


def listed(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return re.findall(r"(?m)^([A-Z0-9]+-[A-Z0-9]+-\d{2}) ", result.output)


def test_all_clauses_are_listed_in_the_order_of_the_pages() -> None:
    """One line each, and their number at the end."""
    result = list_clauses()
    assert listed(result) == list(load_specification().clauses)
    assert re.search(
        rf"\n\n{len(load_specification().clauses)} clauses: \d+ must, \d+ should, \d+ may\n$", result.output
    )


def test_no_line_is_longer_than_80_columns() -> None:
    """A text that does not fit ends in an ellipsis."""
    lines = list_clauses().output.splitlines()
    assert max(map(len, lines)) == 80
    assert any(line.endswith("…") for line in lines)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--group", "INBOX-CLAIM"),
        ("--group", "inbox-claim"),
        ("--group", "INBOX-CLAIM", "--profile", "core", "--level", "must"),
    ],
)
def test_a_choice_narrows_the_list(arguments: tuple[str, ...]) -> None:
    """Group, profile and level can be combined."""
    ids = listed(list_clauses(*arguments))
    assert ids
    assert {name.rpartition("-")[0] for name in ids} == {"INBOX-CLAIM"}


def test_levels_and_profiles_can_be_repeated() -> None:
    """Each adds to the choice."""
    ids = listed(list_clauses("--level", "should", "--level", "may", "--profile", "llm", "--profile", "core"))
    chosen = [load_specification().clauses[name] for name in ids]
    assert {clause.level for clause in chosen} == {"should", "may"}
    assert {clause.profile for clause in chosen} == {"llm", "core"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--group", "INBOX-CLAM"), "near misses: INBOX-CLAIM"),
        (("--level", "shall"), "'shall' is not one of 'must', 'should', 'may'"),
        (("--profile", "kernel"), "'kernel' is not one of"),
        (("--level", "may", "--profile", "core"), "no clause fits this choice"),
    ],
)
def test_a_choice_of_nothing_is_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    """Status 2, with what can be done about it."""
    result = list_clauses(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_implementations_are_listed_with_what_they_are() -> None:
    """So that `run` can be told which one to judge."""
    result = CliRunner().invoke(cli, ["list", "implementations"])
    assert result.exit_code == 0
    assert re.search(r"(?m)^reference +dshcore", result.output)
    assert re.search(r"(?m)^dsh-node +the published packages", result.output)


def test_checks_are_listed_with_their_contract() -> None:
    """One line each, so that `run --check` and `run --contract` can be given what exists."""
    result = CliRunner().invoke(cli, ["list", "checks"])
    assert result.exit_code == 0
    assert re.search(r"(?m)^machine/inbox +inbox +core +\d+$", result.output)
    assert re.search(r"(?m)^scenario/queue +turn ", result.output)


def test_checks_can_be_narrowed_to_a_contract() -> None:
    """The others are left out."""
    result = CliRunner().invoke(cli, ["list", "checks", "--contract", "inbox"])
    contracts = {line.split()[1] for line in result.output.splitlines()[1:]}
    assert contracts == {"inbox"}


def test_an_unknown_contract_is_wrong_usage() -> None:
    """Status 2, with the near miss."""
    result = CliRunner().invoke(cli, ["list", "checks", "--contract", "inbx"])
    assert result.exit_code == 2
    assert "did you mean inbox?" in result.stderr


def test_contracts_are_listed_with_the_number_of_their_checks() -> None:
    """So that `run --contract` can be given what exists."""
    result = CliRunner().invoke(cli, ["list", "contracts"])
    assert result.exit_code == 0
    listed = dict(re.findall(r"(?m)^(\S.*?)  +(\d+)$", result.output))
    assert "inbox" in listed
    assert sum(map(int, listed.values())) == len(all_checks())


def test_a_list_that_there_is_not_is_wrong_usage() -> None:
    """Status 2, with the near miss."""
    result = CliRunner().invoke(cli, ["list", "contract"])
    assert result.exit_code == 2
    assert "there is no list 'contract'; did you mean contracts?" in result.stderr


def test_the_help_names_every_list_in_full() -> None:
    """The help of the command and of the program agree, and no line of it is cut."""
    own = CliRunner().invoke(cli, ["list", "--help"]).output
    whole = CliRunner().invoke(cli, ["--help"]).output
    told = "List clauses, checks, contracts or implementations."
    assert told in own
    assert told in whole
    assert re.findall(r"(?m)^  (\w+)  ", own.partition("Commands:")[2]) == [
        "checks",
        "clauses",
        "contracts",
        "implementations",
    ]
    assert "..." not in own.partition("Commands:")[2]
