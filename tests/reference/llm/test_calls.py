import copy
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from typeguard import suppress_type_checks

from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.ids import ReasoningEffortId, SessionId
from dshcore.json import JsonObject, NotJson, freeze
from dshcore.llm import (
    CallConfig,
    FrozenRequest,
    GenerateOptions,
    LlmError,
    LlmRuntime,
    is_loop_built,
    mark_loop_built,
    user_message,
)
from dshcore.prefix import Prefix
from dshcore.settling import SettlingLoop

FULL = CallConfig(
    provider="p",
    model="m",
    reasoning_effort=ReasoningEffortId("high"),
    temperature=0.5,
    max_tokens=10,
    stop=("a", "b"),
)


@pytest.mark.parametrize(
    ("change", "equal"),
    [
        ({}, True),
        ({"provider": "q"}, False),
        ({"model": "n"}, False),
        ({"reasoning_effort": UNSET}, False),
        ({"temperature": 1}, False),
        ({"max_tokens": UNSET}, False),
        ({"stop": ["a", "b"]}, True),
        ({"stop": ("b", "a")}, False),
        ({"stop": ()}, False),
        ({"stop": UNSET}, False),
    ],
)
def test_configurations_are_equal_member_by_member(change: dict[str, Any], equal: bool) -> None:
    """CALL-CONFIG-02: the holder of the stop texts does not count, an absent list differs from an empty one."""
    assert (msgspec.structs.replace(FULL, **change) == FULL) is equal


def test_a_configuration_is_written_as_the_log_writes_it() -> None:
    """Absent members are left out; provider and model never are."""
    assert FULL.to_json() == {
        "provider": "p",
        "model": "m",
        "reasoningEffort": "high",
        "temperature": 0.5,
        "maxTokens": 10,
        "stop": ("a", "b"),
    }
    assert CallConfig().to_json() == {"provider": "", "model": ""}
    assert CallConfig.read(freeze({**FULL.to_json(), "junk": 1})) == FULL
    assert CallConfig.read({"maxTokens": -1}) == CallConfig(max_tokens=-1), "values are not checked"


def test_a_configuration_is_detached_and_immutable() -> None:
    """CALL-PREP-02, REQ-SEED-04."""
    stop: Any = ["a"]
    config: Any = CallConfig(stop=stop)
    stop.append("b")
    assert config.stop == ("a",)
    with pytest.raises(AttributeError):
        config.provider = "q"


def request(config: CallConfig = FULL, **parts: Any) -> GenerateOptions:
    return GenerateOptions(config, parts.pop("messages", ()), **parts)


def test_a_hand_built_request_can_be_changed_until_it_is_frozen() -> None:
    """REQ-SHAPE-01: then down to its messages."""
    messages = [user_message("a")]
    tools = [freeze({"name": "t", "parameters": {}})]
    made = request(messages=messages, tools=tools)
    made.config = CallConfig(provider="q")
    made.system = "be brief"
    assert made.freeze() is made
    messages.append(user_message("b"))
    tools.clear()
    assert made.frozen
    assert len(made.messages) == 1
    assert made.tools is not None
    assert [tool["name"] for tool in made.tools] == ["t"]
    for member in ("config", "messages", "system", "tools", "signal", "session_id", "purpose"):
        with pytest.raises(FrozenRequest, match=f"cannot set {member} of a frozen request"):
            setattr(made, member, None)
    shown: Any = made.messages
    with pytest.raises(TypeError):
        shown[0]["role"] = "system"
    with pytest.raises(AttributeError):
        shown.append({})


def test_history_is_shared_by_a_frozen_request() -> None:
    """A prefix of frozen messages is kept as it is: no copy, and what is appended later does not show."""
    history = [user_message("a")]
    prefix = Prefix(history)
    made = request(messages=prefix).freeze()
    history.append(user_message("b"))
    assert made.messages is prefix
    assert len(made.messages) == 1


def test_the_signal_of_a_frozen_request_stays_live() -> None:
    """FREEZE-DEEP-02."""
    signal, heard = CancelSignal(), []
    made = request(signal=signal).freeze()
    assert made.signal is signal
    signal.on_abort(lambda: heard.append(signal.reason))
    signal.abort("why")
    assert heard == ["why"]
    assert made.copy().signal is signal


def test_the_mark_of_the_loop_is_on_the_object_alone() -> None:
    """FREEZE-MARK-01: not on a copy, not in its JSON, not on another request that looks the same."""
    made = mark_loop_built(request(session_id=SessionId("s")).freeze())
    assert is_loop_built(made)
    assert not is_loop_built(made.copy())
    assert not is_loop_built(request(session_id=SessionId("s")).freeze())


@pytest.mark.parametrize("frozen", [False, True])
def test_a_copy_is_as_frozen_as_its_original(frozen: bool) -> None:
    """STREAM-DEFAULT-01."""
    made = request(system="s", session_id=SessionId("x"), purpose="compaction")
    copied = (made.freeze() if frozen else made).copy(config=CallConfig(provider="q"))
    assert copied.frozen is frozen
    assert made.config == FULL
    assert copied.to_json() == {
        "provider": "q",
        "model": "",
        "messages": (),
        "system": "s",
        "sessionId": "x",
        "purpose": "compaction",
    }


class Adapter:
    """Answers one chunk that names it, and remembers what it was given."""

    def __init__(self, name: str = "a", metadata: dict[str, Any] | None = None) -> None:
        self.name = name
        self.metadata = {} if metadata is None else metadata
        self.lookups: list[CancelSignal | None] = []
        self.requests: list[GenerateOptions] = []

    async def stream(self, request: GenerateOptions) -> AsyncIterator[JsonObject]:
        self.requests.append(request)
        yield freeze({"type": "text-delta", "index": 0, "text": self.name})

    async def resolve(self, provider: str, model: str, signal: CancelSignal | None) -> dict[str, Any]:
        self.lookups.append(signal)
        return {"provider": provider, "id": model, "name": "N", **self.metadata}


DEFAULTS = {
    "context": {"contextWindow": 7},
    "defaultMaxTokens": 10,
    "reasoning": {"efforts": [{"id": "low", "name": "L"}, {"id": "high", "name": "H"}], "defaultEffort": "low"},
}


class Bench:
    def __init__(self, loop: SettlingLoop) -> None:
        self.root = Context()
        self.llm = LlmRuntime(self.root)
        self._run = loop.run_until_complete

    def prepare(self, config: CallConfig, signal: CancelSignal | None = None) -> Any:
        return self._run(self.llm.prepare(config, signal))

    def chunks(self, stream: AsyncIterator[JsonObject]) -> list[Any]:
        async def collect() -> list[JsonObject]:
            return [chunk async for chunk in stream]

        return self._run(collect())

    def finish(self, stream: AsyncIterator[JsonObject]) -> Any:
        (chunk,) = self.chunks(stream)
        assert chunk["type"] == "finish"
        return chunk["reason"]


@pytest.fixture
def bench(loop: SettlingLoop) -> Bench:
    return Bench(loop)


def test_preparing_asks_once_and_settles_the_configuration(bench: Bench) -> None:
    """CALL-PREP-01, CALL-PREP-04, ADAPTER-DEFAULT-01, ADAPTER-DEFAULT-02."""
    adapter, signal = Adapter(metadata=DEFAULTS), CancelSignal()
    bench.llm.register(bench.root, ["p"], adapter)
    prepared = bench.prepare(CallConfig(provider="p", model="m"), signal)
    assert prepared.config == CallConfig(
        provider="p", model="m", max_tokens=10, reasoning_effort=ReasoningEffortId("low")
    )
    assert prepared.adapter_defaults == {"maxTokens": True, "reasoningEffort": True}
    assert prepared.context == {"contextWindow": 7}
    bench.chunks(prepared.stream(request(prepared.config)))
    assert adapter.lookups == [signal]


def test_without_metadata_nothing_is_supplied(bench: Bench) -> None:
    """CALL-PREP-01: the markers are there all the same, the capacity is not."""
    bench.llm.register(bench.root, ["p"], Adapter())
    prepared = bench.prepare(CallConfig(provider="p", model="m", max_tokens=99))
    assert prepared.config == CallConfig(provider="p", model="m", max_tokens=99)
    assert prepared.adapter_defaults == {}
    assert prepared.context is None


@pytest.mark.parametrize(("asked", "sent"), [(99, 99), (5, 5), (-5, -5), (None, 10)])
def test_a_default_fills_an_absent_ceiling_only(bench: Bench, asked: int | None, sent: int) -> None:
    """ADAPTER-DEFAULT-01, ADAPTER-DEFAULT-06: for hand-built requests too; the seam does not check the value."""
    adapter = Adapter(metadata={"defaultMaxTokens": 10})
    bench.llm.register(bench.root, ["p"], adapter)
    made = request(CallConfig(provider="p", model="m", max_tokens=UNSET if asked is None else asked))
    before = made.config
    bench.chunks(bench.llm.stream(made))
    (given,) = adapter.requests
    assert given.config.max_tokens == sent
    assert made.config is before, "STREAM-DEFAULT-01: the caller's request is not changed"
    assert (given is made) is (asked is not None), "STREAM-DEFAULT-01: nothing to fill in, nothing copied"


def test_an_effort_that_is_asked_for_wins_over_the_default(bench: Bench) -> None:
    """ADAPTER-DEFAULT-02: and without a default an omitted one stays absent."""
    bench.llm.register(bench.root, ["p"], Adapter(metadata=DEFAULTS))
    bench.llm.register(bench.root, ["q"], Adapter(metadata={"reasoning": {"efforts": [{"id": "low", "name": "L"}]}}))
    asked = bench.prepare(CallConfig(provider="p", model="m", reasoning_effort=ReasoningEffortId("high"), max_tokens=1))
    assert asked.config.reasoning_effort == "high"
    assert asked.adapter_defaults == {}
    omitted = bench.prepare(CallConfig(provider="q", model="m"))
    assert omitted.config.reasoning_effort is UNSET
    assert omitted.adapter_defaults == {}


@pytest.mark.parametrize("effort", ["HIGH", "", "none"])
def test_an_unknown_effort_is_refused_before_the_adapter_is_called(bench: Bench, effort: str) -> None:
    """ADAPTER-DEFAULT-02."""
    adapter = Adapter(metadata=DEFAULTS)
    bench.llm.register(bench.root, ["p"], adapter)
    config = CallConfig(provider="p", model="m", reasoning_effort=ReasoningEffortId(effort))
    with pytest.raises(LlmError) as refused:
        bench.prepare(config)
    assert refused.value.code == "UNSUPPORTED_REASONING_EFFORT"
    assert str(refused.value) == f'provider "p" model "m" does not support reasoning effort "{effort}"'
    reason = bench.finish(bench.llm.stream(request(config)))
    assert reason["failure"]["code"] == "UNSUPPORTED_REASONING_EFFORT"
    assert adapter.requests == []


def test_preparing_for_an_unknown_route_fails_through_its_answer(bench: Bench) -> None:
    """CALL-PREP-03."""
    answer = bench.llm.prepare(CallConfig(provider="z", model="m"))

    async def main() -> None:
        await answer

    with pytest.raises(LlmError, match='no adapter registered for provider "z"') as failed:
        bench._run(main())
    assert failed.value.code == "NO_ADAPTER"


def test_a_prepared_call_is_dispatched_once(bench: Bench) -> None:
    """CALL-ONCE-01: also when the first stream was never pulled."""
    adapter = Adapter()
    bench.llm.register(bench.root, ["p"], adapter)
    prepared = bench.prepare(CallConfig(provider="p", model="m"))
    made = request(prepared.config)
    prepared.stream(made)
    for again in (made, request(CallConfig(provider="other"))):
        with pytest.raises(LlmError, match="a prepared LLM call can only be dispatched once") as refused:
            prepared.stream(again)
        assert refused.value.code == "INVALID_PREPARED_CALL"
    assert adapter.requests == []


def test_a_request_that_does_not_match_leaves_the_call_usable(bench: Bench) -> None:
    """CALL-MATCH-01: supplied defaults count."""
    bench.llm.register(bench.root, ["p"], Adapter(metadata={"defaultMaxTokens": 10}))
    asked = CallConfig(provider="p", model="m")
    prepared = bench.prepare(asked)
    for wrong in (asked, msgspec.structs.replace(prepared.config, model="n")):
        with pytest.raises(LlmError, match="prepared LLM call config changed before adapter dispatch") as refused:
            prepared.stream(request(wrong))
        assert refused.value.code == "INVALID_PREPARED_CALL"
    assert len(bench.chunks(prepared.stream(request(prepared.config)))) == 1


def test_a_call_stays_bound_to_the_registration_it_was_prepared_with(bench: Bench) -> None:
    """CALL-BIND-01: whether the route went to somebody else or to nobody."""
    old = Adapter("old")
    registration = bench.llm.register(bench.root, ["p"], old)
    config = CallConfig(provider="p", model="m")
    first, second = bench.prepare(config), bench.prepare(config)
    registration()
    assert [chunk["text"] for chunk in bench.chunks(first.stream(request(config)))] == ["old"]
    bench.llm.register(bench.root, ["p"], Adapter("new"))
    assert [chunk["text"] for chunk in bench.chunks(second.stream(request(config)))] == ["old"]


def test_freezing_reaches_every_depth() -> None:
    """FREEZE-DEEP-01: the request in place, its JSON by the only way there is to make some; what is frozen is kept."""
    inner: list[Any] = []
    deep: Any = inner
    for _ in range(5000):
        deep = [deep]
    message = freeze({"id": "m", "role": "user", "content": deep, "source": {"kind": "user"}})
    made = request(messages=[message])
    assert made.freeze() is made
    assert made.messages[0] is message
    inner.append("later")
    found: Any = made.messages[0]["content"]
    while found:
        (found,) = found
    assert found == ()
    with pytest.raises(AttributeError):
        found.append("later")


def test_freezing_reaches_what_was_made_by_hand() -> None:
    """FREEZE-DEEP-01: messages and tools of plain containers; what they were made of is the maker's as before."""
    inner: list[Any] = []
    deep: Any = inner
    for _ in range(5000):
        deep = [deep]
    message: Any = {"id": "m", "role": "user", "content": deep, "source": {"kind": "user"}}
    tool: Any = {"name": "t", "parameters": {"type": "object"}}
    with suppress_type_checks():
        made = request(messages=[message], tools=[tool]).freeze()
    inner.append("later")
    tool["parameters"]["type"] = "array"
    found: Any = made.messages[0]["content"]
    while found:
        (found,) = found
    assert found == ()
    tools: Any = made.tools
    assert tools == ({"name": "t", "parameters": {"type": "object"}},)
    frozen: Any = (*made.messages, *tools)
    for part in frozen:
        with pytest.raises(TypeError, match="cannot change"):
            part["name"] = "other"


def test_freezing_ends_on_what_contains_itself() -> None:
    """FREEZE-DEEP-01: JSON cannot carry it: it is refused by name, and the request can still be mended."""
    message: Any = {"id": "m"}
    message["content"] = [message]
    with suppress_type_checks():
        made = request(messages=[message])
        with pytest.raises(NotJson, match="contains itself"):
            made.freeze()
    made.messages = ()
    assert made.freeze().frozen


def test_members_of_a_request_cannot_be_deleted() -> None:
    """FREEZE-DEEP-01: a request always has all of them, absent ones are none."""
    made = request(system="s")
    with pytest.raises(AttributeError, match="set it to None"):
        del made.system
    made.freeze()
    with pytest.raises(FrozenRequest, match="cannot delete system"):
        del made.system
    assert made.system == "s"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_request_can_be_copied(copied: Callable[[GenerateOptions], GenerateOptions]) -> None:
    """FREEZE-DEEP-02, FREEZE-MARK-01: as frozen as it was, with the same signal, without the mark."""
    signal = CancelSignal()
    message: Any = {"id": "m", "content": [1]}
    with suppress_type_checks():
        made = request(messages=[message], signal=signal, system="s")
        other = copied(made)
        assert (other is made, other.frozen, other.signal is signal) == (False, False, True)
        assert other.to_json() == made.to_json()
        message["content"].append(2)
        assert (other.messages[0]["content"] == [1, 2]) is (copied is copy.copy)
        other = copied(mark_loop_built(made.freeze()))
    assert (other is made, other.frozen, other.signal is signal, is_loop_built(other)) == (False, True, True, False)
    assert other.messages[0] is made.messages[0]


@pytest.mark.parametrize("stop", ["END", None, 5, {"a": 1}])
def test_stop_texts_are_a_list(stop: Any) -> None:
    """One text is not a list of its letters."""
    with suppress_type_checks(), pytest.raises(TypeError, match="stop must be a list of texts, not"):
        CallConfig(stop=stop)
    with pytest.raises(TypeError, match="stop must be a list of texts, not"):
        CallConfig.read({"stop": stop})


def test_a_prepared_call_cannot_be_changed(bench: Bench) -> None:
    """CALL-PREP-02: nothing of it, nor by way of what the adapter answered."""
    adapter = Adapter(metadata={**DEFAULTS, "context": {"contextWindow": 7}})
    bench.llm.register(bench.root, ["p"], adapter)
    prepared = bench.prepare(CallConfig(provider="p", model="m"))
    adapter.metadata["context"]["contextWindow"] = 1
    assert prepared.context == {"contextWindow": 7}
    for member in ("config", "adapter_defaults", "retry_policy", "context", "anything"):
        with pytest.raises(AttributeError):
            setattr(prepared, member, None)
    with pytest.raises(TypeError):
        prepared.context["contextWindow"] = 1
    with pytest.raises(TypeError):
        prepared.adapter_defaults["maxTokens"] = False
