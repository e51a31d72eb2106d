"""A rank that stands still says so: on stderr, and in a report that its own one replaces when it comes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from autograd_inspector.api.report import report_of
from autograd_inspector.capture.session import open_session
from autograd_inspector.capture.waiting import Waiting
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import StoodStill
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.whole import write_whole


@contextmanager
def standing_still(after: float, path: str) -> Iterator[None]:
    """Watch the capture that is in place; nothing is done where ``after`` is 0. ``path``: "" for no file."""
    session = open_session()
    if not after or session is None:
        yield
        return
    waiting = Waiting(session.recording, after, lambda capture: _told(capture, path))
    waiting.begin()
    try:
        yield
    finally:
        waiting.end()


def _told(capture: Capture | None, path: str) -> None:
    if capture is None:
        if path:
            Path(path).unlink(missing_ok=True)
        return
    line = _line(capture)
    if line:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    if path:
        with suppress(OSError):
            write_whole(Path(path), report_of(capture).to_json())


def _line(capture: Capture) -> str:
    """``autograd-inspect: rank 1 has waited 60 s in all_reduce at train.py:31``; "" where it waits for nobody."""
    event = capture.events_of(StoodStill)[-1]
    place = capture.place(event.site)
    if not event.waits or place is None:
        return ""
    where = shown(f"{place.cell or Path(place.filename).name}:{place.lineno}")
    return f"autograd-inspect: rank {capture.rank} has waited {event.seconds} s in {shown(event.api)} at {where}"
