"""Programs that kill their process do not end a search, unless only the inspector makes them do so."""

import os
import signal
import threading

import pytest

from .faithful import apart
from .faithful.oracle import TRIED, Difference


def kill(seed):
    """Dies at the third program, as torch does of a broken pointer."""
    TRIED["programs"] += 1
    if seed == 3:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(autouse=True)
def counted():
    """Other tests count, too."""
    before = TRIED.copy()
    TRIED.clear()
    yield
    TRIED.clear()
    TRIED.update(before)


def test_a_program_that_dies_by_itself_is_passed_over(monkeypatch):
    """The others are tried."""
    monkeypatch.setattr(apart, "tried", kill)
    monkeypatch.setattr(apart, "_dies_plainly", lambda seed: seed == 3)
    apart.tried_apart(range(6))
    assert TRIED == {"programs": 5, "that kill the process by themselves": 1}


def test_a_program_that_only_the_inspector_kills_is_a_difference(monkeypatch):
    """It is told with its seed."""
    monkeypatch.setattr(apart, "tried", kill)
    monkeypatch.setattr(apart, "_dies_plainly", lambda _: False)
    with pytest.raises(Difference, match=r"seed 3, after 3 programs in its process: it dies .* inspector \(signal 9\)"):
        apart.tried_apart(range(6))


def test_a_difference_in_the_other_process_is_raised_here(monkeypatch):
    """With its own text; a failure of the search itself, too."""

    def differs(seed):
        raise Difference(f"seed {seed}: warnings differ") if seed == 1 else ZeroDivisionError(seed)

    monkeypatch.setattr(apart, "tried", differs)
    with pytest.raises(Difference, match="seed 1: warnings differ"):
        apart.tried_apart([1])
    with pytest.raises(Difference, match="ZeroDivisionError"):
        apart.tried_apart([2])


def test_plain_programs_live_and_die(monkeypatch):
    """Whether a program kills its process is seen in a fork."""
    assert not apart._dies_plainly(1)
    monkeypatch.setattr(apart, "run", lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
    assert apart._dies_plainly(1)


def hang(seed):
    """Waits at the third program for what never comes."""
    TRIED["programs"] += 1
    if seed == 3:
        threading.Event().wait()


@pytest.mark.parametrize("plainly", [True, False])
def test_a_program_that_hangs_is_killed(monkeypatch, plainly):
    """And then told as one that dies."""
    monkeypatch.setattr(apart, "LIMIT", 0.5)
    monkeypatch.setattr(apart, "tried", hang)
    if plainly:
        monkeypatch.setattr(apart, "run", lambda *_, **__: threading.Event().wait())
        apart.tried_apart([3])
        assert TRIED == {"that kill the process by themselves": 1}
    else:
        monkeypatch.setattr(apart, "_dies_plainly", lambda _: False)
        with pytest.raises(Difference, match=r"seed 3, .*: it dies or hangs"):
            apart.tried_apart([3])
