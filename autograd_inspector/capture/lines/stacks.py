"""Call stacks as small integers: cheap to take at every op, resolved to source lines only at the end."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Protocol

import torch

from autograd_inspector.capture.lines.forwarding import forwarding, is_handler
from autograd_inspector.capture.lines.frame_facts import GlobalNames
from autograd_inspector.capture.lines.thrown import Thrown
from autograd_inspector.own_files import is_own_file

SKIP, LIBRARY, USER = 0, 1, 2
_GRAPH_CODE = 3
"""In stacks only: code that runs a graph, whose calls stand for other lines."""
MAX_WALK = 96
MAX_USER = 6
MAX_LIBRARY = 3

_TORCH = str(Path(torch.__file__).parent) + "/"
_STDLIB = str(Path(sysconfig.get_paths()["stdlib"])) + "/"
_GENERATED = ("/site-packages/torch/", "/torchinductor_", "<eval_with_key>")
_INSTALLED = ("/site-packages/", "/dist-packages/")
_GRAPH_FILES = ("<eval_with_key>", f"{_TORCH}fx/interpreter.py")
_MOST_INSIDE = 64


@lru_cache(maxsize=4096)
def classify(filename: str) -> int:
    """Whether a file is torch, ours or the standard library (skipped), an installed package, or the user's own."""
    path = filename.replace("\\", "/")
    if is_own_file(filename) or path.startswith(_TORCH) or any(part in path for part in _GENERATED):
        return SKIP
    if any(part in path for part in _INSTALLED):
        return LIBRARY
    if path.startswith((_STDLIB, "<frozen")) or path in {"<string>", "<__array_function__ internals>"}:
        return SKIP
    return USER


class GraphCode(Protocol):
    """Knows code that runs a graph."""

    def meets(self, frame: FrameType) -> bool:
        """Whether a frame is of such code."""

    def key(self, frame: FrameType) -> tuple[int, int]:
        """What tells one call of it from all others."""

    def frames(self, frame: FrameType) -> tuple[tuple[CodeType, int, bool], ...]:
        """The lines that a call of it stands for, innermost first."""

    def switched(self, frame: FrameType | None, *, enabled: bool) -> Thrown | None:
        """The switch that the program wrote where such code runs a part of itself in another grad mode."""


class Stacks:
    """Interns call stacks. ``stop`` is the frame that opened the capture: nothing outside it is kept."""

    def __init__(self, stop: FrameType | None) -> None:
        self.stop = stop
        self.keys: dict[tuple[int, ...], int] = {}
        self.chains: list[list[tuple[CodeType, int, bool]]] = []
        self.through: dict[int, str] = {}
        """Site -> the function of torch's by which its innermost frame got there: ``Module.state_dict``."""
        self.names = GlobalNames()
        self.watch: Callable[[FrameType], None] = lambda frame: None
        """Told each frame of the user's that a new stack goes through."""
        self.graph_code: GraphCode | None = None
        self.handed: object = None
        """The function whose call is handled in C, where no frame tells of it."""
        self._kinds: dict[str, int] = {}
        self._calls: dict[int, dict[int, tuple[int, ...]]] = {}
        self._caller: CodeType | None = None
        self._kept: list[CodeType] = []

    def here(self, depth: int = 0) -> int:
        """The id of the current stack (our own frames are never part of one)."""
        return self.at(sys._getframe(depth + 1))

    def module_called(self, frame: FrameType) -> None:
        """That frame begins a module call: until it returns, the frames outside it stand still.

        So they are read once a call, not at each op of it; dozens of frames lie between the layers of a model and
        the program. Each frame of that code object comes here first, so an address that is reused is forgotten.
        """
        self._caller = frame.f_code
        self._calls[id(frame)] = {}

    def at(self, start: FrameType | None) -> int:  # noqa: C901, PLR0912 - one loop, taken at each op
        """The id of the stack that ends in that frame."""
        frame = start
        stop = self.stop
        kinds = self._kinds
        key: list[int] = []
        users = 0
        caller = self._caller
        read: list[tuple[dict[int, tuple[int, ...]], int, int]] = []
        for _ in range(MAX_WALK):
            if frame is None:
                break
            code = frame.f_code
            kind = kinds.get(code.co_filename)
            if kind is None:
                kind = kinds[code.co_filename] = kind_of_file(code.co_filename)
            if kind:
                if kind == USER:
                    users += 1
                    key.append(id(code))
                    key.append(frame.f_lasti)
                    if users == MAX_USER:
                        break
                elif kind == _GRAPH_CODE:
                    if self.graph_code is not None and self.graph_code.meets(frame):
                        key += self.graph_code.key(frame)
                elif users == 0 and len(key) < 2 * MAX_LIBRARY:
                    key.append(id(code))
                    key.append(frame.f_lasti)
            elif code is caller:
                outside = self._calls.get(id(frame))
                if outside is not None:
                    so_far = users or -1 - len(key)  # Which frames outside count depends on those inside.
                    outer_key = outside.get(so_far)
                    if outer_key is not None:
                        key += outer_key
                        break
                    read.append((outside, so_far, len(key)))
            if frame is stop:
                break
            frame = frame.f_back
        stack_key = tuple(key)
        for outside, so_far, length in read:
            outside[so_far] = stack_key[length:]
        site = self.keys.get(stack_key)
        return self._intern(stack_key, start) if site is None else site

    def _intern(self, key: tuple[int, ...], start: FrameType | None) -> int:  # noqa: C901 - one loop, at each new stack
        """Keep the code objects of a new stack, so that their ids stay theirs.

        A mode of the program's that hands the call on is no part of the chain: the line that called torch is.
        """
        chain: list[tuple[CodeType, int, bool]] = []
        handlers: dict[int, int] = {}
        frame, through, at = start, "", 0
        kinds, graphs, length = self._kinds, self.graph_code, len(key)
        while frame is not None and at < length:
            code = frame.f_code
            kind = kinds[code.co_filename]
            if kind in {USER, LIBRARY}:
                if id(code) == key[at] and frame.f_lasti == key[at + 1]:
                    at += 2
                    if is_handler(frame):
                        handlers[id(frame)] = len(chain)
                    if kind == USER:
                        self.names.meet(frame)
                        self.watch(frame)
                    chain.append((code, frame.f_lasti, kind == LIBRARY))
            elif kind == _GRAPH_CODE and graphs is not None and graphs.meets(frame):
                if graphs.key(frame) == key[at : at + 2]:
                    at += 2
                    chain += graphs.frames(frame)
            elif not chain and code.co_filename.startswith(_TORCH) and not is_handler(frame):
                through = code.co_qualname
            frame = frame.f_back
        if handlers:
            self._kept += [code for code, _, _ in chain]
            passed = {handlers.get(handler) for handler in forwarding(self.handed)}
            chain = [entry for at, entry in enumerate(chain) if at not in passed] or chain
        site = self._site_of(key, chain)
        if through:
            self.through[site] = through
        return site

    def of_frames(self, frames: Sequence[tuple[CodeType, int, bool]], outer: int) -> int:
        """The id of a stack of frames that did not run as such, called from the stack ``outer``."""
        users = sum(not library for _, _, library in frames)
        around = [entry for entry in (self.chains[outer] if outer >= 0 else ()) if not (users and entry[2])]
        chain = [*frames, *around][: MAX_USER + MAX_LIBRARY]
        return self._site_of(tuple(part for code, at, _ in chain for part in (id(code), at)), chain)

    @contextmanager
    def standing_in(self, site: int, inside: int | None = None, function: CodeType | None = None) -> Iterator[None]:
        """Whatever is called meanwhile is called from that site, wherever it runs.

        Except for calls by the code of a graph, where these may be ``inside``: their stacks are called from that one.
        What a ``function`` of the program's calls has its own lines, and the function is called from that site.
        """
        held = self.__dict__.get("at")
        if function is not None:
            self.__dict__["at"] = lambda start: self._beneath(start, function, site)
        else:
            self.__dict__["at"] = lambda start: site if inside is None else self._inside(start, inside, site)
        try:
            yield
        finally:
            if held is None:
                del self.__dict__["at"]
            else:
                self.__dict__["at"] = held

    def _inside(self, frame: FrameType | None, outer: int, site: int) -> int:
        """The site of a call that a graph's code makes, which runs beneath that site; that site itself for others."""
        for _ in range(_MOST_INSIDE):
            if frame is None or self.graph_code is None:
                return site
            if self.graph_code.meets(frame):
                frames = self.graph_code.frames(frame)
                return self.of_frames(frames, outer) if frames else site
            frame = frame.f_back
        return site

    def _beneath(self, frame: FrameType | None, function: CodeType, site: int) -> int:
        """The site of a call in that function, or in what it calls, which is called from ``site``."""
        frames: list[tuple[CodeType, int, bool]] = []
        for _ in range(MAX_WALK):
            if frame is None:
                return site
            kind = classify(frame.f_code.co_filename)
            if kind != SKIP:
                frames.append((frame.f_code, frame.f_lasti, kind == LIBRARY))
            if frame.f_code is function:
                return self.of_frames(frames, site)
            frame = frame.f_back
        return site

    def of_code(self, code: CodeType, lineno: int | None = None) -> int:
        """The id of a one-frame stack at a function's definition (its decorator's line), or at one of its lines."""
        return self._one(code, -1 if lineno is None else -1 - lineno, library=classify(code.co_filename) != USER)

    def of_traceback(self, traceback: TracebackType | None, inside: FrameType) -> int:
        """The id of the user's innermost frame of an exception that passed through ``inside``; -1 when it did not."""
        passed, site = False, -1
        while traceback is not None:
            code = traceback.tb_frame.f_code
            passed = passed or traceback.tb_frame is inside
            if passed and traceback.tb_frame is not inside and classify(code.co_filename) == USER:
                site = self._one(code, traceback.tb_lasti, library=False)
            traceback = traceback.tb_next
        return site

    def of_exception(self, traceback: TracebackType | None) -> int:
        """The id of the user's frames that an exception passed through, innermost first; -1 when there are none."""
        chain: list[tuple[CodeType, int, bool]] = []
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if classify(code.co_filename) == USER:
                chain.insert(0, (code, traceback.tb_lasti, False))
            traceback = traceback.tb_next
        key = tuple(part for code, lasti, _ in chain[:MAX_USER] for part in (id(code), lasti))
        return self._site_of(key, chain[:MAX_USER]) if key else -1

    def of_line(self, site: int, lineno: int) -> int:
        """The user's frame of a site, moved to another line of the same function."""
        user = next((entry for entry in self.chains[site] if not entry[2]), None)
        if user is None:
            return site
        return self._site_of((id(user[0]), -1 - lineno), [(user[0], -1 - lineno, False), *self.chains[site]])

    def _one(self, code: CodeType, lasti: int, *, library: bool) -> int:
        return self._site_of((id(code), lasti), [(code, lasti, library)])

    def _site_of(self, key: tuple[int, ...], chain: list[tuple[CodeType, int, bool]]) -> int:
        """The id of a stack, which is that chain if it is a new one."""
        site = self.keys.get(key)
        if site is None:
            self.chains.append(chain)
            # Another thread may have added one since: the place is where this one is, the last as a rule.
            site = next(at for at in range(len(self.chains) - 1, -1, -1) if self.chains[at] is chain)
            self.keys[key] = site
        return site

    def line_of(self, site: int) -> tuple[str, int]:
        """(file, line) of the user's frame of a site, in the lines of the compiled text."""
        return next(self.lines_of(site), ("", 0)) if site >= 0 else ("", 0)

    def lines_of(self, site: int) -> Iterator[tuple[str, int]]:
        """The same of all the user's frames of a site, from the innermost outwards."""
        for code, lasti, library in self.chains[site]:
            if not library:
                lines = [line for start, end, line in code.co_lines() if start <= lasti < end]
                yield code.co_filename, (lines[0] or 0) if lines else -1 - lasti

    def close(self) -> None:
        """Let go of the frame, and of everybody's code."""
        self.stop = None
        self._caller = None  # It holds a probe of the capture's, and the garbage collector does not look into code.
        self.keys.clear()
        self.chains.clear()
        self.through.clear()
        self.names.clear()
        self.watch = lambda frame: None
        self._kept.clear()
        self._calls.clear()
        self.graph_code = None


def kind_of_file(filename: str) -> int:
    """How the frames of a file count."""
    return _GRAPH_CODE if filename.startswith(_GRAPH_FILES) else classify(filename)
