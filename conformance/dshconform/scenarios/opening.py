"""What stands before the steps of a scenario that names its model: the world, the tools, the model, the agents.

world: {maxParallelToolCalls: 2}      # the configuration of the world; may be left out
tools: [{$tool: echo}]                # definitions, each registered under its name; may be left out
model: [{$text: hi}]                  # a script for each request: `dshconform.scenarios.model_scripts`
abort: manual                         # of the model's function; auto unless given
agents: [a, b]                        # or {a: {maxTokens: 5}}, with options; [a] unless given
"""

from collections.abc import Mapping
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import Step
from dshconform.scenarios.macros import expand
from dshconform.scenarios.model_scripts import MacroError, read_scripts, text_of

MEMBERS: Final = ("world", "tools", "model", "abort", "agents")
"""The members of a scenario that make its world."""

_OPTIONS: Final[JsonMap] = {"provider": "mock", "model": "m1"}


def opening(document: JsonMap) -> list[Step]:
    """Answer the steps that a scenario's members stand for; none if it opens its world itself.

    Args:
        document: A scenario as its file has it.

    Raises:
        MacroError: A member is wrong, or needs `model` beside it.
    """
    if "model" not in document:
        lonely = [name for name in MEMBERS if name in document]
        if lonely:
            raise MacroError(f"`{lonely[0]}` needs `model` beside it: without, the steps open the world themselves")
        return []
    model = {"$fn": "model", "calls": expand(read_scripts(document["model"])), "abort": document.get("abort", "auto")}
    return [
        Step("world.open", {"config": document["world"]} if "world" in document else {}),
        *(Step("tool.register", {"as": name, "definition": tool}) for name, tool in _tools(document.get("tools", []))),
        Step("model.register", {"as": "model", "routes": ["mock"], "stream": model}),
        *(
            Step("agent.create", {"task": f"create-{agent}", "agent": agent, "options": {**_OPTIONS, **options}})
            for agent, options in _agents(document.get("agents", ["a"])).items()
        ),
    ]


def _tools(written: Json) -> list[tuple[str, Json]]:
    if not isinstance(written, list) or not all(isinstance(tool, Mapping) and "$tool" in tool for tool in written):
        raise MacroError(f"`tools` must be a list of definitions, each a `$tool`, not {written!r}")
    return [(text_of("$tool", tool["$tool"]), expand(tool)) for tool in written if isinstance(tool, Mapping)]


def _agents(written: Json) -> Mapping[str, JsonMap]:
    if isinstance(written, list):
        return {text_of("`agents`", agent): {} for agent in written}
    if isinstance(written, Mapping) and all(isinstance(options, Mapping) for options in written.values()):
        return {agent: options for agent, options in written.items() if isinstance(options, Mapping)}
    raise MacroError(f"`agents` must be a list of names, or go from name to options, not {written!r}")
