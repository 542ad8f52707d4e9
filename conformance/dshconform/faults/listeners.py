"""Faults of how listeners are called."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshcore.context.listeners import Listeners

_AUDIENCE: Final = 'self._audience("emit", key, payload, to)'
_OUTER: Final = f"for listener in {_AUDIENCE}:\n"

LISTENER_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "first-failure-starves-the-others",
        "EVENTS-EMIT-01",
        "Behind a listener that throws no other is called.",
        together(
            edit(Listeners, "_tell", ("        return\n", "        return True\n")),
            edit(
                Listeners,
                "emit",
                (
                    "        self._tell(listener, key, payload)",
                    "        if self._tell(listener, key, payload):\n            return",
                ),
            ),
        ),
    ),
    Fault(
        "rejections-are-not-logged",
        "EVENTS-EMIT-01",
        "A listener whose awaitable fails is not told of in the log.",
        edit(
            Listeners, "_let_run", ('            _report(key, payload, "rejected", error)\n\n', "            pass\n\n")
        ),
    ),
    Fault(
        "audience-is-read-as-it-goes",
        "EVENTS-EMIT-02",
        "A listener that is added during a dispatch hears it too.",
        edit(
            Listeners,
            "emit",
            (
                "    " + _OUTER,
                (
                    "    called = []\n"
                    f"    while waiting := [one for one in {_AUDIENCE} if one not in called]:\n"
                    "        listener = waiting[0]\n        called.append(listener)\n"
                ),
            ),
        ),
    ),
    Fault(
        "removed-listener-is-not-called",
        "EVENTS-EMIT-02",
        "A listener that is removed during a dispatch does not hear it any more.",
        edit(
            Listeners,
            "emit",
            (
                "    " + _OUTER,
                f"    {_OUTER}        if listener not in {_AUDIENCE}:\n            continue\n",
            ),
        ),
    ),
    Fault(
        "emissions-are-queued",
        "EVENTS-EMIT-02",
        "An emission from within a listener is delivered when the outer one is done.",
        edit(
            Listeners,
            "emit",
            (
                "    " + _OUTER,
                (
                    '    queue = self.__dict__.setdefault("queue", [])\n'
                    '    if not key.name.startswith("agent/"):\n        queue = []\n'
                    "    queue.append((key, payload, to))\n"
                    "    if len(queue) > 1:\n        return\n"
                    "    while queue:\n"
                    "        key, payload, to = queue[0]\n"
                    f"        for listener in {_AUDIENCE}:\n"
                    "            try:\n                listener.call(payload)\n"
                    '            except Exception as error:\n                _report(key, payload, "threw", error)\n'
                    "        queue.pop(0)\n"
                    "    for listener in ():\n"
                ),
            ),
        ),
    ),
    Fault(
        "stopping-listeners-overlap",
        "EVENTS-SERIAL-02",
        "The listeners of agent/turn-stopping run at the same time.",
        edit(
            Listeners,
            "serial",
            (
                f"    for listener in {_AUDIENCE.replace('emit', 'serial')}:\n",
                (
                    f"    await asyncio.gather(*(_run(listener, payload) for listener in {_AUDIENCE}))\n"
                    "    for listener in ():\n"
                ),
            ),
        ),
    ),
    Fault(
        "waterfall-is-a-pipeline",
        "EVENTS-WATER-01",
        "Every listener of a waterfall is run, whatever the others do.",
        edit(
            Listeners,
            "waterfall",
            (
                "    return next_layer()",
                (
                    "    async def each():\n"
                    "        answer = await default()\n"
                    f"        for listener in {_AUDIENCE}:\n"
                    "            current = answer\n"
                    "            async def same():\n                return current\n"
                    "            answer = await listener.call(payload, same)\n"
                    "        return answer\n"
                    '    return each() if key.name.startswith("agent/") else next_layer()'
                ),
            ),
        ),
    ),
    Fault(
        "last-listener-is-outermost",
        "EVENTS-WATER-01",
        "The listener that was registered last stands outermost.",
        edit(Listeners, "waterfall", ("payload, to))", "payload, to)[::-1])")),
    ),
    Fault(
        "prepended-goes-last",
        "EVENTS-WATER-01",
        "A prepended listener stands behind the others.",
        edit(Listeners, "add", ("(listener, *present) if prepend else ", "")),
    ),
    Fault(
        "failing-hook-means-the-default",
        "EVENTS-WATER-02",
        "Where a hook fails the default is used.",
        edit(
            Listeners,
            "waterfall",
            (
                "    return next_layer()",
                (
                    "    async def forgiving():\n"
                    "        try:\n            return await next_layer()\n"
                    "        except Exception:\n            return await default()\n"
                    '    return forgiving() if key.name.startswith("agent/") else next_layer()'
                ),
            ),
        ),
    ),
    Fault(
        "scopes-are-ignored",
        "EVENTS-SCOPE-01",
        "A listener of one agent's scope hears all agents.",
        edit(Listeners, "_audience", ("if to is None else", "if True else")),
    ),
    Fault(
        "session-events-know-no-scope",
        "EVENTS-SCOPE-01",
        "A listener of one agent's scope hears the sessions of all agents.",
        edit(Listeners, "_audience", ("if to is None else", 'if to is None or key.name == "session/event" else')),
    ),
)
