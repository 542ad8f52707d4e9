"""Faults of dispatches and services: who is called, in which order, and in which realm."""

from typing import Final

from dshconform.faults.contexts import TAKEN
from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore.context import context, listeners
from dshcore.context.context import Context
from dshcore.context.listeners import Listeners
from dshcore.context.services import Services

_EMITTED: Final = 'for listener in self._audience("emit", key, payload, to):\n'
GLOBAL: Final = edit(listeners, "_admitted", ("entry.everywhere or to.admits", "to.admits"))
"""A receiver is asked about global listeners, too."""

DISPATCH_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "nobody-goes-first",
        "EVT-ON-01",
        "A listener that is prepended is put at the end.",
        edit(Listeners, "add", ("(listener, *present) if prepend else (*present, listener)", "(*present, listener)")),
    ),
    Fault(
        "removed-by-callback",
        "EVT-ON-02",
        "A disposer removes the first listener that has the same callback.",
        edit(
            Listeners,
            "remove",
            (
                "    rest = tuple(entry for entry in self._lists.get(key, ()) if entry is not listener)\n",
                (
                    "    rest = list(self._lists.get(key, ()))\n"
                    "    rest.remove(next(entry for entry in rest if entry.call is listener.call))\n"
                    "    rest = tuple(rest)\n"
                ),
            ),
        ),
    ),
    Fault(
        "waiting-owners-hear-nothing",
        "EVT-ON-03",
        "The listeners of a plugin that waits for a service are not called.",
        edit(
            Listeners,
            "_audience",
            (
                "    return present if to is None",
                "    return tuple(entry for entry in present if entry.via.fiber.is_loaded) if to is None",
            ),
        ),
    ),
    Fault(
        "once-is-after-the-call",
        "EVT-ONCE-01",
        "A once-listener is removed when it has answered.",
        edit(
            Context,
            "on",
            ("            disposer()", "            answer = listener(*arguments)\n            disposer()"),
            ("            return listener(*arguments)", "            return answer"),
        ),
    ),
    Fault(
        "removed-meanwhile",
        "EVT-SNAP-01",
        "A listener that is removed during a dispatch does not hear it.",
        edit(
            Listeners,
            "emit",
            (
                "    " + _EMITTED,
                f"    {_EMITTED}        if listener not in self._lists.get(key, ()):\n            continue\n",
            ),
        ),
    ),
    Fault(
        "filters-are-asked-one-by-one",
        "EVT-SNAP-02",
        "A receiver is asked about a listener when its turn has come.",
        edit(listeners, "_admitted", ("tuple([", "("), ("(entry.via)])", "(entry.via))")),
    ),
    Fault(
        "receivers-are-not-asked",
        "EVT-FILT-01",
        "The filter of a receiver is not applied.",
        edit(listeners, "_admitted", ("entry.everywhere or to.admits(entry.via)", "True")),
    ),
    Fault("global-listeners-are-filtered", "EVT-FILT-02", "A receiver is asked about global listeners, too.", GLOBAL),
    Fault(
        "inner-dispatch-waits",
        "EVT-NEST-01",
        "A dispatch from within a listener begins when the outer one has ended.",
        edit(
            Listeners,
            "emit",
            (
                "    " + _EMITTED,
                (
                    '    if "outer" in self.__dict__:\n'
                    "        asyncio.get_running_loop().call_soon(self.emit, key, payload, to)\n"
                    "        return\n"
                    "    self.outer = key\n"
                    '    asyncio.get_running_loop().call_soon(self.__dict__.pop, "outer")\n'
                    f"    {_EMITTED}"
                ),
            ),
        ),
    ),
    Fault(
        "first-answer-ends-an-emit",
        "EVT-EMIT-01",
        "An emit ends at the first listener that answers something.",
        edit(
            Listeners,
            "emit",
            (
                "        self._tell(listener, key, payload)",
                (
                    "        outcome = listener.call(payload)\n"
                    "        if outcome and not isinstance(outcome, Awaitable):\n            return"
                ),
            ),
        ),
    ),
    Fault(
        "failures-are-passed-over",
        "EVT-EMIT-02",
        "A listener that fails does not end a plain emit.",
        edit(Listeners, "_tell", ("        if not key.contained:", "        if False:")),
    ),
    Fault(
        "emits-wait",
        "EVT-EMIT-03",
        "An emit goes on to the next listener when an asynchronous one has ended.",
        edit(
            Listeners,
            "emit",
            ("for listener in self._audience(", "audience = iter(self._audience("),
            (
                "to):\n        self._tell(listener, key, payload)",
                (
                    "to))\n"
                    "    for listener in audience:\n"
                    "        outcome = listener.call(payload)\n"
                    "        if isinstance(outcome, Awaitable):\n"
                    "            asyncio.ensure_future(_await(outcome)).add_done_callback(\n"
                    "                lambda _: [self._tell(one, key, payload) for one in audience]\n"
                    "            )\n"
                    "            return"
                ),
            ),
        ),
    ),
    Fault(
        "only-true-answers-stop",
        "EVT-SER-01",
        "Zero and the empty text do not end a serial dispatch.",
        edit(Listeners, "serial", ("value is not None and value is not False", "value")),
    ),
    Fault(
        "serial-goes-on-after-a-failure",
        "EVT-SER-02",
        "A listener that fails does not end a serial dispatch.",
        edit(
            Listeners,
            "serial",
            ("        value: R | None = await", "        try:\n            value: R | None = await"),
            (
                " if isinstance(outcome, Awaitable) else outcome\n",
                " if isinstance(outcome, Awaitable) else outcome\n        except Exception:\n            continue\n",
            ),
        ),
    ),
    Fault(
        "first-failure-settles",
        "EVT-PAR-01",
        "A parallel dispatch settles when one of its listeners has failed.",
        edit(
            listeners,
            "_join",
            (
                "    cancelled = await all_ended(tasks)\n",
                (
                    "    cancelled = None\n    if tasks:\n"
                    "        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)\n"
                ),
            ),
            ("for task in tasks:  # EVT-PAR-02", "for task in filter(asyncio.Task.done, tasks):  # EVT-PAR-02"),
        ),
    ),
    Fault(
        "single-failure-is-bare",
        "EVT-PAR-02",
        "A parallel dispatch fails with the error of its listener itself.",
        edit(listeners, "_join", ("        raise ListenersFailed(key.name, errors)", "        raise errors[0]")),
    ),
    Fault(
        "listeners-in-a-row",
        "EVT-WF-01",
        "The listeners of a waterfall get the result of the one before, the first that of the default.",
        edit(
            Listeners,
            "waterfall",
            (
                "    return next_layer()",
                (
                    "    answer = default()\n"
                    "    for listener in rest:\n"
                    "        answer = listener.call(payload, lambda *_, value=answer: value)\n"
                    "    return answer"
                ),
            ),
        ),
    ),
    Fault(
        "default-runs-anyway",
        "EVT-WF-02",
        "Behind a listener that does not call the next one, the default runs all the same.",
        edit(
            Listeners,
            "waterfall",
            (
                "    return next_layer()",
                "    answer = next_layer()\n    if next(rest, None) is not None:\n        default()\n    return answer",
            ),
        ),
    ),
    Fault(
        "next-takes-arguments",
        "EVT-WF-03",
        "What is given to `next` is what the next listener gets.",
        edit(
            Listeners,
            "waterfall",
            ("listener.call(payload, next_layer)", "listener.call(list(_ignored) or payload, next_layer)"),
        ),
    ),
    Fault(
        "every-listener-has-its-own-next",
        "EVT-WF-04",
        "A second call of `next` calls the following listeners again.",
        edit(
            Listeners,
            "waterfall",
            ('iter(self._audience("waterfall", key, payload, to))', 'self._audience("waterfall", key, payload, to)'),
            ("def next_layer(*_ignored: object) -> R:", "def next_layer(*_ignored: object, at: int = 0) -> R:"),
            ("listener = next(rest, None)", "listener = rest[at] if at < len(rest) else None"),
            ("listener.call(payload, next_layer)", "listener.call(payload, lambda *_: next_layer(at=at + 1))"),
        ),
    ),
    Fault(
        "failing-layer-is-passed-over",
        "EVT-WF-05",
        "Where a listener fails the chain goes on behind it.",
        edit(
            Listeners,
            "waterfall",
            (
                "        answer: R = listener.call(payload, next_layer)\n",
                (
                    "        try:\n            answer: R = listener.call(payload, next_layer)\n"
                    "        except Exception:\n            return next_layer()\n"
                ),
            ),
        ),
    ),
    Fault(
        "observers-of-listeners",
        "EVT-INT-01",
        "An observer is told of a dispatch only if somebody listens.",
        edit(Listeners, "_audience", ("    if DISPATCH in self._lists and", "    if key in self._lists and")),
    ),
    Fault(
        "failing-observer-is-passed-over",
        "EVT-INT-02",
        "An observer that fails does not end the dispatch.",
        edit(
            Listeners,
            "_audience",
            (
                "        self.emit(DISPATCH, Dispatch(mode, key.name, payload, to), None)\n",
                (
                    "        try:\n            self.emit(DISPATCH, Dispatch(mode, key.name, payload, to), None)\n"
                    "        except Exception:\n            pass\n"
                ),
            ),
        ),
    ),
    Fault("second-claimant-takes-over", "SVC-CLAIM-01", "The second service of a key replaces the first one.", TAKEN),
    Fault(
        "realms-fall-back",
        "SVC-REALM-01",
        "What is not provided in a realm is looked for outside.",
        edit(
            Services,
            "available",
            (
                "self._provisions.get(place)",
                "self._provisions.get(place) or self._provisions.get((place[0], OUTER))",
            ),
        ),
    ),
    Fault(
        "one-realm-for-each-key",
        "SVC-REALM-02",
        "All isolations of a key share one realm.",
        edit(Context, "isolate", ("Realm(object() if label is None else label)", 'Realm("realm")')),
    ),
    Fault(
        "services-reach-every-realm",
        "SVC-REALM-03",
        "An event whose receiver is a service is heard in all realms.",
        edit(context._InRealm, "admits", ("context.place(self.place[0]) == self.place", "True")),  # noqa: SLF001
    ),
)
"""Each is found by a scenario that cites the clause."""
