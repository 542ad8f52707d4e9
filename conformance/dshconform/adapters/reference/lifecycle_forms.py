"""The forms of what configures agents, and of what a factory is given."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.paths import snake_case
from dshcore.agent import AgentOptions, CreateAgentOptions, ResumeAgentOptions
from dshcore.agent_loop import ConfiguredAgent, FixedIdentity

_ENTRY: Final = frozenset({"id", "sessionId", "resumeSessionId", "provider", "model", "maxTokens", "cwd"})


def read_agents(raw: object) -> list[ConfiguredAgent]:
    """Read the entries of configured agents; their values are passed on unchecked.

    Args:
        raw: The member `agents` of a configuration.

    Returns:
        The entries.

    Raises:
        Fault: They are no list of objects, or one has a member that is none of an entry.
    """
    if not isinstance(raw, Sequence) or isinstance(raw, str):
        raise Fault(f"`agents` must be a list of entries, not {raw!r}")
    return [ConfiguredAgent(**_members(entry, _ENTRY)) for entry in raw]


def read_identities(raw: object) -> dict[str, FixedIdentity]:
    """Read what a launcher fixes, by label.

    Args:
        raw: The member `identities` of a configuration.

    Returns:
        The identities, by label.

    Raises:
        Fault: It is no object of identities.
    """
    if not isinstance(raw, Mapping):
        raise Fault(f"`identities` must go from label to identity, not {raw!r}")
    return {str(label): FixedIdentity(**_members(one, frozenset({"id", "resume"}))) for label, one in raw.items()}


def _members(raw: object, known: frozenset[str]) -> dict[str, Any]:
    if not isinstance(raw, Mapping) or not known.issuperset(raw):
        raise Fault(f"{raw!r} is none: an object with some of {', '.join(sorted(known))} is wanted")
    return {snake_case(str(name)): value for name, value in raw.items()}


def show_options(options: CreateAgentOptions | ResumeAgentOptions) -> dict[str, object]:
    """What a factory was told, under the names of the contract; what was not given is left out.

    Args:
        options: As the loop handed them on.
    """
    shown: dict[str, object]
    if isinstance(options, CreateAgentOptions):
        shown = {"sessionId": options.session_id}
        if options.meta:
            shown["meta"] = options.meta
        if options.seed is not None:
            shown["seed"] = options.seed
    else:
        shown = {"resumeSessionId": options.resume_session_id}
    if options.agent_options != AgentOptions():
        shown["agentOptions"] = options.agent_options
    if options.signal is not None:
        shown["signal"] = options.signal
    return shown
