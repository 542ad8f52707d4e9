"""The recorded traces of sheet 70 that need no tools, row by row."""

from tests.reference.world import USER, World, fail, hang, message, text

from dshcore.agent import AGENT_PRE_STEP, AGENT_REQUEST_ERROR, Reject, Retry

OPENED = [
    "splice next-turn 0 +A",
    "inserted A",
    "running",
    "turn/start 1",
    "splice next-turn 0 -1",
    "claimed 1 A",
    "> pre-step 1.1 A",
    "step/start 1.1",
    "user/message A",
    "> request 1.1",
    "request/header initial",
    "request/context",
]
SAID = ["chunk block-start", "chunk text-delta", "chunk block-end", "chunk finish"]
CLOSED = ["step/end 1.1", "> stopping 1", "turn/end 1 completed", "idle"]


def test_plain_turn(world: World) -> None:
    """One follow-up runs one turn of one step, in the recorded order."""
    world.create()
    world.take()
    world.followup("A")
    assert world.take() == [*OPENED, *SAID, "assistant/message hi", *CLOSED]


def test_cancel_mid_stream_with_a_latched_wake(world: World) -> None:
    """A steer after a cancel is filed for a turn of its own and replayed when the aborted turn has converged."""
    agent = world.create()
    world.model.follow(hang("par"), text("two"))
    world.followup("A")
    world.take()

    def stretch() -> None:
        agent.cancel(USER)
        world.rows.append(f"ret {agent.status}")
        agent.steer(message("B"))
        world.rows.append(f"ret {agent.status}")

    world.run(stretch)
    assert world.take() == [
        "ret running",
        "splice next-turn 0 +B",
        "inserted B",
        "ret running",
        "assistant/message par interrupted",
        "step/end 1.1",
        "turn/end 1 aborted",
        "idle",
        "running",
        "turn/start 2",
        "splice next-turn 0 -1",
        "claimed 2 B",
        "> pre-step 2.1 B",
        "step/start 2.1",
        "user/message B",
        "> request 2.1",
        *SAID,
        "assistant/message two",
        "step/end 2.1",
        "> stopping 2",
        "turn/end 2 completed",
        "idle",
    ]


def test_cancel_keep_inbox(world: World) -> None:
    """A cancel that keeps the inbox parks what was pending, and runs nothing after the aborted turn."""
    agent = world.create()
    world.model.follow(hang("par"))
    world.followup("A")
    world.take()

    def stretch() -> None:
        agent.followup(message("Q"))
        agent.inject(message("I"))
        agent.cancel({"kind": "parent"}, keep_inbox=True)

    world.run(stretch)
    assert world.take() == [
        "splice next-turn 0 +Q",
        "inserted Q",
        "splice next-step 0 +I",
        "inserted I",
        "assistant/message par interrupted",
        "step/end 1.1",
        "turn/end 1 aborted",
        "idle",
    ]
    assert [m["id"] for m in agent.inbox.next_turn + agent.inbox.next_step] == ["Q", "I"]


def test_reject(world: World) -> None:
    """A rejected first proposal closes the turn blocked; its batch is gone, what came later stays parked."""
    agent = world.create()
    world.take()

    async def reject(*_: object) -> Reject:
        return Reject()

    world.root.on(AGENT_PRE_STEP, reject)

    def stretch() -> None:
        agent.inject(message("I"))
        agent.followup(message("A"))
        agent.steer(message("S"))

    world.run(stretch)
    assert world.take() == [
        "splice next-step 0 +I",
        "inserted I",
        "splice next-turn 0 +A",
        "inserted A",
        "running",
        "turn/start 1",
        "splice next-step 0 -1",
        "splice next-turn 0 -1",
        "claimed 1 I",
        "claimed 1 A",
        "splice next-step 0 +S",
        "inserted S",
        "> pre-step 1.1 I,A",
        "turn/end 1 blocked",
        "idle",
    ]
    assert [m["id"] for m in agent.inbox.next_step] == ["S"]


def test_request_error_with_retry(world: World) -> None:
    """A retry repeats the request inside the same step."""
    world.create()
    world.model.follow(fail("RATE_LIMIT"), text("ok"))
    world.take()

    async def retry(*_: object) -> Retry:
        return Retry()

    world.root.on(AGENT_REQUEST_ERROR, retry)
    world.followup("A")
    assert world.take() == [
        *OPENED,
        "chunk finish",
        "> request-error 1.1 RATE_LIMIT",
        "> request 1.1",
        *SAID,
        "assistant/message ok",
        *CLOSED,
    ]


def test_maintenance_with_wake(world: World) -> None:
    """A wake sent during maintenance starts its driver when the task ends, before the task's answer completes."""
    agent = world.create()
    world.take()
    release = world.loop.create_future()

    async def task(_signal: object) -> int:
        world.rows.append("task started")
        await release
        world.rows.append("task finishing")
        return 42

    async def watched() -> None:
        running = agent.run_maintenance(task)
        world.rows.append(f"ret {agent.status}")
        agent.steer(message("S"))
        world.rows.append(f"ret {agent.status}")
        world.rows.append(f"task value {await running}")

    world.start(watched)
    assert world.take() == ["task started", "ret idle", "splice next-step 0 +S", "inserted S", "ret idle"]
    world.run(lambda: release.set_result(None))
    rows = world.take()
    assert rows[:5] == ["task finishing", "running", "turn/start 1", "splice next-step 0 -1", "claimed 1 S"]
    assert rows.index("task value 42") > rows.index("claimed 1 S")
    assert "idle" in rows
