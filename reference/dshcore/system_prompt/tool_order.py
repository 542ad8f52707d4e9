"""The order of tools in a prompt: by name, unless one is configured."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, cast

from dshcore import eager
from dshcore.json import Json, JsonObject, freeze, is_array
from dshcore.system_prompt.assembly import AssembleContext
from dshcore.system_prompt.errors import InvalidContribution, InvalidToolOrder

_MEMBERS: Final = ("name", "description", "parameters")

UNLISTED: Final = "<unlisted-tools>"
"""Stands in an order for all tools that it does not list."""


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """What a tool provider contributes to one prompt.

    Attributes:
        schemas: ``{name, description, parameters}`` of each tool on offer.
        known_names: The tools that an order may list although they are not on offer here; by default those that are.
    """

    schemas: Sequence[Mapping[str, Json]]
    known_names: AbstractSet[str] | None = None


ToolProvider = Callable[[AssembleContext], ToolOffer]
"""Tells which tools are on offer."""


def check_order(order: Sequence[str]) -> None:
    """Refuse an order that nothing can be sorted by.

    Raises:
        InvalidToolOrder: It is no list of names, lists one twice, or has no place for the tools that it does not list.

    Spec:
        PROMPT-TOOL-03
    """
    if not is_array(order) or not all(isinstance(name, str) for name in order):
        raise InvalidToolOrder(f"toolOrder must be a list of names, not {order!r}")
    for index, name in enumerate(order):
        if name in order[:index]:
            raise InvalidToolOrder(f'toolOrder lists "{name}" more than once')
    if UNLISTED not in order:
        raise InvalidToolOrder(
            f'toolOrder must contain the "{UNLISTED}" rest entry (where unlisted tools are inserted)'
        )


def offer_of(provider: ToolProvider, context: AssembleContext) -> ToolOffer:
    """Ask a provider what it offers for one prompt.

    Args:
        provider: Is asked.
        context: For whom the prompt is.

    Returns:
        What it offers.

    Raises:
        InvalidContribution: It answers no offer, or one of a tool that lacks what a prompt says of it.
        Exception: What the provider raised.
    """
    offer = cast("object", provider(context))
    if not isinstance(offer, ToolOffer):
        eager.discard(offer)
        raise InvalidContribution(f"the prompt tool provider {provider!r} answered {offer!r}: a ToolOffer is due")
    for schema in offer.schemas:
        lacking = [member for member in _MEMBERS if member not in schema]
        if lacking:
            raise InvalidContribution(
                f"prompt tool provider {provider!r} offers a tool without {lacking[0]!r}: {schema!r}"
            )
    return offer


def collect(offers: Sequence[ToolOffer], order: Sequence[str] | None) -> list[JsonObject]:
    """Answer the tools of all offers, in the order of the prompt.

    Args:
        offers: What the providers contribute.
        order: The configured order, if there is one.

    Raises:
        InvalidToolOrder: A tool has the name that stands for the rest, or the order lists a tool that nobody knows.

    Spec:
        PROMPT-TOOL-01, PROMPT-TOOL-02, PROMPT-TOOL-04, PROMPT-TOOL-05, PROMPT-TOOL-06
    """
    tools = [  # PROMPT-TOOL-06, PROMPT-SEC-06: a deep copy, which nobody can change
        freeze({name: schema[name] for name in _MEMBERS}) for offer in offers for schema in offer.schemas
    ]
    if any(tool["name"] == UNLISTED for tool in tools):
        raise InvalidToolOrder(
            f'tool provider returned reserved tool name "{UNLISTED}" (reserved for toolOrder\'s rest entry)'
        )
    tools.sort(key=lambda tool: code_units(tool["name"]))
    if order is None:
        return tools
    known = {name for offer in offers for name in _known(offer)}
    if strangers := [name for name in order if name != UNLISTED and name not in known]:
        quoted = ", ".join(f'"{name}"' for name in strangers)
        raise InvalidToolOrder(
            f"toolOrder lists unregistered {'tool' if len(strangers) == 1 else 'tools'} {quoted}; "
            f"known tools: {', '.join(sorted(known, key=code_units)) or '(none)'}"
        )
    places = {name: place for place, name in enumerate(order)}
    return sorted(tools, key=lambda tool: places.get(tool["name"], places[UNLISTED]))


def code_units(name: str) -> bytes:
    """Return what names are sorted by: their UTF-16 code units.

    Args:
        name: The name.
    """
    return name.encode("utf-16-be", "surrogatepass")


def _known(offer: ToolOffer) -> AbstractSet[str]:
    return {str(schema["name"]) for schema in offer.schemas} if offer.known_names is None else offer.known_names
