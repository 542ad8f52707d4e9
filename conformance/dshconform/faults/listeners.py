"""Faults of how listeners are called, of the fold of consumed work, and of an agent's coming and going."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshcore.agent import consumed_work
from dshcore.agent.registry import AgentRegistry
from dshcore.agent_loop import creation
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.creation import _Life as Life
from dshcore.context.listeners import Listeners

OUTER: Final = "for listener in self._audience(key, scope):\n"

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
                "    " + OUTER,
                (
                    "    called = []\n"
                    "    while waiting := [one for one in self._audience(key, scope) if one not in called]:\n"
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
                "    " + OUTER,
                f"    {OUTER}        if listener not in self._audience(key, scope):\n            continue\n",
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
                "    " + OUTER,
                (
                    '    queue = self.__dict__.setdefault("queue", [])\n'
                    '    if not key.name.startswith("agent/"):\n        queue = []\n'
                    "    queue.append((key, payload, scope))\n"
                    "    if len(queue) > 1:\n        return\n"
                    "    while queue:\n"
                    "        key, payload, scope = queue[0]\n"
                    "        for listener in self._audience(key, scope):\n"
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
                "    " + OUTER,
                (
                    "    await asyncio.gather(*(_run(listener, payload) for listener in self._audience(key, "
                    "scope)))\n"
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
                    "        for listener in self._audience(key, scope):\n"
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
        edit(Listeners, "waterfall", ("iter(self._audience(key, scope))", "iter(self._audience(key, scope)[::-1])")),
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
        edit(Listeners, "_audience", ("if not key.scoped:", "if True:")),
    ),
    Fault(
        "session-events-know-no-scope",
        "EVENTS-SCOPE-01",
        "A listener of one agent's scope hears the sessions of all agents.",
        edit(Listeners, "_audience", ("if not key.scoped:", 'if not key.scoped or key.name == "session/event":')),
    ),
    Fault(
        "any-turn-accounts",
        "WORK-FOLD-01",
        "The last turn counts, whether it did anything or not.",
        edit(
            consumed_work,
            "fold_consumed_work",
            ('if stepped or (claimed and data["reason"]["kind"] != "completed"):', "if True:"),
        ),
    ),
    Fault(
        "emptied-turn-accounts",
        "WORK-FOLD-01",
        "A turn that claimed input and completed without a step counts.",
        edit(consumed_work, "fold_consumed_work", ('(claimed and data["reason"]["kind"] != "completed")', "claimed")),
    ),
    Fault(
        "claim-outside-a-turn-counts",
        "WORK-FOLD-02",
        "A claim outside an open turn is credited to the next ending.",
        edit(consumed_work, "fold_consumed_work", ("claimed = claimed or turn_open", "claimed = True")),
    ),
    Fault(
        "cancelled-removal-is-a-claim",
        "WORK-FOLD-02",
        "A removal that was a cancellation counts as a claim.",
        edit(consumed_work, "fold_consumed_work", ('elif "outcome" not in data:', "if True:")),
    ),
    Fault(
        "replacement-is-dropped-work",
        "WORK-FOLD-03",
        "A replacement counts as dropped work.",
        edit(consumed_work, "fold_consumed_work", ('dropped or not data["inserted"]', "True")),
    ),
    Fault(
        "drop-is-never-forgotten",
        "WORK-FOLD-03",
        "Dropped work is told of although a turn has ended since.",
        edit(consumed_work, "fold_consumed_work", ("end, dropped = event, False", "end = event")),
    ),
    Fault(
        "agent-is-found-while-it-is-disposed",
        "LIFE-DISP-02",
        "The agent is still found in agent/disposed.",
        edit(
            AgentRegistry,
            "_leave",
            (
                (
                    "    del self._entries[entry.agent.id]\n"
                    "    if entry.announced:\n"
                    "        entry.agent.ctx.emit(AGENT_DISPOSED, AgentDisposal(entry.agent))"
                ),
                (
                    "    if entry.announced:\n"
                    "        entry.agent.ctx.emit(AGENT_DISPOSED, AgentDisposal(entry.agent))\n"
                    "    del self._entries[entry.agent.id]"
                ),
            ),
        ),
    ),
    Fault(
        "session-leaves-before-its-agent",
        "LIFE-DISP-02",
        "The session is disposed before the agent.",
        edit(Life, "_tear_down", ("in reversed(self._detach)", "in self._detach")),
    ),
    Fault(
        "disposal-waits-for-the-driver",
        "LIFE-DISP-01",
        "Disposal lets the driver finish.",
        edit(DrivenAgent, "request_disposal", ("    self._cancel_due = True\n", "    return\n")),
    ),
    Fault(
        "disposal-keeps-the-inbox",
        "LIFE-DISP-03",
        "Pending messages are not cancelled by a disposal.",
        edit(DrivenAgent, "_cancel_disposed", ("self.cancel(DISPOSED)", "self.cancel(DISPOSED, keep_inbox=True)")),
    ),
    Fault(
        "disposal-has-another-cause",
        "LIFE-DISP-04",
        "A disposal cancels as if the user had.",
        edit(DrivenAgent, "_cancel_disposed", ("self.cancel(DISPOSED)", 'self.cancel({"kind": "user"})')),
    ),
    Fault(
        "disposal-does-not-wait",
        "LIFE-DISP-04",
        "The agent leaves before its turn has closed.",
        edit(Life, "_tear_down", ("        await agent.when_idle()\n", "")),
    ),
    Fault(
        "agent-is-announced-before-its-session",
        "LIFE-PUB-01",
        "agent/created comes before session/created.",
        edit(
            Life,
            "publish",
            (
                "    sessions.announce(agent.session)\n    self.check()\n    agents.announce(agent)\n",
                "    agents.announce(agent)\n    self.check()\n    sessions.announce(agent.session)\n",
            ),
        ),
    ),
    Fault(
        "session-start-is-a-resume",
        "LIFE-PUB-03",
        "A new agent starts its session as if resumed.",
        edit(Life, "publish", ('"startup"', '"resume"')),
    ),
    Fault(
        "header-forgets-its-origin",
        "LIFE-CREATE-03",
        "What the creator says of the session is not in its header.",
        edit(creation.AgentLoop, "create_agent", ("meta=options.meta", "meta=None")),
    ),
)
