"""The parts of one composition: they are mounted one by one, so that each can be taken away and mounted again."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.lifecycle_forms import read_agents, read_identities
from dshconform.adapters.reference.prompt_forms import read_options
from dshconform.adapters.reference.stub_persistence import StubPersistence
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import JsonMap
from dshcore.agent import AGENTS, AgentRegistry
from dshcore.context import Context
from dshcore.session import SESSION_PERSISTENCE
from dshcore.spine import (
    PARTS,
    mount_agents,
    mount_llm,
    mount_loop,
    mount_prompt,
    mount_sessions,
    mount_settings,
    mount_tools,
    offer_tools,
)
from dshcore.system_prompt import PromptOptions

_CONFIG: Final = frozenset(
    {"without", "bare", "maxParallelToolCalls", "prompt", "enforce", "agents", "identities", "persistence", "settings"}
)


class Parts:
    """The parts of one composition, by their names.

    Args:
        world: The world that it is in.
        root: Its root context.
    """

    def __init__(self, world: World, root: Context) -> None:
        self._world: Final = world
        self._root: Final = root
        self._mounted: Final[dict[str, Context]] = {}
        self._registry: AgentRegistry | None = None

    def open(self, config: JsonMap) -> None:
        """Mount what a world's configuration says.

        Args:
            config: The member `config` of `world.open`.

        Raises:
            Fault: The configuration asks for what this adapter does not offer.
            Exception: A part does not load.
        """
        if unknown := config.keys() - _CONFIG:
            raise Fault(f"world.open: config {min(unknown)!r} is not offered by this adapter")
        if config.get("bare") is True:
            return
        without = config.get("without", ())
        if not isinstance(without, Sequence) or not frozenset(PARTS).issuperset(without):
            raise Fault(f"world.open: config 'without' must list parts ({', '.join(sorted(PARTS))}), not {without!r}")
        if config.get("settings") is True:
            self.load("settings", config)
        for part in PARTS:
            persistence = config.get("persistence")
            if part == "loop" and isinstance(persistence, Mapping):
                self.load("persistence", persistence)
            if part not in without and (part != "loop" or not without):
                self.load(part, config)
            if part == "tools" and not {"prompt", "tools"} & set(without):
                offer_tools(self._root)

    def load(self, part: str, config: JsonMap) -> None:
        """Mount one part.

        Args:
            part: Its name.
            config: What of a world's configuration is for it.

        Raises:
            Exception: It does not load.
        """
        self._mounted[part] = _MOUNTS[part](self._world, self._root, config)
        if part == "agents":
            self._registry = self._root[AGENTS]

    def unload(self, part: str) -> Awaitable[None]:
        """End one part.

        Returns:
            What waits for its end.

        Raises:
            Fault: It was not mounted.
        """
        if part not in self._mounted:
            raise Fault(f"the part {part!r} is not loaded")
        return self._mounted[part].dispose()

    @property
    def registry(self) -> AgentRegistry:
        """The registry of agents, or the last one that there was.

        Raises:
            Fault: There was none.
        """
        if self._registry is None:
            raise Fault("there has been no registry of agents")
        return self._registry


def _mount_loop(_: World, root: Context, config: JsonMap) -> Context:
    given: dict[str, Any] = {}
    if "maxParallelToolCalls" in config:
        given["max_parallel_tool_calls"] = config["maxParallelToolCalls"]  # raw
    if "agents" in config:
        given["agents"] = read_agents(config["agents"])
    if "identities" in config:
        given["identities"] = read_identities(config["identities"])
    return mount_loop(root, **given)


def _mount_persistence(world: World, root: Context, config: JsonMap) -> Context:
    own = root.open(name="persistence")
    own.provide(SESSION_PERSISTENCE, StubPersistence(world, root, config))
    return own


def _mount_prompt(_: World, root: Context, config: JsonMap) -> Context:
    absent = PromptOptions(include_harness_identity=False)
    return mount_prompt(root, read_options(config["prompt"]) if "prompt" in config else absent)


_MOUNTS: Final[Mapping[str, Callable[[World, Context, JsonMap], Context]]] = {
    "sessions": lambda _, root, config: mount_sessions(root, enforce=config.get("enforce") is True),
    "llm": lambda _, root, __: mount_llm(root),
    "prompt": _mount_prompt,
    "tools": lambda _, root, __: mount_tools(root),
    "agents": lambda _, root, __: mount_agents(root),
    "loop": _mount_loop,
    "settings": lambda _, root, __: mount_settings(root),
    "persistence": _mount_persistence,
}
