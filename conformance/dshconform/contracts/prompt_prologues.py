"""Lists of commands that begin the prompt contract's examples, beside the tours of its grid."""

from collections.abc import Mapping
from typing import Final

from dshconform.contracts.prompt_choice import OPTIONS, ORDERS, TEXTS
from dshconform.contracts.prompt_commands import (
    BESIDE,
    CLOSE_FAR,
    END_BESIDE,
    OPEN_FAR,
    PERSONA,
    RELEASE,
    REST_ENTRY,
    SHAPES,
    TURN,
    UNDEFINED,
    WIDE,
    Scope,
    assemble,
    context,
    guard,
    hold,
    offer,
    open_world,
    provider,
    refuse,
    section,
    shape,
    suppress,
    tool,
    tools,
    undo,
    variable,
)
from dshconform.protocol.json_value import JsonMap

_OPEN: Final = open_world()
_BARE: Final = open_world(includeHarnessIdentity=False)
_NEAR: Final = assemble("near")
_ENDINGS: Final[Mapping[Scope, JsonMap]] = {"far": CLOSE_FAR, "beside": END_BESIDE}

PROLOGUES: Final[tuple[tuple[JsonMap, ...], ...]] = (
    # what a deployment says
    *((open_world(**options), assemble(), variable("v", "root", "v", "x"), TURN, _NEAR) for options in OPTIONS),
    (_OPEN, section("p", "near", PERSONA, "my own"), section("q", "root", PERSONA, "again"), TURN, assemble()),
    # order, by number and by layer; a name that comes back stands last
    (
        _OPEN,
        *(section("s1", "root", "z", "global", order=5), section("s2", "near", "own", "own", order=5)),
        *(section("s3", "root", "a", "a", order=5), section("s4", "near", "z", "mine", order=5), _NEAR),
        *(
            section("s5", "far", "z", "far", order=-0.5),
            section("s6", "far", "b", "b", order=5),
            _NEAR,
            assemble("far"),
        ),
        *(undo("s1"), section("s7", "root", "z", "anew", order=5), undo("s1"), undo("s4"), _NEAR, assemble("beside")),
    ),
    (
        _OPEN,
        *(context("c1", "near", "c", "mine", order=20), context("c2", "root", "d", "later", order=20)),
        *(context("c3", "root", "c", "hidden", order=10), context("c4", "far", "e", "earlier", order=10), _NEAR, TURN),
    ),
    # an order of tools that is none, and then one
    (
        *(open_world(toolOrder=order) for order in ([], ["a"], ["a", "b", "a"], [REST_ENTRY, REST_ENTRY])),
        *(
            open_world(toolOrder=[REST_ENTRY, "bash"]),
            tools("t", "root", offer(tool("read"), known=["Fish", *WIDE])),
        ),
        *(_NEAR, tools("k", "root", offer(known=["bash"])), _NEAR, TURN),
    ),
    # what is refused leaves no trace
    (
        _OPEN,
        *(section(f"n{at}", "root", "n", "x", order=order) for at, order in enumerate(ORDERS[7:])),
        *(context(f"m{at}", "near", "n", "x", order=order) for at, order in enumerate(ORDERS[7:])),
        *(variable(f"v{at}", "root", name, "x") for at, name in enumerate(("A", "_a", "1a", "a-b", "", "a\n", "a1_"))),
        *(_NEAR, section("s", "root", "s", "first"), section("t", "root", "s", "second"), assemble()),
        *(section("u", "near", "s", "first"), section("w", "near", "s", "second"), _NEAR),
        *(context("c", "root", "c", "first"), context("d", "root", "c", "second"), context("e", "far", "c", "x")),
        *(context("f", "far", "c", "y"), variable("x", "root", "a1_", "y"), variable("y", "far", "w", "first")),
        *(variable("z", "far", "w", "second"), _NEAR, TURN),
    ),
    (_OPEN, refuse("r"), section("s", "far", "s", "x"), _NEAR, section("t", "far", "s", "x"), _NEAR),
    (_OPEN, refuse("r"), suppress("s", "near"), refuse("q"), tools("t", "root", offer(tool("t1"))), _NEAR),
    # providers are asked anew for each prompt, and what lies hidden is not
    (
        _OPEN,
        *(section("s1", "root", "s", provider("f1", "global")), section("s2", "near", "s", provider("f2", "mine"))),
        *(context("c1", "root", "c", provider("g1", "global")), context("c2", "far", "c", provider("g2", "far"))),
        *(variable("v1", "root", "v", provider("h1", "x")), variable("v2", "near", "v", provider("h2", UNDEFINED))),
        *(
            tools("t1", "near", provider("i1", offer(tool("t1")))),
            tools("t2", "root", provider("i2", offer(tool("t1", "2")))),
        ),
        *(_NEAR, _NEAR, assemble("far"), assemble("beside"), assemble(), TURN),
        *(suppress("n", "far"), _NEAR, assemble(), undo("n"), _NEAR),
    ),
    # complete sections: one, several, and those that are hidden
    *(
        (
            _OPEN,
            *(variable("v", "root", "v", "x"), section("all", "root", "all", "Only {{v}}.", order=50, complete=True)),
            *(section("s", "near", "s", "more", order=60), shape("l", "root", name), _NEAR, TURN, undo("l"), TURN),
        )
        for name in SHAPES
    ),
    (
        _OPEN,
        *(
            section("a", "root", "a", provider("f", "A"), order=2, complete=True),
            section("s", "root", "s", provider("g", "S")),
        ),
        *(section("b", "near", "b", "B", order=1, complete=True), _NEAR, assemble(), assemble("far"), TURN),
        *(section("c", "near", "a", "not alone", order=2), _NEAR, TURN, undo("b"), _NEAR, TURN),
    ),
    # who an assembly is for
    (
        *(_OPEN, section("s", "root", "s", "{{cwd}}"), assemble("near", agent="a"), assemble("near", agent=BESIDE)),
        *(assemble("beside", agent="a"), assemble(agent=BESIDE), TURN),
    ),
    # references: those that are one, and those that are none
    *(
        (
            *(
                _BARE,
                variable("v", "root", "v", "x"),
                variable("w", "far", "w", "{{v}} $1"),
                variable("e", "near", "e", ""),
            ),
            *(section("s", "near", "s", text), section("t", "near", "t", "{{e}}"), TURN, TURN),
            *(undo("s"), context("c", "near", "c", text), TURN, undo("c"), TURN),
        )
        for text in (*TEXTS, "{{cwd}}", "{{a}\n}}", "{{v}}\n{{")
    ),
    (
        *(_OPEN, variable("v1", "root", "v", "global"), variable("v2", "near", "v", UNDEFINED), _NEAR),
        *(section("s", "near", "s", "{{v}}"), TURN, undo("v2"), TURN, undo("v1"), TURN),
    ),
    # the runtime context: told when it has changed, and when it is gone
    (
        *(_OPEN, TURN, context("c", "far", "c", "one"), TURN, TURN, context("d", "near", "c", "one"), TURN),
        *(undo("c"), undo("d"), TURN, TURN, context("e", "root", "c", "one"), TURN, suppress("n", "root"), TURN, TURN),
        *(undo("n"), TURN, context("f", "root", "blank", " ", order=-1), TURN),
    ),
    (
        *(_OPEN, context("c", "root", "c", provider("f", "x")), suppress("n", "root"), suppress("m", "near"), _NEAR),
        *(suppress("k", "root"), undo("n"), _NEAR, undo("k"), undo("k"), _NEAR, TURN, undo("m"), _NEAR, TURN),
    ),
    (
        *(_OPEN, context("c", "root", "c", "{{v}}"), TURN, variable("v", "root", "v", ""), TURN, undo("v")),
        *(variable("w", "root", "v", "x"), guard("reject"), TURN, guard("drop"), TURN, guard("remove"), TURN),
        *(guard("remove"), TURN, guard("remove"), guard("reject"), TURN, TURN),
    ),
    # tools: their order, and what fails it
    (
        *(
            _OPEN,
            tools("a", "near", offer(tool("b"), tool("A"), *map(tool, WIDE), tool("a"))),
            tools("b", "root", offer(tool("_"), tool("9"))),
        ),
        *(tools("c", "far", offer(tool("10"), tool("a", "far"))), _NEAR, TURN, assemble()),
        *(
            tools("d", "beside", offer(tool("x"))),
            assemble("beside"),
            tools("r", "root", offer(tool(REST_ENTRY))),
            _NEAR,
            TURN,
        ),
        *(undo("r"), tools("e", "root", offer({**tool("t3"), "internal": 1})), TURN),
    ),
    (
        *(
            open_world(toolOrder=["t2", REST_ENTRY, "t1"]),
            _NEAR,
            TURN,
            tools("a", "near", offer(tool("t1"), tool("z"))),
            _NEAR,
        ),
        *(assemble(), tools("k", "root", offer(known=["t1", "t2"])), assemble(), _NEAR, TURN),
        *(tools("b", "far", offer(tool("t2"), tool("m"))), _NEAR, TURN, undo("k"), assemble()),
        *(tools("r", "root", offer(tool(REST_ENTRY))), assemble(), _NEAR),
    ),
    # failing providers: the assembly fails, and nothing else
    *(
        (_OPEN, shape("l", "root", "passes"), failing, _NEAR, _NEAR, undo("x"), TURN)
        for failing in (
            variable("x", "root", "v", provider("f", "x", fails=True)),
            tools("x", "near", provider("f", offer(tool("t1")), fails=True)),
            section("x", "far", "s", provider("f", "x", fails=True)),
            context("x", "near", "c", provider("f", "x", fails=True)),
        )
    ),
    (_OPEN, section("s", "root", "s", provider("f", "x", fails=True)), TURN, TURN),
    # listeners: whose assemblies they are given, in which order, and what they make of them
    (
        *(_OPEN, shape("l1", "root", "passes"), shape("l2", "near", "passes"), shape("l3", "far", "adds a variable")),
        *(_NEAR, assemble("far"), assemble("beside"), assemble(), TURN, undo("l1"), shape("l4", "beside", "passes")),
        *(assemble("beside"), _NEAR, undo("l3"), section("s", "root", "s", "{{extra}}"), TURN),
    ),
    *(
        (
            *(
                _OPEN,
                variable("v", "root", "v", "x"),
                context("c", "root", "c", "context"),
                tools("t", "far", offer(tool("t1"))),
            ),
            *(shape("l", "far", name), shape("k", "near", "passes", prepend=True), _NEAR, TURN, suppress("n", "root")),
            *(_NEAR, TURN, undo("l"), _NEAR, undo("n"), TURN),
        )
        for name in SHAPES
    ),
    (
        *(_OPEN, shape("a", "root", "sets sections"), shape("b", "near", "answers"), shape("c", "root", "passes")),
        *(_NEAR, assemble(), TURN, undo("b"), hold(), undo("a"), RELEASE, _NEAR),
    ),
    # an agent that ends
    *(
        (
            *(
                _OPEN,
                section("s", scope, "s", "x"),
                variable("v", scope, "v", "x"),
                tools("t", scope, offer(tool("t1"))),
            ),
            *(context("c", scope, "c", "x"), suppress("n", scope), shape("l", scope, "sets sections"), _NEAR),
            *(section("g", "near", "s", "mine"), undo("t"), assemble(scope), closes, _NEAR, assemble(scope)),
            *(section("late", scope, "late", "x"), suppress("late2", scope), undo("s"), TURN),
        )
        for scope, closes in _ENDINGS.items()
    ),
    (
        *(_OPEN, section("s", "far", "s", "x"), CLOSE_FAR, OPEN_FAR, _NEAR, section("t", "far", "s", "anew"), _NEAR),
        *(undo("s"), shape("l", "far", "passes"), assemble("far"), CLOSE_FAR, assemble("far"), TURN),
    ),
    # a signal that has fired
    (_OPEN, section("s", "root", "s", provider("f", "x")), assemble("near", aborted=True), assemble(aborted=True)),
    # what happens while a listener waits
    (
        *(
            _OPEN,
            section("s", "near", "s", "x", complete=True),
            hold(),
            undo("s"),
            suppress("n", "root"),
            TURN,
            RELEASE,
        ),
        *(context("c", "root", "c", "x"), hold("far"), undo("n"), _NEAR, RELEASE, assemble("far")),
    ),
)
"""Each reaches states that chance would reach seldom; together they reach every clause that the model cites."""
