"""Adapters in a process of their own: a good one works, and each bad one is named for what it does."""

import json
import os
import pickle
import selectors
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dshconform.links.link import AdapterFault, Limits
from dshconform.links.subprocess import SubprocessLink

FAKE = Path(__file__).with_name("fake_adapter.py")
LIMITS = Limits(seconds_per_reply=20, seconds_to_end=20, bytes_per_reply=200_000, stray_lines=20)
SHORT = Limits(seconds_per_reply=0.3)


@pytest.fixture
def wire_log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "run.wire.jsonl"


def fake(behaviour: str, wire_log: Path, **options: Any) -> SubprocessLink:
    command = [sys.executable, "-I", "-S", str(FAKE), behaviour]
    return SubprocessLink(command, wire_log=wire_log, **({"limits": LIMITS} | options))


def records(wire_log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in wire_log.read_text().splitlines()]


def judged(fault: AdapterFault, kind: str, *words: str, wire_log: Path) -> None:
    """The fault has its kind and says why, and the wire log that it names ends with the reason."""
    assert fault.kind == kind
    for word in words:
        assert word in fault.message
    assert fault.remedy
    assert fault.wire_log == wire_log
    assert str(wire_log) in str(fault)
    assert records(wire_log)[-1]["text"] == fault.message


def test_a_good_adapter_answers_and_leaves_nothing_behind(wire_log: Path) -> None:
    """What is sent arrives, what comes back is the reply, and after success the wire log is gone."""
    value: dict[str, Any] = {"text": 'é \ud800 \u2028 "', "list": [1, -2.5, None, True, {"deep": [[[]]]}]}
    with fake("good", wire_log) as link:
        assert link.hello.implementation.name == "fake"
        for _ in range(3):
            reply = link.call("any", {"echo": value})
            assert reply.result == value
            assert reply.open == []
            assert reply.observed == [{"on": "return", "op": "any", "result": value}]
        assert wire_log.exists()
    link.close()
    assert not wire_log.exists()


def test_the_wire_log_has_every_line_with_its_direction(wire_log: Path) -> None:
    """A kept wire log repeats the exchange, in order, standard error included."""
    with fake("talk-to-stderr", wire_log, keep_wire_log=True) as link:
        assert link.call("misbehave").result == "done"
    lines = records(wire_log)
    talk = [(line["way"], json.loads(line["text"])["id"]) for line in lines if line["way"] != "stderr"]
    assert talk == [("sent", 1), ("received", 1), ("sent", 2), ("received", 2)]
    assert sum(line["way"] == "stderr" for line in lines) == 64
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)


def test_large_messages_pass_in_both_directions(wire_log: Path) -> None:
    """A message beyond what pipes hold is no reason for the two sides to wait for each other."""
    text = "x" * 5_000_000
    with fake("good", wire_log, limits=Limits(seconds_per_reply=60)) as link:
        assert link.call("any", {"echo": text}).result == text


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("garbage", "garbage", ["starting up...", "command 3 (misbehave)"]),
        ("not-a-number", "garbage", ["NaN"]),
        ("no-object", "malformed", ["Expected `object`"]),
        ("crash", "died", ["exit status 3", "command 3 (misbehave)", "    about to fail\n    out of cheese"]),
        ("die-in-mid-line", "died", ["SIGKILL", "in the middle of a line", '{"id": 3']),
        ("flood-bytes", "flood", ["200000 bytes"]),
        ("long-line", "flood", ["200000 bytes"]),
        ("late", "late", ["$.late", "1 rows", "'t1'"]),
        ("wrong-id", "malformed", ["$.id", "10"]),
        ("repeat-itself", "duplicate-reply", ["after the reply to command 2 (any)"]),
        ("no-outcome", "malformed", ["none of them"]),
        ("two-outcomes", "malformed", ["`result` and `error`"]),
        ("unknown-member", "malformed", ["observd"]),
        ("no-open", "malformed", ["`open`"]),
        ("unknown-row", "malformed", ["logged", "`$.observed[1].on`"]),
        ("malformed-row", "malformed", ["`$.observed[1].n`"]),
        ("free-member", "malformed", ["`turn`", "`$.observed[1]`"]),
        ("row-without-outcome", "malformed", ["neither `value` nor `error`", "`$.observed[1]`"]),
        ("row-with-both", "malformed", ["both `result` and `error`", "`$.observed[1]`"]),
        ("formless-error", "malformed", ["`type`", "`$.error`"]),
        ("formless-error-in-row", "malformed", ["`message`", "`$.observed[1].error`"]),
        ("gate-from-nowhere", "malformed", ["$.open", "'g9'"]),
        ("fault", "fault", ["unknown operation", "command 3 (misbehave)"]),
        ("unsettled", "unsettled", ["command 3 (misbehave)"]),
    ],
)
def test_a_bad_reply_is_named(behaviour: str, kind: str, words: list[str], wire_log: Path) -> None:
    """One bad reply ends the link with its kind and its place; what comes after the fault is that fault again."""
    link = fake(behaviour, wire_log)
    assert link.call("any").result is None
    with pytest.raises(AdapterFault) as caught:
        link.call("misbehave")
    judged(caught.value, kind, *words, wire_log=wire_log)
    with pytest.raises(AdapterFault) as again:
        link.call("any")
    assert again.value is caught.value
    link.close()
    assert wire_log.exists()


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("hang", "no-reply", ["0.3 s", "still running", "    thinking"]),
        ("half-a-line", "no-reply", ["without an end", '{"id": 3']),
        ("close-input", "no-reply", ["still running"]),
        ("close-output", "died", ["closed its standard output"]),
    ],
)
def test_silence_is_named(behaviour: str, kind: str, words: list[str], wire_log: Path) -> None:
    """An adapter that will never answer is given up after the limit, and ended."""
    link = fake(behaviour, wire_log)
    link.call("any")
    link._process._limits = SHORT  # a short limit from the start would be one for starting up too
    with pytest.raises(AdapterFault) as caught:
        link.call("misbehave")
    judged(caught.value, kind, *words, wire_log=wire_log)
    assert link._process._process.returncode is not None


@pytest.mark.parametrize("at_the_end", [False, True], ids=["before the next command", "at the end"])
@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("two-replies", "duplicate-reply", ["command 2"]),
        ("words-after-reply", "garbage", ["done!"]),
        ("flood-lines", "flood", ["more than 20 lines", "command 2 (misbehave)"]),
    ],
)
def test_output_that_nobody_asked_for_is_named(
    behaviour: str, kind: str, words: list[str], *, at_the_end: bool, wire_log: Path
) -> None:
    """A line too many is noticed by the next command, or by the end if there is none."""
    link = fake(behaviour, wire_log)
    link.call("misbehave")
    notice = link.close if at_the_end else partial(link.call, "any")
    with pytest.raises(AdapterFault) as caught:
        notice()
    judged(caught.value, kind, *words, wire_log=wire_log)


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("another-version", "malformed", ["version 2", "version 1"]),
        ("no-greeting", "malformed", ["`hello`", "`implementation`"]),
        ("dead-on-arrival", "died", ["exit status 1", "command 1 (hello)", "no such model"]),
    ],
)
def test_a_bad_start_is_named(behaviour: str, kind: str, words: list[str], wire_log: Path) -> None:
    """A link is greeted or not there at all."""
    with pytest.raises(AdapterFault) as caught:
        fake(behaviour, wire_log)
    judged(caught.value, kind, *words, wire_log=wire_log)


def test_a_program_that_is_not_there_is_named(wire_log: Path) -> None:
    """What cannot be started is the adapter's affair too, not a traceback."""
    with pytest.raises(AdapterFault) as caught:
        SubprocessLink(["./no-such-adapter", "--fast"], wire_log=wire_log)
    judged(caught.value, "died", "./no-such-adapter --fast", "cannot be started", wire_log=wire_log)


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("ignore-end-of-input", "no-exit", ["0.3 s"]),
        ("bad-exit-status", "died", ["exit status 5"]),
        ("talk-at-the-end", "garbage", ["bye"]),
    ],
)
def test_a_bad_end_is_named(behaviour: str, kind: str, words: list[str], wire_log: Path) -> None:
    """End of input ends an adapter, in silence and with exit status 0."""
    seconds = 0.3 if kind == "no-exit" else 20
    link = fake(behaviour, wire_log, limits=Limits(seconds_to_end=seconds))
    with pytest.raises(AdapterFault) as caught:
        link.close()
    judged(caught.value, kind, *words, wire_log=wire_log)
    link.close()


def test_the_whole_group_ends(wire_log: Path, tmp_path: Path) -> None:
    """A child that outlives the adapter and holds its output neither hides the death nor survives the link."""
    held = tmp_path / "held"
    os.mkfifo(held)
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(AdapterFault) as caught, fake("die-before-a-child", wire_log) as link:
        link.call("misbehave", {"hold": str(held)})
    judged(caught.value, "died", "exit status 4", wire_log=wire_log)
    with selectors.DefaultSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        while selector.select(20) and os.read(reader, 100):
            pass
        assert selector.select(0), "the child still holds the file"
    os.close(reader)


def test_an_exception_in_the_block_is_not_replaced(wire_log: Path) -> None:
    """What ends a `with` block is what the caller sees, even if the adapter would not have ended well."""
    with pytest.raises(ZeroDivisionError), fake("ignore-end-of-input", wire_log) as link:
        raise ZeroDivisionError
    assert link._process._process.returncode is not None
    assert not wire_log.exists()


def test_an_interrupted_greeting_leaves_nothing_behind(wire_log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who loses patience while the adapter starts has no process and no file left."""
    left: list[SubprocessLink] = []

    def interrupted(link: SubprocessLink, *_: object) -> None:
        left.append(link)
        raise KeyboardInterrupt

    monkeypatch.setattr(SubprocessLink, "call", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fake("hang", wire_log)
    assert left[0]._process._process.returncode is not None
    assert not wire_log.exists()


def test_arguments_that_are_no_json_are_the_callers_error(wire_log: Path) -> None:
    """Nothing is sent, nobody is blamed, and the link goes on."""
    with fake("good", wire_log) as link:
        for value in (float("nan"), [object()], {"set": {1, 2}}):
            with pytest.raises(ValueError, match="'any' cannot be sent as JSON"):
                link.call("any", {"echo": value})  # type: ignore[dict-item]
        assert link.call("any", {"echo": (1, 2)}).result == [1, 2]
    with pytest.raises(RuntimeError, match="link is closed"):
        link.call("any")


def test_a_fault_survives_pickling() -> None:
    """Faults cross process boundaries, with everything they say."""
    fault = AdapterFault("died", "it died", "restart it", Path("x.jsonl"))
    copy = pickle.loads(pickle.dumps(fault))
    assert str(copy) == str(fault)
    assert (copy.kind, copy.message, copy.remedy, copy.wire_log) == ("died", "it died", "restart it", Path("x.jsonl"))


@pytest.mark.parametrize("name", ["seconds_per_reply", "seconds_to_end", "bytes_per_reply", "stray_lines"])
def test_a_limit_that_allows_nothing_is_refused(name: str) -> None:
    """Limits are positive; the message names the one that is not."""
    with pytest.raises(ValueError, match=f"limit {name} is 0"):
        Limits(**{name: 0})
