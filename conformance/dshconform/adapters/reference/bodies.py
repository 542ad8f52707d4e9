"""Bodies that hand over what they own one by one: their scripts are iterators, asynchronous ones where they wait."""

from collections.abc import AsyncIterator, Iterator

from dshconform.adapters.reference.actions import step, wait, waits
from dshconform.adapters.reference.calls import Call
from dshconform.adapters.reference.endings import Answer, Ending, Fail
from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.places import Place
from dshconform.adapters.reference.values import decode
from dshconform.protocol.json_value import JsonMap


def yields(call: Call) -> bool:
    """Whether the script of a call hands over something."""
    return call.kind.owns and any(_is_yield(action) for action in call.script)


def hand_over(call: Call) -> Iterator[object] | AsyncIterator[object]:
    """Answer a call whose script yields."""
    call.announce()
    if not any(waits(call, action) for action in call.script):
        return _parts(call)
    if call.kind.waits:
        return _later_parts(call)
    call.world.fault(Fault(f"{call.title}: a function of this kind cannot wait"))
    return iter(())


def _parts(call: Call) -> Iterator[object]:
    try:
        for index, action in enumerate(call.script):
            place = call.place.inside(index)
            if _is_yield(action):
                yield _part(call, action, place)
                continue
            ending = step(call, action, place)
            if ending is not None:
                yield _last(ending)
                return
    except Fault as fault:
        call.world.fault(fault)
    finally:
        call.close()


async def _later_parts(call: Call) -> AsyncIterator[object]:
    try:
        for index, action in enumerate(call.script):
            place = call.place.inside(index)
            if _is_yield(action):
                yield _part(call, action, place)
                continue
            if action.get("do") == "gate":
                yield await call.wait_at_gate()
                return
            ending: Ending | None
            if waits(call, action):
                ending = await wait(call, action, place)
            else:
                ending = step(call, action, place)
            if ending is not None:
                yield _last(ending)
                return
    except Fault as fault:
        call.world.fault(fault)
    finally:
        call.close()


def _is_yield(action: JsonMap) -> bool:
    return action.get("do") == "yield"


def _part(call: Call, action: JsonMap, place: Place) -> object:
    return call.kind.answer(decode(action["value"], call.world.scope(place)), call)


def _last(ending: Ending) -> object:
    """What a script that ends its call hands over at last: what it returns, which may be nothing."""
    if isinstance(ending, Fail):
        raise ending.error
    return ending.value if isinstance(ending, Answer) else None
