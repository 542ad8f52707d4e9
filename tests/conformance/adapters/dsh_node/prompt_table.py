"""Every operation of the profile `prompt`, and every kind of its providers, for the session of the table."""

from collections.abc import Mapping, Sequence
from typing import Final

from tests.conformance.adapters.dsh_node.talk import Command

from dshconform.protocol.json_value import Json

SCHEMAS: Final[Command] = {"schemas": [{"name": "offered", "description": "", "parameters": {}}]}

PROMPT_COMMANDS: Final[Sequence[tuple[str, Command]]] = [
    ("prompt.section", {"as": "ps", "name": "s", "order": 1, "text": {"$fn": "section"}}),
    ("prompt.context", {"as": "pc", "name": "c", "order": 1, "text": {"$fn": "context"}}),
    ("prompt.variable", {"as": "pv", "name": "v", "value": {"$fn": "variable"}}),
    ("prompt.tools", {"as": "pt", "provide": {"$fn": "tools", "do": [{"do": "return", "value": SCHEMAS}]}}),
    ("prompt.suppress", {"as": "pn"}),
    ("prompt.assemble", {"task": "p"}),
    ("undo", {"of": "pn"}),
]

PROMPT_RESULTS: Final[Mapping[str, Json]] = {"prompt.assemble": None}
"""The assembly is the value of the task."""
