from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, InactiveContext
from dshcore.json import JsonObject, freeze
from dshcore.llm import ADAPTERS_UPDATED, CallConfig, GenerateOptions, LlmError, LlmRuntime
from dshcore.llm.adapters import AlwaysRetry
from dshcore.settling import SettlingLoop


class Silent:
    """An adapter that is never asked."""

    def stream(self, request: GenerateOptions) -> AsyncIterator[JsonObject]:
        raise AssertionError(f"asked for {request}")


class Knowing(Silent):
    """An adapter with metadata; counts how often it is asked."""

    def __init__(
        self, metadata: Mapping[str, object] | None = None, models: Sequence[Mapping[str, object]] = ()
    ) -> None:
        self.metadata = metadata
        self.listed = models
        self.asked: list[tuple[str, str, CancelSignal | None]] = []

    async def resolve(self, provider: str, model: str, signal: CancelSignal | None) -> Mapping[str, object]:
        self.asked.append((provider, model, signal))
        return {"provider": provider, "id": model, "name": "N", **({} if self.metadata is None else self.metadata)}

    async def models(self, provider: str) -> Sequence[Mapping[str, object]]:
        assert provider
        return self.listed


class Bench:
    """A runtime whose changes are counted, with the providers that each change showed."""

    def __init__(self) -> None:
        self.root = Context()
        self.llm = LlmRuntime(self.root)
        self.shown: list[list[str]] = []
        self.root.open(scope="elsewhere").on(ADAPTERS_UPDATED, lambda _: self.shown.append(self.ids))

    @property
    def ids(self) -> list[str]:
        return [provider["id"] for provider in self.llm.providers()]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def refusal(code: str, call: Any) -> str:
    with pytest.raises(LlmError) as refused:
        call()
    assert refused.value.code == code
    return str(refused.value)


def test_registering_and_disposing_show_and_are_announced_once(bench: Bench) -> None:
    """ADAPTER-EVENT-01, ADAPTER-DISPOSE-01: to everybody, after the registry shows the new state."""
    registration = bench.llm.register(bench.root, ["a", "b"], Silent())
    assert registration.routes == ("a", "b")
    registration()
    registration()
    assert bench.shown == [["a", "b"], []]


@pytest.mark.parametrize(
    ("routes", "code", "text"),
    [
        (["a", "taken", "c"], "DUPLICATE_ADAPTER", 'an adapter for provider "taken" is already registered'),
        (["a", "a"], "DUPLICATE_ADAPTER", 'an adapter for provider "a" is already registered'),
        ([], "INVALID_ADAPTER", "an adapter must register at least one provider"),
        (["a", ""], "INVALID_ADAPTER", "adapter provider names must be non-empty"),
        (
            ["a", "wrong"],
            "INVALID_ADAPTER",
            'adapter metadata for provider "wrong" must preserve its id and have a non-empty name',
        ),
        (
            ["a", "mute"],
            "INVALID_ADAPTER",
            'adapter metadata for provider "mute" must preserve its id and have a non-empty name',
        ),
        (
            ["a", "odd"],
            "INVALID_ADAPTER",
            'adapter metadata for provider "odd" must preserve its id and have a non-empty name',
        ),
    ],
)
def test_registering_is_all_or_nothing(bench: Bench, routes: list[str], code: str, text: str) -> None:
    """ADAPTER-REG-01, ADAPTER-REG-02, ADAPTER-REG-03: a refusal changes and announces nothing."""
    adapter = Silent()
    bench.llm.register(bench.root, ["taken"], adapter)
    bench.shown.clear()
    names: dict[str, dict[str, object]] = {
        "wrong": {"id": "other", "name": "x"},
        "mute": {"id": "mute", "name": ""},
        "odd": {"id": "odd", "name": 5},
    }
    assert refusal(code, lambda: bench.llm.register(bench.root, routes, adapter, names=names)) == text
    assert bench.ids == ["taken"]
    assert bench.shown == []


def test_a_registration_ends_with_its_owner(bench: Bench, loop: SettlingLoop) -> None:
    """ADAPTER-DISPOSE-01."""
    owner = bench.root.open(scope="plugin")
    registration = bench.llm.register(owner, ["a"], Silent())

    async def main() -> None:
        await owner.dispose()

    loop.run_until_complete(main())
    assert bench.ids == []
    assert refusal("REGISTRATION_DISPOSED", lambda: registration.replace(["a"]))
    with pytest.raises(InactiveContext):
        bench.llm.register(owner, ["b"], Silent())
    assert bench.ids == []


def test_replacing_swaps_in_one_step(bench: Bench) -> None:
    """ADAPTER-REPLACE-01, ADAPTER-LIST-01: own routes count as free, and the new set goes to the end."""
    names = {"c": {"id": "c", "name": "Sea"}}
    registration = bench.llm.register(bench.root, ["a"], Silent(), names=names)
    bench.llm.register(bench.root, ["b"], Silent())
    bench.shown.clear()
    registration.replace(["a", "c"])
    assert bench.shown == [["b", "a", "c"]]
    assert [(provider["id"], provider["name"]) for provider in bench.llm.providers()] == [
        ("b", "b"),
        ("a", "a"),
        ("c", "Sea"),
    ]
    assert 'provider "b"' in refusal("DUPLICATE_ADAPTER", lambda: registration.replace(["c", "b"]))
    refusal("INVALID_ADAPTER", lambda: registration.replace([""]))
    assert bench.shown == [["b", "a", "c"]]
    assert registration.routes == ("a", "c")


def test_routes_are_a_list(bench: Bench) -> None:
    """ADAPTER-REG-02: one text is not a list of its letters."""
    text = refusal("INVALID_ADAPTER", lambda: bench.llm.register(bench.root, "openai", Silent()))
    assert text == "adapter providers must be a list of names, not 'openai'"
    registration = bench.llm.register(bench.root, ["a"], Silent())
    refusal("INVALID_ADAPTER", lambda: registration.replace("bc"))
    assert (bench.ids, bench.shown) == (["a"], [["a"]])


def test_an_empty_set_is_a_live_registration(bench: Bench) -> None:
    """ADAPTER-REPLACE-02: and once disposed, the argument is not even looked at."""
    registration = bench.llm.register(bench.root, ["a"], Silent())
    registration.replace([])
    assert bench.ids == []
    registration.replace(["z"])
    assert bench.ids == ["z"]
    registration()
    text = refusal("REGISTRATION_DISPOSED", lambda: registration.replace([""]))
    assert text == "a disposed adapter registration cannot replace its routes"


def test_disposing_releases_what_is_held_then(bench: Bench) -> None:
    """ADAPTER-DISPOSE-01: not a route given up earlier that somebody else took."""
    first = bench.llm.register(bench.root, ["a"], Silent())
    first.replace(["b"])
    bench.llm.register(bench.root, ["a"], Silent())
    first()
    assert bench.ids == ["a"]


def test_a_failing_listener_undoes_nothing(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """ADAPTER-EVENT-02."""

    def fail(_: None) -> None:
        raise ValueError("no")

    bench.root.on(ADAPTERS_UPDATED, fail, prepend=True)
    bench.llm.register(bench.root, ["a"], Silent())
    assert bench.shown == [["a"]]
    assert caplog.messages == ["llm/adapters-updated listener threw: ValueError: no"]


def test_a_retry_policy_is_captured_at_registration(bench: Bench, loop: SettlingLoop) -> None:
    """ADAPTER-RETRY-01, CALL-PREP-01."""
    mine = AlwaysRetry(initial_delay_ms=1, max_delay_ms=2, jitter_ratio=0)
    bench.llm.register(bench.root, ["a"], Silent())
    bench.llm.register(bench.root, ["b"], Silent(), retry_policy=mine)
    prepared = loop.run_until_complete(bench.llm.prepare(CallConfig(provider="a", model="m")))
    assert msgspec.to_builtins(prepared.retry_policy) == {
        "mode": "normal",
        "maxRetries": 5,
        "retryableCodes": ("EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT"),
        "initialDelayMs": 500,
        "maxDelayMs": 10000,
        "jitterRatio": 0.1,
    }
    assert loop.run_until_complete(bench.llm.prepare(CallConfig(provider="b", model="m"))).retry_policy is mine


def test_an_adapter_without_metadata_names_the_model_by_its_id(bench: Bench, loop: SettlingLoop) -> None:
    """ADAPTER-RESOLVE-01."""
    bench.llm.register(bench.root, ["a"], Silent())
    assert loop.run_until_complete(bench.llm.resolve("a", "m")).info == {"provider": "a", "id": "m", "name": "m"}
    assert loop.run_until_complete(bench.llm.models("a")) == ()


def failing(loop: SettlingLoop, answer: Awaitable[object]) -> LlmError:
    async def main() -> None:
        await answer

    with pytest.raises(LlmError) as failed:
        loop.run_until_complete(main())
    return failed.value


class Answering(Silent):
    """An adapter that answers whatever it was given."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    async def resolve(self, *_: object) -> Any:
        return self._answer

    async def models(self, _: str) -> Any:
        return self._answer


@pytest.mark.parametrize("answer", [None, [], "m", 5])
def test_metadata_that_is_no_object_is_refused(bench: Bench, loop: SettlingLoop, answer: object) -> None:
    """ADAPTER-RESOLVE-01."""
    bench.llm.register(bench.root, ["a"], Answering(answer))
    assert failing(loop, bench.llm.resolve("a", "m")).code == "INVALID_MODEL_INFO"


@pytest.mark.parametrize("answer", [None, {}, "", "ab", 5, [None], ["m"]])
def test_a_catalog_that_is_no_list_of_objects_is_refused(bench: Bench, loop: SettlingLoop, answer: object) -> None:
    """ADAPTER-MODELS-01."""
    bench.llm.register(bench.root, ["a"], Answering(answer))
    assert failing(loop, bench.llm.models("a")).code == "INVALID_CATALOG"


BAD_CONTEXT, BAD_MAXIMUM = {"context": {"contextWindow": 0}}, {"defaultMaxTokens": -1}
HIGH = {"id": "high", "name": "High"}


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ({"provider": "z", **BAD_CONTEXT}, "INVALID_MODEL_INFO"),
        ({"id": "other"}, "INVALID_MODEL_INFO"),
        ({"name": ""}, "INVALID_MODEL_INFO"),
        ({"name": 5}, "INVALID_MODEL_INFO"),
        ({"description": 5}, "INVALID_MODEL_INFO"),
        ({**BAD_CONTEXT, **BAD_MAXIMUM}, "INVALID_MODEL_CONTEXT"),
        ({"context": None}, "INVALID_MODEL_CONTEXT"),
        ({"context": {"contextWindow": 1.5}}, "INVALID_MODEL_CONTEXT"),
        ({"context": {"contextWindow": True}}, "INVALID_MODEL_CONTEXT"),
        ({**BAD_MAXIMUM, "reasoning": {}}, "INVALID_MODEL_MAX_TOKENS"),
        ({"defaultMaxTokens": 2**53}, "INVALID_MODEL_MAX_TOKENS"),
        ({"reasoning": {}}, "INVALID_MODEL_REASONING"),
        ({"reasoning": "high"}, "INVALID_MODEL_REASONING"),
        ({"reasoning": {"efforts": []}}, "INVALID_MODEL_REASONING"),
        ({"reasoning": {"efforts": [HIGH, HIGH]}}, "INVALID_MODEL_REASONING"),
        ({"reasoning": {"efforts": [{"id": "", "name": "x"}]}}, "INVALID_MODEL_REASONING"),
        ({"reasoning": {"efforts": [{"id": "x", "name": ""}]}}, "INVALID_MODEL_REASONING"),
        ({"reasoning": {"efforts": ["high"]}}, "INVALID_MODEL_REASONING"),
        ({"reasoning": {"efforts": [{**HIGH, "description": 5}]}}, "INVALID_MODEL_REASONING"),
        ({"reasoning": {"efforts": [{"id": 5, "name": "x"}]}}, "INVALID_MODEL_REASONING"),
        ({"reasoning": {"efforts": [HIGH], "defaultEffort": "low"}}, "INVALID_MODEL_REASONING"),
    ],
)
def test_metadata_is_checked_and_the_first_violation_decides(
    bench: Bench, loop: SettlingLoop, metadata: dict[str, object], code: str
) -> None:
    """ADAPTER-RESOLVE-01."""
    bench.llm.register(bench.root, ["a"], Knowing(metadata))
    error = failing(loop, bench.llm.resolve("a", "m"))
    assert error.code == code
    assert 'provider "a" model "m"' in str(error)


@pytest.mark.parametrize(
    ("reasoning", "text"),
    [
        ({}, "adapter returned invalid reasoning metadata"),
        ({"efforts": {"id": "high"}}, "adapter returned invalid reasoning metadata"),
        ({"efforts": [HIGH, HIGH]}, "adapter returned invalid or duplicate reasoning effort metadata"),
        ({"efforts": [HIGH], "defaultEffort": None}, "adapter returned an unknown default reasoning effort"),
    ],
)
def test_a_refusal_of_efforts_says_what_is_wrong_with_them(
    bench: Bench, loop: SettlingLoop, reasoning: dict[str, object], text: str
) -> None:
    """ADAPTER-RESOLVE-01: three texts under one code."""
    bench.llm.register(bench.root, ["a"], Knowing({"reasoning": reasoning}))
    assert str(failing(loop, bench.llm.resolve("a", "m"))) == f'{text} for provider "a" model "m"'


@pytest.mark.parametrize("maximum", [1, 2**53 - 1])
def test_the_ends_of_the_range_of_a_default_maximum(bench: Bench, loop: SettlingLoop, maximum: int) -> None:
    bench.llm.register(bench.root, ["a"], Knowing({"defaultMaxTokens": maximum}))
    assert loop.run_until_complete(bench.llm.resolve("a", "m")).default_max_tokens == maximum


def test_metadata_is_taken_in_known_members(bench: Bench, loop: SettlingLoop) -> None:
    known = {
        "context": {"contextWindow": 10},
        "defaultMaxTokens": 5,
        "reasoning": {"efforts": [HIGH], "defaultEffort": "high"},
        "description": "d",
    }
    junk = {
        "context": {"contextWindow": 10, "junk": 1},
        "reasoning": {"efforts": [{**HIGH, "junk": 1}], "defaultEffort": "high", "junk": 1},
        "junk": 1,
    }
    signal = CancelSignal()
    adapter = Knowing({**known, **junk})
    bench.llm.register(bench.root, ["a"], adapter)
    model = loop.run_until_complete(bench.llm.resolve("a", "m", signal))
    assert model.info == freeze({"provider": "a", "id": "m", "name": "N", **known})
    assert model.context == freeze({"contextWindow": 10})
    assert model.default_max_tokens == 5
    assert (model.efforts, model.default_effort) == (("high",), "high")
    assert adapter.asked == [("a", "m", signal)]


ENTRY = {"provider": "a", "id": "m1", "name": "One"}


@pytest.mark.parametrize(
    "entries",
    [
        [{**ENTRY, "provider": "z"}],
        [{**ENTRY, "id": ""}],
        [{**ENTRY, "id": {"a": 1}}],
        [{**ENTRY, "name": ""}],
        [{**ENTRY, "description": 1}],
        [ENTRY, ENTRY],
    ],
)
def test_a_wrong_catalog_is_refused(bench: Bench, loop: SettlingLoop, entries: list[dict[str, object]]) -> None:
    """ADAPTER-MODELS-01."""
    bench.llm.register(bench.root, ["a"], Knowing(models=entries))
    assert failing(loop, bench.llm.models("a")).code == "INVALID_CATALOG"


def test_a_catalog_drops_what_nobody_knows(bench: Bench, loop: SettlingLoop) -> None:
    """ADAPTER-MODELS-01: and an unknown route has none."""
    bench.llm.register(bench.root, ["a"], Knowing(models=[{**ENTRY, "junk": 1}]))
    assert [dict(entry) for entry in loop.run_until_complete(bench.llm.models("a"))] == [ENTRY]
    assert failing(loop, bench.llm.models("z")).code == "NO_ADAPTER"


@pytest.mark.parametrize("window", [1, 2**53, 10**30])
def test_a_window_is_any_positive_integer(bench: Bench, loop: SettlingLoop, window: int) -> None:
    """ADAPTER-RESOLVE-01: unlike a default maximum it need not be a safe one."""
    bench.llm.register(bench.root, ["a"], Knowing({"context": {"contextWindow": float(window)}}))
    assert loop.run_until_complete(bench.llm.resolve("a", "m")).context == freeze({"contextWindow": float(window)})
