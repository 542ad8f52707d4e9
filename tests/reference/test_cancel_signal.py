import logging

import pytest

from dshcore.cancel_signal import Aborted, CancelSignal


def test_the_first_cause_wins() -> None:
    """CANCEL-FIRST-01: later causes change nothing, and callbacks hear of one abort."""
    signal, heard = CancelSignal(), []
    signal.on_abort(lambda: heard.append(signal.reason))
    cause = {"kind": "parent"}
    assert signal.abort(cause)
    assert not signal.abort({"kind": "user"})
    assert heard == [cause]
    assert signal.reason is cause  # CANCEL-CAUSE-01: unchanged


def test_a_live_signal_has_no_reason() -> None:
    signal = CancelSignal()
    assert not signal.aborted
    assert signal.reason is None
    signal.raise_if_aborted()


def test_giving_up_carries_the_cause() -> None:
    signal = CancelSignal()
    signal.abort({"kind": "user"})
    with pytest.raises(Aborted) as aborted:
        signal.raise_if_aborted()
    assert aborted.value.reason == {"kind": "user"}
    assert aborted.value.code == "ABORTED"


def test_callbacks_run_inside_the_abort_in_order() -> None:
    """CANCEL-SYNC-01: the abort has reached everybody when the call returns; they see it as done."""
    signal, heard = CancelSignal(), []
    for name in "abc":
        signal.on_abort(lambda name=name: heard.append((name, signal.aborted)))  # type: ignore[misc]  # a default binds the name
    signal.abort(None)
    assert heard == [("a", True), ("b", True), ("c", True)]


def test_a_callback_taken_back_is_not_called() -> None:
    """Also when an earlier callback takes it back; taking back twice does nothing."""
    signal, heard = CancelSignal(), []
    early = signal.on_abort(lambda: heard.append("early"))
    signal.on_abort(lambda: late())  # noqa: PLW0108 - bound below
    late = signal.on_abort(lambda: heard.append("late"))
    early()
    early()
    signal.abort(None)
    late()
    assert heard == []


def test_a_callback_on_an_aborted_signal_is_called_at_once() -> None:
    """Also when it is added by another callback: nobody waits for what has happened."""
    signal, heard = CancelSignal(), []

    def outer() -> None:
        signal.on_abort(lambda: heard.append("inner"))
        heard.append("outer")

    signal.on_abort(outer)
    signal.abort(None)
    signal.on_abort(lambda: heard.append("after"))()
    assert heard == ["inner", "outer", "after"]


def test_a_failing_callback_is_logged_and_starves_no_other(caplog: pytest.LogCaptureFixture) -> None:
    signal, heard = CancelSignal(), []

    def fail() -> None:
        raise ValueError("no")

    signal.on_abort(fail)
    signal.on_abort(lambda: heard.append(1))
    with caplog.at_level(logging.WARNING):
        signal.abort(None)
    assert heard == [1]
    assert caplog.messages == ["abort callback threw: ValueError: no"]
