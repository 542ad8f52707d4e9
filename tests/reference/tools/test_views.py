"""How calls and logged results are shown to people."""

from typing import Any

from tests.reference.tool_turns import result_events, run
from tests.reference.toolbox import Toolbox, content, definition
from tests.reference.world import World

from dshcore.tools import CallView, ResultView, ToolOutput, logged_result


def test_a_reader_finds_the_presenter_where_it_finds_the_tool(world: World, tools: Toolbox) -> None:
    """An agent with a tool of its own has its own view; the pipeline presents nothing (PRESENT-CALL-01)."""
    presented: list[object] = []

    def present(title: str) -> Any:
        def view(arguments: Any) -> CallView:
            presented.append(arguments)
            return {"card": "terminal", "title": title}

        return view

    agent = world.create()
    tools.add("t", present_call=present("common"))
    tools.add("t", owner=agent.ctx, present_call=present("own"))
    tools.execute("t", scope=agent)
    assert not presented
    views = [tools.tools.present_call("t", {"x": 1}, scope) for scope in (None, agent)]
    assert [view["title"] for view in views] == ["common", "own"]
    assert presented == [{"x": 1}, {"x": 1}]


def test_a_logged_result_is_presented_without_its_value(world: World, tools: Toolbox) -> None:
    """A presenter gets the arguments, and content, failure and durable data of the result (PRESENT-CALL-03)."""
    given: list[object] = []

    def present(arguments: Any, logged: Any) -> ResultView:
        given.append((arguments, logged))
        return {"card": "read", "path": "p"}

    made = definition(
        "t",
        output=ToolOutput(schema={}, render=lambda *_: content("shown"), presentation_meta=lambda *_: {"n": 1}),
        present_result=present,
    )
    world.run(lambda: tools.tools.register(world.root, made))
    world.create()
    run(world, "c1:t", "c2:nobody")
    done, failed = (logged_result(event["data"]) for event in result_events(world))
    assert tools.tools.present_result("t", {}, done) == {"card": "read", "path": "p"}
    assert given == [({}, {"content": content("shown"), "isError": False, "meta": {"n": 1}})]
    assert tools.tools.present_result("nobody", {}, failed) == {
        "card": "generic",
        "title": "nobody",
        "content": content('Error: unknown tool "nobody"'),
    }
    assert failed == {"content": content('Error: unknown tool "nobody"'), "isError": True}


def test_who_presents_nothing_is_shown_generically(tools: Toolbox) -> None:
    """The title is the name, with raw arguments and raw content (PRESENT-CALL-03)."""
    tools.add("t", present_call=lambda _: None, present_result=lambda *_: None)
    tools.add("u")
    for name in ("t", "u", "nobody"):
        assert tools.tools.present_call(name, [1]) == {"card": "generic", "title": name, "rawInput": [1]}
        view = tools.tools.present_result(name, [1], {"content": (), "isError": False})
        assert view == {"card": "generic", "title": name, "content": ()}
