"""Faults of effects: how they are set up, adopted and undone."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore.context.context import Context
from dshcore.context.effects import Disposer, Effects, _Composite
from dshcore.context.fiber import Fiber

EFFECT_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "effect-begins-later",
        "EFFECT-RUN-01",
        "The body of an effect runs after the call that registers it.",
        edit(
            Effects,
            "composite",
            (
                "        answer = body()\n",
                (
                    "        asyncio.get_running_loop().call_soon(lambda: gather(body(), parts.add))\n"
                    "        return disposer\n"
                ),
            ),
        ),
    ),
    Fault(
        "undone-by-the-owner-again",
        "EFFECT-RUN-02",
        "An effect that was undone early is undone again with its owner.",
        edit(
            Disposer,
            "begin",
            ("        outcome = undo()\n", "        outcome = undo()\n        self._owner.own(undo, self.label)\n"),
        ),
    ),
    Fault(
        "second-call-answers-the-first",
        "EFFECT-SINGLE-01",
        "The second call of a disposer answers the undo that is in progress.",
        edit(
            Disposer,
            "__call__",
            (
                "    return asyncio.shield(self.running) if self.begin() and self.running else None",
                "    self.begin()\n    return self.running and asyncio.shield(self.running)",
            ),
        ),
    ),
    Fault(
        "owner-leaves-a-running-undo",
        "EFFECT-SINGLE-02",
        "The owner does not wait for an undo that somebody else has started.",
        edit(
            Effects,
            "undo_all",
            (
                "begun = tuple(reversed(self._owned))",
                "begun = tuple(one for one in reversed(self._owned) if one.running is None)",
            ),
        ),
    ),
    Fault(
        "parts-are-undone-together",
        "EFFECT-GEN-01",
        "The parts of an effect are undone without waiting for one another.",
        edit(
            _Composite,
            "unwind",
            ("    while self._undos:\n", "    outcomes = []\n    while self._undos:\n"),
            ("return self._unwind_behind(outcome)", "outcomes.append(outcome)"),
            ("    return None", "    return asyncio.gather(*outcomes) if outcomes else None"),
        ),
    ),
    Fault(
        "failed-effect-keeps-its-parts",
        "EFFECT-GEN-02",
        "The parts that a body had handed over before it failed stay in force.",
        edit(Effects, "composite", ("        disposer.begin()\n", "        self.release(disposer)\n")),
    ),
    Fault(
        "rollback-is-forgotten",
        "EFFECT-GEN-03",
        "The owner does not wait for a rollback in progress.",
        edit(
            Effects,
            "composite",
            ("        disposer.begin()\n", "        disposer.begin()\n        self.release(disposer)\n"),
        ),
    ),
    Fault(
        "nothing-is-adopted",
        "EFFECT-NEST-01",
        "An effect whose disposer is handed over is undone by its owner all the same.",
        edit(_Composite, "add", ("        self._effects.release(part)", "        pass")),
    ),
    Fault(
        "everything-is-adopted",
        "EFFECT-NEST-02",
        "An effect that was registered during the body belongs to it, whatever is handed over.",
        edit(
            _Composite,
            "add",
            (
                "    self._undos.append(",
                (
                    "    if self._undos and not isinstance(part, Disposer) and len(self._effects) > 1:\n"
                    "        self._effects.release(next(reversed(self._effects._owned)))\n"
                    "    self._undos.append("
                ),
            ),
        ),
    ),
    Fault(
        "failing-part-is-passed-over",
        "EFFECT-ERR-01",
        "A part whose undo fails is passed over, and nobody is told.",
        edit(
            _Composite,
            "unwind",
            (
                "        except NoEventLoop:\n",
                "        except Exception:\n            continue\n        except NoEventLoop:\n",
            ),
        ),
    ),
    Fault(
        "unusable-part-is-skipped",
        "EFFECT-ERR-02",
        "What is no undo is skipped.",
        edit(_Composite, "add", ("        raise InvalidEffect(part)", "        return")),
    ),
    Fault(
        "undo-registers-during-a-restart",
        "EFFECT-INACT-01",
        "While a plugin is undone for a restart, more can be registered.",
        edit(Fiber, "accepting", (" and self.state is not State.UNLOADING", "")),
    ),
    Fault(
        "setups-are-not-waited-for",
        "EFFECT-ASYNC-01",
        "The undo of an effect that is being set up undoes what is there by then, and no more.",
        edit(
            Effects,
            "async_composite",
            ("        await asyncio.wait((disposer.setup,))\n", ""),
            ("        disposer.setup.result()\n", ""),
        ),
    ),
    Fault(
        "later-parts-are-lost",
        "EFFECT-REENT-01",
        "What a body hands over after it has disposed of its owner is never undone.",
        edit(
            Context,
            "composite",
            (
                "    return self.fiber.effects.composite(body, label)",
                (
                    "    def while_accepting():\n"
                    "        for part in body():\n"
                    "            if self.fiber.accepting:\n"
                    "                yield part\n"
                    "    return self.fiber.effects.composite(while_accepting, label)"
                ),
            ),
        ),
    ),
)
"""Each is found by a scenario that cites the clause."""
