"""A thread that notices when a rank stands still: what it waits for and where, read while it waits.

It reads frames and lists, and calls nothing of torch.distributed: what the program does is not touched.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType

import torch.distributed as dist
from msgspec.structs import replace

from autograd_inspector.capture.lines.sources import locate
from autograd_inspector.capture.lines.stacks import USER, Stacks, classify
from autograd_inspector.capture.observers.optimizers.spread import rank_here
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.location import Site
from autograd_inspector.model.program_events import Communicated, Event, StoodStill, WrapperCalled
from autograd_inspector.own_files import is_own_file

Told = Callable[[Capture | None], None]
"""Given what is known of a rank that stands still; None once it has moved on."""
_LOOKS = 10
"""Looks within the time after which a rank is said to stand still."""
_SLOWEST = 1.0
"""Seconds between two looks, at most."""
_WAITING = frozenset({"wait", "backward", "synchronize", "recv_object_list", "monitored_barrier"})

_PACKAGE = "/torch/distributed/"
_DISPATCHING = ("/torch/_ops.py", "/torch/_library/", "/torch/autograd/function.py")
"""Between a function of torch's and what it calls in C++."""


class Waiting:
    """Looks at the thread that started it until ``end()``; ``after`` that many seconds at one place it tells."""

    def __init__(self, recording: Recording, after: float, told: Told) -> None:
        self._recording = recording
        self._after = after
        self._told = told
        self._observed = threading.get_ident()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="autograd_inspector waiting", daemon=True)

    def begin(self) -> None:
        """Start looking."""
        self._thread.start()

    def end(self) -> None:
        """Stop; what was told is taken back."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        place: tuple[object, ...] = ()
        since, told = time.monotonic(), False
        while not self._over.wait(min(self._after / _LOOKS, _SLOWEST)):
            now = self._place()
            if now != place:
                place, since = now, time.monotonic()
                told = told and self._taken_back()
            elif not told and time.monotonic() - since >= self._after and self._several():
                told = self._tell(time.monotonic() - since)
        if told:
            self._taken_back()

    def _taken_back(self) -> bool:
        self._told(None)
        return False

    def _tell(self, seconds: float) -> bool:
        try:
            capture = self._standing(seconds)
            if capture is not None:
                self._told(capture)
        except Exception as failure:
            self._recording.note(f"the call that this rank waits for is not known: {type(failure).__name__}: {failure}")
        return True

    def _several(self) -> bool:
        return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1

    def _frame(self) -> FrameType | None:
        return sys._current_frames().get(self._observed)

    def _place(self) -> tuple[object, ...]:
        """Where the thread is, and how much it has done: the same twice where it stands still."""
        recording, frame, codes = self._recording, self._frame(), list[object]()
        while frame is not None and len(codes) < 2 * _LOOKS:
            codes += [id(frame), frame.f_lasti]
            frame = frame.f_back
        return (len(recording.ops), len(recording.events), *codes)

    def _standing(self, seconds: float) -> Capture | None:
        """What is known of the rank; None where no line of the program is running."""
        frame, recording = self._frame(), self._recording
        stacks = Stacks(recording.stacks.stop)
        site = stacks.at(frame)
        if site < 0 or not stacks.chains[site]:
            return None
        name = _function(frame)
        rank, world = rank_here()
        sites = [_site(stacks.chains[site])]
        events: list[Event] = []
        known: dict[int, int] = {}
        for event in list(recording.events):
            if isinstance(event, (Communicated, WrapperCalled)) and 0 <= event.site < len(recording.stacks.chains):
                if event.site not in known:
                    known[event.site] = len(sites)
                    sites.append(_site(recording.stacks.chains[event.site]))
                moved = replace(event, at=0, site=known[event.site])
                events.append(replace(moved, tensors=()) if isinstance(moved, Communicated) else moved)
        waits = hasattr(dist, name) or name in _WAITING or _within_distributed(frame)
        if hasattr(dist, name) and name not in _WAITING:
            calls = [event for event in events if isinstance(event, Communicated)]
            here = sum(call.name == name and sites[call.site] == sites[0] for call in calls)
            nth = max((call.nth for call in calls), default=0) + 1
            events.append(Communicated(0, 0, name, "", world, nth, here + 1, failed=True))
        events.append(StoodStill(0, 0, name, waits, round(seconds)))
        return Capture(sites=tuple(sites), events=tuple(events), rank=rank, world_size=world)


def _site(chain: list[tuple[CodeType, int, bool]]) -> Site:
    return Site(tuple([locate(code, lasti, library=library) for code, lasti, library in chain]))


def _function(frame: FrameType | None) -> str:
    """The function that the innermost line of the program has called; "" where that is no Python function."""
    name = ""
    while frame is not None and classify(frame.f_code.co_filename) != USER:
        if classify(frame.f_code.co_filename) == 0 and not frame.f_code.co_name.startswith(("_", "<", "wrapper")):
            name = frame.f_code.co_name
        frame = frame.f_back
    return name


def _within_distributed(frame: FrameType | None) -> bool:
    """Whether torch.distributed itself called what runs now: for ``full_tensor()``, for a state, for a step."""
    while frame is not None and _passes_on(frame.f_code.co_filename.replace("\\", "/")):
        frame = frame.f_back
    return frame is not None and _PACKAGE in frame.f_code.co_filename.replace("\\", "/")


def _passes_on(path: str) -> bool:
    return is_own_file(path) or any(part in path for part in _DISPATCHING)
