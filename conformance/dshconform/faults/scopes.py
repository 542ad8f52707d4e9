"""Faults of scopes: their lives, their layers, whom their events reach, and the parents of their keys."""

from typing import Final

from dshconform.faults.dispatches import GLOBAL
from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshcore.context.context import Context
from dshcore.context.fiber import Fiber
from dshcore.scope import keys, layers, scopes
from dshcore.scope.keys import _Binding
from dshcore.scope.layers import Layers
from dshcore.scope.scopes import Carrier, Scope
from dshcore.session.store import SessionStore
from dshcore.tools import visibility

OUTLIVES: Final = edit(
    layers.Layers,
    "register",
    ("return owner.composite(parts, label=label)", "return owner.open(owned=False).composite(parts, label=label)"),
)
"""An entry belongs to nobody who ends."""

_BINDS: Final = "    if parent is not None:"
_CHAIN: Final = "any(around is tag for around in scope_chain_of(self._key))"

SCOPE_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "entries-outlive-their-owner",
        "TRACE-OWNER-01",
        "What a plugin registers through a service stays when the plugin has ended.",
        OUTLIVES,
    ),
    Fault(
        "entries-are-global",
        "TRACE-OWNER-02",
        "What is registered through a scope is seen by everybody.",
        edit(Layers, "register", ("    key = owner.scope", "    key = None")),
    ),
    Fault(
        "dependencies-are-handed-on",
        "TRACE-DEPS-01",
        "Who requires a service can read what that service requires.",
        edit(
            Fiber,
            "declared",
            (
                "    if provision is not None:",
                (
                    "    for held in self._held.values():\n"
                    "        provision = provision or held.fiber._held.get(place)\n"
                    "    if provision is not None:"
                ),
            ),
        ),
    ),
    Fault(
        "reads-see-every-scope",
        "TRACE-READ-01",
        "A read without a scope finds the tools of all scopes.",
        edit(
            visibility,
            "resolve",
            (
                "around = layers.visible(scope)",
                (
                    "around = layers.visible(scope) if scope is not None else "
                    "(layers.global_, *(layer for _, layer in layers._scoped.values()))"
                ),
            ),
        ),
    ),
    Fault(
        "scope-needs-a-tick",
        "SCOPE-MINT-01",
        "A scope accepts nothing before the next tick.",
        together(
            edit(
                Context,
                "open",
                (
                    "    opened.fiber.begin_bodyless()",
                    (
                        "    if scope is _INHERIT:\n        opened.fiber.begin_bodyless()\n"
                        "    else:\n        opened.fiber.begin(lambda: None)"
                    ),
                ),
            ),
            edit(
                Fiber,
                "accepting",
                (
                    "return self.id is not None",
                    (
                        'return (self.state is not State.LOADING or self._body.__name__ == "load")'
                        " and self.id is not None"
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "scope-of-the-dead",
        "SCOPE-MINT-02",
        "A scope can be minted through the context of a disposed plugin.",
        together(
            edit(Context, "open", ("    self.assert_accepting()\n", "")),
            edit(Fiber, "__init__", ("    owner = parent.effects", "    owner = parent._effects")),
        ),
    ),
    Fault(
        "scope-outlives-its-minter",
        "SCOPE-MINT-03",
        "A scope does not end with the plugin that minted it.",
        edit(scopes, "create_scope", ("owned=owned))", "owned=False))")),
    ),
    Fault(
        "equal-keys-share-a-layer",
        "SCOPE-MINT-04",
        "Scopes whose keys look alike see each other's entries.",
        together(
            edit(Layers, "peek", ("get(id(key))", "get(repr(key))")),
            edit(
                Layers,
                "_layer",
                (
                    (
                        "    if id(key) not in self._scoped:\n"
                        "        self._scoped[id(key)] = (key, self._make())\n"
                        "    return self._scoped[id(key)][1]"
                    ),
                    "    return self._scoped.setdefault(repr(key), (key, self._make()))[1]",
                ),
            ),
        ),
    ),
    Fault(
        "end-of-a-scope-clears-the-layer",
        "SCOPE-MINT-05",
        "The end of one scope takes the entries of all scopes of its key with it.",
        edit(
            Layers,
            "register",
            (
                "            take_out()\n",
                "            take_out()\n            self._scoped.pop(id(key), None)\n",
            ),
        ),
    ),
    Fault(
        "plugins-are-untagged",
        "SCOPE-TAG-01",
        "What is mounted or derived under a scope does not have its tag.",
        edit(Context, "_with", ("    made = copy(self)\n", "    made = copy(self)\n    made.scope = None\n")),
    ),
    Fault(
        "inner-scope-is-a-child",
        "SCOPE-TAG-02",
        "A scope that is minted inside another one is its child.",
        edit(
            scopes,
            "create_scope",
            (
                "    if parent is not None:",
                (
                    "    if parent is None and len(scope_chain_of(key)) == 1 and key is not ctx.scope:\n"
                    "        parent = ctx.scope\n"
                    "    if parent is not None:"
                ),
            ),
        ),
    ),
    Fault("entries-stay-with-the-tag", "SCOPE-TAG-03", "An entry stays when a plugin under the scope ends.", OUTLIVES),
    Fault(
        "scopes-find-nothing",
        "SCOPE-DEPS-01",
        "Through a scope only what the scope itself requires can be read.",
        edit(Fiber, "declared", ("    if self._parent is None:", "    if True:")),
    ),
    Fault(
        "listeners-stay",
        "SCOPE-DISP-01",
        "The listeners of a scope hear on when it has ended.",
        edit(Context, "on", ("listeners.remove(key, entry)", "None")),
    ),
    Fault(
        "second-end-does-not-wait",
        "SCOPE-DISP-02",
        "The second call of a scope's disposal has ended at once.",
        edit(
            Fiber,
            "end",
            ("    disposer.begin()\n    if self._journey", "    if disposer.begin() and self._journey"),
        ),
    ),
    Fault(
        "ending-scope-accepts",
        "SCOPE-DISP-03",
        "A scope that is being torn down accepts registrations.",
        edit(
            Fiber,
            "accepting",
            ("self.id is not None and self.state is not State.UNLOADING", "self.state is not State.DISPOSED"),
        ),
    ),
    Fault(
        "raw-disposal-is-not-joined",
        "SCOPE-DISP-04",
        "The disposal of a scope has ended at once if the raw disposer was called before.",
        edit(
            Scope,
            "dispose",
            (
                "    return self.ctx.dispose()",
                (
                    "    import asyncio\n"
                    "    fiber = self.ctx.fiber\n"
                    '    if fiber.id is None and not hasattr(fiber, "joined"):\n'
                    "        return asyncio.sleep(0)\n"
                    "    fiber.joined = True\n"
                    "    return self.ctx.dispose()"
                ),
            ),
        ),
    ),
    Fault(
        "raw-disposer-is-wrapped",
        "SCOPE-DISP-05",
        "What a scope answers as its raw disposer is a function around it.",
        edit(
            Scope,
            "raw_dispose",
            ("return self.ctx.fiber.dispose", "disposer = self.ctx.fiber.dispose\n    return lambda: disposer()"),
        ),
    ),
    Fault(
        "end-of-a-scope-unlinks-its-key",
        "SCOPE-DISP-06",
        "A key has no parent any more when a scope of it has ended.",
        edit(
            Scope,
            "dispose",
            (
                "    return self.ctx.dispose()",
                (
                    "    from dshcore.scope import keys\n"
                    "    keys._links.pop(id(self.key), None)\n"
                    "    return self.ctx.dispose()"
                ),
            ),
        ),
    ),
    Fault(
        "exact-key-only",
        "SCOPE-EVT-01",
        "An event about a key does not reach the scopes around it.",
        edit(Carrier, "admits", (_CHAIN, "self._key is tag")),
    ),
    Fault(
        "events-go-down",
        "SCOPE-EVT-02",
        "An event about a key reaches the scopes below it.",
        edit(
            Carrier,
            "admits",
            (_CHAIN, f"any(around is self._key for around in scope_chain_of(tag)) or {_CHAIN}"),
        ),
    ),
    Fault(
        "no-key-is-every-key",
        "SCOPE-EVT-03",
        "A carrier without a key reaches every scope.",
        edit(Carrier, "admits", ("    if tag is None:", "    if tag is None or self._key is None:")),
    ),
    Fault("tags-bind-global-listeners", "SCOPE-EVT-04", "A global listener of a scope hears only its keys.", GLOBAL),
    Fault(
        "base-is-not-asked",
        "SCOPE-EVT-05",
        "The filter of what is carried is not applied.",
        edit(Carrier, "admits", ("    if self._base is not None and", "    if False and")),
    ),
    Fault(
        "carrier-keeps-its-chain",
        "SCOPE-EVT-06",
        "A carrier goes on with the chain that it saw first.",
        edit(
            Carrier,
            "admits",
            (
                "    tag = context.scope\n",
                (
                    "    tag = context.scope\n"
                    '    chains = globals().setdefault("_chains", {})\n'
                    "    _, chain = chains.setdefault(id(self), (self, scope_chain_of(self._key)))\n"
                ),
            ),
            (_CHAIN, "any(around is tag for around in chain)"),
        ),
    ),
    Fault(
        "dispatcher-limits-the-audience",
        "SCOPE-EVT-07",
        "A dispatch through a scope reaches that scope only.",
        edit(
            Context,
            "emit",
            (
                "    self._app.listeners.emit(key, payload, to)",
                (
                    "    from dshcore.scope import scope_target\n"
                    "    to = to or (None if self.scope is None else scope_target(None, self.scope))\n"
                    "    self._app.listeners.emit(key, payload, to)"
                ),
            ),
        ),
    ),
    Fault(
        "sessions-are-their-own-keys",
        "SCOPE-EVT-09",
        "Session events are about the session, so that no scope hears them.",
        edit(SessionStore, "enter", ("scope_target(session, via.scope)", "scope_target(session, session)")),
    ),
    Fault(
        "registry-answers-a-wrapper",
        "LAYER-EFF-05",
        "What a registration answers is a function around its disposer.",
        edit(
            Layers,
            "register",
            (
                "return owner.composite(parts, label=label)",
                "disposer = owner.composite(parts, label=label)\n    return lambda: disposer()",
            ),
        ),
    ),
    Fault(
        "same-parent-again",
        "BIND-ONCE-01",
        "A key can be bound again to the parent that it has.",
        edit(
            keys,
            "bind_scope_parent",
            ("    if id(key) in _links:", "    if id(key) in _links and scope_parent_of(key) is not parent:"),
        ),
    ),
    Fault(
        "long-cycles-are-accepted",
        "BIND-CYCLE-01",
        "Only a link of a key to itself is refused.",
        edit(keys, "_link", ("any(around is key for around in scope_chain_of(parent))", "parent is key")),
    ),
    Fault(
        "link-stays-put",
        "BIND-REBIND-01",
        "A re-link changes nothing.",
        edit(_Binding, "rebind", ("    _link(self.key, parent)", "    pass")),
    ),
    Fault(
        "rejected-relink-unlinks",
        "BIND-REBIND-02",
        "A re-link that is refused leaves the key without a parent.",
        edit(
            _Binding,
            "rebind",
            ("    _link(self.key, parent)", "    _links.pop(id(self.key), None)\n    _link(self.key, parent)"),
        ),
    ),
    Fault(
        "siblings-move-along",
        "BIND-REBIND-03",
        "What else stood under the former parent is re-linked as well.",
        edit(
            _Binding,
            "rebind",
            (
                "    _link(self.key, parent)",
                (
                    "    former = scope_parent_of(self.key)\n"
                    "    line = [id(key) for key in scope_chain_of(parent)]\n"
                    "    for identity, link in tuple(_links.items()):\n"
                    "        if link.parent is former and identity not in line:\n"
                    "            _links[identity] = _Link(parent, link.key)\n"
                    "    _link(self.key, parent)"
                ),
            ),
        ),
    ),
    Fault(
        "minted-key-is-free",
        "BIND-MINT-01",
        "A key that was minted with a parent can be given another one.",
        edit(
            scopes,
            "create_scope",
            (_BINDS, _BINDS.replace(":", " and scope_chain_of(key)[1:]:")),
        ),
    ),
    Fault(
        "parent-of-a-bound-key-is-ignored",
        "BIND-MINT-02",
        "A key that has a parent can be minted with another one, which counts for nothing.",
        edit(
            scopes,
            "create_scope",
            (_BINDS, _BINDS.replace(":", " and not scope_chain_of(key)[1:]:")),
        ),
    ),
)
"""Each is found by a scenario that cites the clause."""
