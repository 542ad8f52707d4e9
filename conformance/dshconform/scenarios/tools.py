"""Definitions of tools, in short.

`{$tool: echo, do: gate}` is a tool that takes any arguments and answers any value. Its body is the function `echo`,
which follows `do` (or `calls`, `abort`, `onAbort`, `watch`, as every function of the suite); without a script it
answers null at once. A success is rendered as the text `echo`.

`safe: true` makes its calls parallel, a script there (`safe: [{do: return, value: 1}]`) is the classifier's; without
`safe` there is no classifier.
"""

from typing import Final

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.model_scripts import MacroError, text_of

_BODY: Final = ("do", "calls", "when", "abort", "onAbort", "watch")


def definition(written: JsonMap) -> JsonMap:
    """Write a tool's definition out.

    Args:
        written: As in the module's description.

    Raises:
        MacroError: It has another member.
    """
    name = text_of("$tool", written["$tool"])
    unknown = written.keys() - {"$tool", "safe", *_BODY}
    if unknown:
        raise MacroError(f"a $tool has no {min(unknown)!r}: it has safe, {', '.join(_BODY)}")
    body: dict[str, Json] = {"$fn": name, **{key: written[key] for key in _BODY if key in written}}
    shown: Json = [{"do": "return", "value": [{"type": "text", "text": name}]}]
    whole: dict[str, Json] = {
        "name": name,
        "description": name,
        "parameters": {"type": "object"},
        "output": {"schema": {}, "render": {"$fn": f"{name}.render", "do": shown}},
        "execute": body,
    }
    if "safe" in written:
        safe = written["safe"]
        script: Json = [{"do": "return", "value": safe}] if isinstance(safe, bool) else safe
        whole["isConcurrencySafe"] = {"$fn": f"{name}.safe", "do": script}
    return whole
