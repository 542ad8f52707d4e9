"""Faults of who has caused what runs."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshcore.agent.initiator import Initiators
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.boundaries import Boundaries

INITIATOR_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "nobody-is-an-initiator",
        "INIT-READ-01",
        "A required read outside of every boundary answers nothing.",
        edit(Initiators, "require", ("        raise NoInitiator\n", "        return None\n")),
    ),
    Fault(
        "caller-stays-inside",
        "INIT-READ-02",
        "The caller of a boundary has its initiator when the call has returned.",
        edit(Boundaries, "enter", ("        self._innermost.reset(token)", "        pass")),
    ),
    Fault(
        "throw-clears-the-initiator",
        "INIT-READ-03",
        "A boundary that throws leaves its caller without an initiator.",
        edit(
            Boundaries,
            "enter",
            (
                "    finally:\n        self._innermost.reset(token)",
                (
                    "    except BaseException:\n"
                    "        self._innermost.set(None)\n"
                    "        raise\n"
                    "    finally:\n"
                    "        if self._innermost.get() is not None:\n"
                    "            self._innermost.reset(token)"
                ),
            ),
        ),
    ),
    Fault(
        "clearing-keeps-the-initiator",
        "INIT-READ-04",
        "A clearing boundary has the initiator that it inherits.",
        edit(Initiators, "without", ("self.open(None)", "self.open(self.current())")),
    ),
    Fault(
        "inheritance-ends-with-the-boundary",
        "INIT-READ-05",
        "What outlives its boundary has no initiator.",
        edit(
            Initiators,
            "current",
            (
                "None if innermost is None else innermost.value",
                "None if innermost not in self._boundaries._open else innermost.value",
            ),
        ),
    ),
    Fault(
        "boundaries-wrap-failures",
        "INIT-READ-06",
        "What an operation throws inside a boundary comes out as another error.",
        edit(
            Boundaries,
            "enter",
            (
                "    finally:\n        self._innermost.reset(token)",
                (
                    "    except Exception as error:\n"
                    "        raise RuntimeError(str(error)) from error\n"
                    "    finally:\n"
                    "        self._innermost.reset(token)"
                ),
            ),
        ),
    ),
    Fault(
        "drivers-share-an-initiator",
        "LOOP-INIT-01",
        "Of drivers that run beside each other each reads the agent that began last.",
        together(
            edit(Boundaries, "enter", ("operation()", "self.__dict__.__setitem__('latest', boundary) or operation()")),
            edit(
                Boundaries,
                "innermost",
                ("self._innermost.get()", "self._innermost.get() and self.__dict__['latest']"),
            ),
        ),
    ),
    Fault(
        "driver-has-no-boundary",
        "INIT-DRIVE-01",
        "A driver runs with the initiator of whoever woke it.",
        edit(
            DrivenAgent,
            "_start_driver",
            (
                'boundary.run(lambda: self._run(self), name=f"driver of {self.id}")',
                "eager.start(self._run(self))",
            ),
        ),
    ),
    Fault(
        "running-belongs-to-the-agent",
        "INIT-DRIVE-02",
        "That an agent runs is told with itself as the initiator.",
        edit(
            DrivenAgent,
            "_start_driver",
            (
                '    self._emit_status("running")\n',
                '    self._initiators.within(self, lambda: self._emit_status("running"))\n',
            ),
        ),
    ),
    Fault(
        "woken-driver-runs-as-its-waker",
        "INIT-DRIVE-03",
        "An agent that another one wakes runs with that as its initiator.",
        edit(
            DrivenAgent,
            "_start_driver",
            ("self._initiators.open(self)", "self._initiators.open(self._initiators.current() or self)"),
        ),
    ),
    Fault(
        "maintenance-has-a-boundary",
        "INIT-DRIVE-04",
        "A maintenance task runs with its agent as the initiator.",
        edit(
            DrivenAgent,
            "run_maintenance",
            (
                'eager.start(self._maintain(task, activity.signal), name=f"maintenance of {self.id}")',
                "self._initiators.within(self, lambda: self._maintain(task, activity.signal))",
            ),
        ),
    ),
    Fault(
        "closing-registry-opens-boundaries",
        "INIT-CLOSE-01",
        "A boundary opens while the registry closes.",
        edit(Initiators, "open", ("if self.closing:", "if False:")),
    ),
    Fault(
        "closing-registry-refuses-reads",
        "INIT-CLOSE-02",
        "Reads fail as soon as the registry begins to close.",
        edit(
            Initiators,
            "current",
            ("if self._draining and self._owner.fiber.state is not State.UNLOADING:", "if self.closing:"),
        ),
    ),
    Fault(
        "closing-never-ends",
        "INIT-CLOSE-03",
        "A boundary that has settled still holds the closing.",
        edit(Boundaries, "settle", ("    self._open.discard(boundary)\n", "")),
    ),
    Fault(
        "closing-waits-for-one-boundary",
        "INIT-CLOSE-03",
        "A closing has settled as soon as the first of the boundaries that it waits for has.",
        edit(Boundaries, "drain", ("while not self._open.issubset(own):", "if not self._open.issubset(own):")),
    ),
    Fault(
        "closed-registry-says-nobody",
        "INIT-CLOSE-04",
        "Reads of a closed registry answer that there is no initiator.",
        edit(
            Initiators,
            "current",
            ("if self._draining and self._owner.fiber.state is not State.UNLOADING:", "if False:"),
        ),
    ),
    Fault(
        "closing-from-inside-deadlocks",
        "INIT-CLOSE-05",
        "A closing waits for the boundaries that it was started in.",
        edit(Boundaries, "drain", ("own = self._chain()", "own = ()")),
    ),
    Fault(
        "closing-registry-takes-wakes",
        "INIT-CLOSE-06",
        "A message that cannot start a driver any more is inserted.",
        edit(
            DrivenAgent,
            "send",
            (
                (
                    "        if self._initiators.closing and Action.START_DRIVER in step(self._state, Input.WAKE)[1]:\n"
                    "            raise InitiatorScopeDisposed  # INIT-CLOSE-06\n"
                ),
                "",
            ),
        ),
    ),
)
