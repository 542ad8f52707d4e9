"""Faults of contexts and fibers: where a service is found, and how what is mounted lives and ends."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshcore.context import effects
from dshcore.context.context import Context
from dshcore.context.effects import Effects
from dshcore.context.fiber import Fiber
from dshcore.context.services import Services

TAKEN: Final = edit(Services, "add", ("        raise ServiceTaken(key.name, taken.provider.name)", "        pass"))
"""Who provides a key last has it."""

CONTEXT_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "derived-context-is-an-owner",
        "CTX-TREE-01",
        "What is registered through a derived context outlives the plugin that it was derived for.",
        edit(Context, "derive", ("return self._with(", "return self.open(owned=False)._with(")),
    ),
    Fault(
        "values-reach-the-origin",
        "CTX-TREE-02",
        "A value that is attached to a derived context is seen on the one that it was derived from.",
        edit(
            Context,
            "derive",
            (
                "    return self._with(",
                "    if key is not None:\n        self._values = {**self._values, key: value}\n    return self._with(",
            ),
        ),
    ),
    Fault(
        "service-over-an-accessor",
        "CTX-ACC-02",
        "A service can be provided under the name of an accessor.",
        edit(Services, "add", ("    if key in self._accessors:", "    if False:")),
    ),
    Fault(
        "lookup-finds-what-still-loads",
        "CTX-GET-01",
        "The optional lookup answers a service whose provider is not active.",
        edit(
            Services,
            "available",
            (
                "provision if provision is not None and provision.provider.is_loaded else None",
                "provision",
            ),
        ),
    ),
    Fault(
        "everybody-reads-everything",
        "CTX-READ-01",
        "A plugin can read a service that it has not declared.",
        edit(
            Fiber,
            "read",
            ("    if not self.is_root:", "    if not self.is_root and self._app.services.find(place) is None:"),
        ),
    ),
    Fault(
        "unknown-keys-are-nothing",
        "CTX-READ-02",
        "A required read of a key that nobody has declared answers nothing.",
        edit(
            Fiber,
            "read",
            (
                "        return self.declared(place).value",
                (
                    "        try:\n            return self.declared(place).value\n"
                    "        except ServiceMissing:\n            return None"
                ),
            ),
        ),
    ),
    Fault(
        "unloaded-plugin-reads-on",
        "CTX-READ-03",
        "A plugin that has lost its service, and is unloaded, reads the old one.",
        edit(Fiber, "_behind", ("    self._held = {}", "    pass")),
    ),
    Fault(
        "undos-cannot-read",
        "CTX-READ-04",
        "While a plugin is being undone it cannot read what it was loaded with.",
        edit(
            Fiber,
            "_next_leg",
            ("    await self._effects.undo_all()", "    self._held = {}\n    await self._effects.undo_all()"),
        ),
    ),
    Fault(
        "withdrawn-service-stays",
        "CTX-PROVIDE-01",
        "A key stays with its first provider for good.",
        edit(Services, "remove", ("    del self._provisions[provision.place]", "    pass")),
    ),
    Fault("last-provider-wins", "CTX-PROVIDE-02", "A key that is provided can be provided again.", TAKEN),
    Fault(
        "dead-contexts-are-mute",
        "CTX-DEAD-01",
        "A dispatch through the context of a disposed plugin reaches nobody.",
        edit(
            Context,
            "emit",
            (
                "    self._app.listeners.emit(key, payload, to)",
                "    if self.fiber.id is not None:\n        self._app.listeners.emit(key, payload, to)",
            ),
        ),
    ),
    Fault(
        "body-runs-inside-the-mount",
        "FIBER-MOUNT-01",
        "The body of a plugin runs before the mount has answered.",
        edit(Fiber, "begin", ("    self._body = body", "    body()")),
    ),
    Fault(
        "one-fiber-for-each-plugin",
        "FIBER-MOUNT-02",
        "The second mount of a plugin answers the first one's fiber.",
        edit(
            Context,
            "mount",
            (
                "    mounted = self._with(",
                '    if hasattr(plugin, "mounted"):\n        return plugin.mounted\n    mounted = self._with(',
            ),
            (
                "    mounted.fiber.begin(load)",
                '    object.__setattr__(plugin, "mounted", mounted)\n    mounted.fiber.begin(load)',
            ),
        ),
    ),
    Fault(
        "undo-mounts-a-child",
        "FIBER-MOUNT-03",
        "A plugin can be mounted under one that is being undone.",
        edit(Fiber, "__init__", ("    owner = parent.effects", "    owner = parent._effects")),
    ),
    Fault(
        "failed-without-unloading",
        "FIBER-STATE-01",
        "A plugin whose body fails goes from loading to failed.",
        edit(
            Fiber,
            "_next_leg",
            (
                "        await self._load()\n",
                (
                    "        await self._load()\n"
                    "        if self.error is not None:\n"
                    "            await self._effects.undo_all()\n"
                    "            return None\n"
                ),
            ),
        ),
    ),
    Fault(
        "waiting-waits-for-the-service",
        "FIBER-AWAIT-01",
        "Awaiting a plugin that waits for a service hangs until there is one.",
        edit(
            Fiber,
            "wait",
            (
                "    await self._arrival()\n",
                (
                    "    if self.state is State.PENDING:\n        await asyncio.get_running_loop().create_future()\n"
                    "    await self._arrival()\n"
                ),
            ),
        ),
    ),
    Fault(
        "child-fails-its-parent",
        "FIBER-AWAIT-02",
        "The failure of a child is that of its parent.",
        edit(
            Fiber,
            "_fail",
            ("    self.error = error\n", "    self.error = self._parent.error = error\n"),
        ),
    ),
    Fault(
        "any-answer-will-do",
        "FIBER-BODY-01",
        "A body that answers what is no undo has loaded the plugin.",
        edit(effects, "gather", ("        raise InvalidEffect(answer)", "        pass")),
    ),
    Fault(
        "one-service-is-enough",
        "FIBER-INJECT-01",
        "A plugin loads when one of the services that it requires is there.",
        edit(
            Fiber,
            "_providers",
            (
                "return providers if len(providers) == len(found) else None",
                "return providers or (None if found else ())",
            ),
        ),
    ),
    Fault(
        "providing-counts-at-once",
        "FIBER-INJECT-02",
        "Dependents load when a service is provided, although the provider is still loading.",
        together(
            edit(Fiber, "_providers", ("services.available(place)", "services.find(place)")),
            edit(Fiber, "provide", ("    if self.is_loaded:", "    if True:")),
        ),
    ),
    Fault(
        "dependents-look-later",
        "FIBER-INJECT-03",
        "Dependents find out some ticks later that their provider is active.",
        edit(
            Fiber,
            "_enter",
            (
                "            self._tell_dependents()",
                (
                    "            def look(ticks):\n"
                    "                if ticks == 0:\n"
                    "                    self._tell_dependents()\n"
                    "                else:\n"
                    "                    require_loop().call_soon(look, ticks - 1)\n"
                    "            look(20)"
                ),
            ),
        ),
    ),
    Fault(
        "loss-goes-unnoticed",
        "FIBER-INJECT-04",
        "A plugin that has lost a service goes on with it.",
        edit(
            Fiber,
            "refresh",
            (
                "        self._want(self._providers())",
                "        if self._providers() is not None:\n            self._want(self._providers())",
            ),
        ),
    ),
    Fault(
        "late-registrations-are-refused",
        "FIBER-INJECT-05",
        "A body that has lost its service while it runs can register nothing more.",
        edit(
            Fiber,
            "accepting",
            (
                "self.state is not State.UNLOADING",
                "self.state is not State.UNLOADING and (self._wanted is not None or self.state is not State.LOADING)",
            ),
        ),
    ),
    Fault(
        "failed-load-stays-in-force",
        "FIBER-FAIL-01",
        "What a body had registered before it failed is not undone.",
        edit(
            Fiber,
            "_next_leg",
            (
                "    await self._effects.undo_all()",
                "    if self.error is None or self.id is None:\n        await self._effects.undo_all()",
            ),
        ),
    ),
    Fault(
        "failed-for-good",
        "FIBER-FAIL-02",
        "A failed plugin cannot be restarted.",
        edit(
            Fiber,
            "restart",
            (
                "    self.assert_active()\n",
                "    self.assert_active()\n    if self.error is not None:\n        return self\n",
            ),
        ),
    ),
    Fault(
        "restart-makes-another-fiber",
        "FIBER-RESTART-01",
        "A restarted plugin has another id.",
        edit(
            Fiber,
            "restart",
            (
                "    self.assert_active()\n",
                "    self.assert_active()\n    self.id = self.id and next(self._app.numbers)\n",
            ),
        ),
    ),
    Fault(
        "dependents-unload-later",
        "FIBER-DISP-01",
        "The dependents of a plugin that is disposed of are told in the next tick.",
        edit(
            Fiber,
            "_enter",
            (
                "            self._tell_dependents()",
                (
                    "            if state is State.ACTIVE:\n"
                    "                self._tell_dependents()\n"
                    "            else:\n"
                    "                require_loop().call_soon(self._tell_dependents)"
                ),
            ),
        ),
    ),
    Fault(
        "undos-are-not-waited-for",
        "FIBER-DISP-02",
        "A disposal ends while undos are in progress.",
        edit(Effects, "undo_all", ("        stopped = stopped or await wind_down(running)", "        return")),
    ),
    Fault(
        "undone-in-order",
        "FIBER-DISP-03",
        "What was registered first is undone first.",
        edit(Effects, "undo_all", ("tuple(reversed(self._owned))", "tuple(self._owned)")),
    ),
    Fault(
        "failing-undo-stops-the-others",
        "FIBER-DISP-04",
        "An undo that fails ends the undoing of its owner.",
        edit(Effects, "undo_all", ("            _report(disposer, error)", "            break")),
    ),
    Fault(
        "disposed-again",
        "FIBER-DISP-05",
        "The second call of a disposal begins another one.",
        edit(
            Fiber,
            "dispose",
            ("    return self._disposer", '    return Disposer(Effects(), self._begin_disposal, "again")'),
        ),
    ),
    Fault(
        "body-registers-after-its-end",
        "FIBER-DISP-06",
        "A body that runs while its plugin is disposed of can register what it wants.",
        edit(Fiber, "accepting", ("self.id is not None and ", "self.state is not State.DISPOSED and ")),
    ),
    Fault(
        "stillborn-plugin-runs",
        "FIBER-DISP-07",
        "The body of a plugin that was disposed of before it began runs all the same.",
        edit(Fiber, "_load", ("    if self._wanted != self._loading:", "    if False:")),
    ),
    Fault(
        "withdrawal-does-not-wait",
        "FIBER-DISP-08",
        "A withdrawal has ended while dependents are still being undone.",
        edit(Fiber, "provide", ("        if unloading:", "        if False:")),
    ),
    Fault(
        "root-is-disposed-of",
        "FIBER-DISP-09",
        "The root does not survive its disposal.",
        edit(
            Fiber,
            "dispose",
            ('Disposer(Effects(), self.restart, "root")', 'Disposer(Effects(), self._begin_disposal, "root")'),
        ),
    ),
    Fault(
        "waiting-plugin-just-goes",
        "FIBER-DISP-10",
        "The disposal of a plugin that waits, or has failed, undoes nothing.",
        edit(Fiber, "_begin_disposal", ("        if self._journey is None:", "        if False:")),
    ),
    Fault(
        "activity-goes-by-state",
        "FIBER-ACTIVE-01",
        "A plugin that waits or is being restarted is taken for one that is disposed of.",
        edit(Fiber, "assert_active", ("    if self.id is None:", "    if self.state is not State.ACTIVE:")),
    ),
)
"""Each is found by a scenario that cites the clause."""
