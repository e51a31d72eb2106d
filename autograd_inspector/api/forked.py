"""Jobs in a forked copy of this process: what they change there, nobody sees here."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from autograd_inspector.capture.forking import settle

Job = Callable[[bytes], bytes]


def answer_of(job: Job, request: bytes, limit: float) -> bytes | None:
    """What a job answers in a copy of this process; None where that dies, or is not done within ``limit`` seconds.

    The copy prints nothing. Raises OSError where there is no room for another process.
    """
    ours, theirs = Pipe()
    pid = _forked()
    if pid == 0:
        _end(lambda: theirs.send_bytes(job(request)))
    theirs.close()
    try:
        return ours.recv_bytes() if ours.poll(limit) else None
    except (EOFError, OSError):
        return None
    finally:
        ours.close()
        _ended(pid)


class Spare:
    """A copy of this process as it is now: it waits, and answers each request in a further copy of itself."""

    def __init__(self, job: Job) -> None:
        """Raises OSError where there is no room for another process."""
        self._ours, theirs = Pipe()
        self._pid = _forked()
        if self._pid == 0:
            self._ours.close()
            _end(lambda: _serve(job, theirs))
        theirs.close()

    def ask(self, request: bytes, limit: float) -> bytes | None:
        """The job's answer; None where that is not there within ``limit`` seconds."""
        try:
            self._ours.send((request, limit))
            answer: bytes | None = self._ours.recv()
        except (EOFError, OSError):
            return None
        return answer

    def close(self) -> None:
        """End the copy."""
        self._ours.close()
        _ended(self._pid)


def _serve(job: Job, requests: Connection[object, tuple[bytes, float]]) -> None:
    with contextlib.suppress(EOFError):
        while True:
            requests.send(answer_of(job, *requests.recv()))


def _forked() -> int:
    """Fork. The warning of Python 3.12 is about locks that threads hold: the copy runs none of their code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _end(work: Callable[[], None]) -> None:
    """All that a copy does; it leaves without what is to run when the program ends."""
    try:
        sink = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(sink, stream)
        sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for the rest of its life
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        settle()
        work()
    finally:
        os._exit(0)


def _ended(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
