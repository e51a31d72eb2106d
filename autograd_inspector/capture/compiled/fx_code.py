"""Code that torch.fx wrote of a graph, or runs node by node: each call stands for the lines it was captured from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

from autograd_inspector.capture.compiled.code_places import CodePlaces, Frame
from autograd_inspector.capture.compiled.thrown import thrown
from autograd_inspector.capture.lines.cells import lines_of
from autograd_inspector.capture.lines.frame_locals import locals_of
from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.capture.lines.thrown import Thrown
from autograd_inspector.capture.torch_private.compiled import (
    PART,
    RUN_NODE,
    WRITTEN_CODE,
    first_line_written,
    lines_written,
    runs_in_grad_mode,
)


class FxCode:
    """Translates frames of such code, each call of it once."""

    def __init__(self) -> None:
        self._frames: dict[tuple[int, int], tuple[Frame, ...]] = {}
        self._kept: list[CodeType] = []
        self._places: dict[str, CodePlaces] = {}
        self._traces: dict[str, int] = {}

    def meets(self, frame: FrameType) -> bool:
        """Whether a frame is of such code."""
        code = frame.f_code
        return code.co_name == RUN_NODE or code.co_filename.startswith(WRITTEN_CODE)

    def key(self, frame: FrameType) -> tuple[int, int]:
        """What tells one call of such code from all others."""
        if frame.f_code.co_name != RUN_NODE:
            return id(frame.f_code), frame.f_lasti
        return id(frame.f_code), -1 - self._traces.setdefault(_trace(_running(frame)), len(self._traces))

    def frames(self, frame: FrameType) -> tuple[Frame, ...]:
        """The lines that a call of it was captured from, innermost first; none where they are not known."""
        key = self.key(frame)
        known = self._frames.get(key)
        if known is None:
            node = _running(frame) if frame.f_code.co_name == RUN_NODE else _written_for(frame)
            known = self._frames[key] = self._read(_trace(node))
            self._kept.append(frame.f_code)  # So that its id stays its own.
        return known

    def switched(self, frame: FrameType | None, *, enabled: bool) -> Thrown | None:
        """The switch that the program wrote where torch runs a part of a graph in another grad mode."""
        while frame is not None and classify(frame.f_code.co_filename) == SKIP and not self.meets(frame):
            if runs_in_grad_mode(frame):
                part = dict(locals_of(frame)).get(PART)
                traces = map(_trace, getattr(getattr(part, "graph", None), "nodes", ()))
                trace = next(filter(None, traces), "")
                return thrown(self._read(trace), CodePlaces.torchs(trace), enabled=enabled)
            frame = frame.f_back
        return None

    def _read(self, trace: str) -> tuple[Frame, ...]:
        places = self._places.get(trace)
        if places is None:
            places = self._places[trace] = CodePlaces(_codes_in(trace))
        return places.frames(trace)


def _running(frame: FrameType) -> Any:
    """The node that torch.fx.Interpreter runs in a frame of its own."""
    return dict(locals_of(frame)).get("n")


def _written_for(frame: FrameType) -> Any:
    """The node that a line of written code stands for."""
    gm = dict(locals_of(frame)).get("self")
    lines = lines_written(gm) if gm is not None else None
    graph = getattr(gm, "graph", None)
    if not lines or graph is None:
        return None
    number = lines.get(frame.f_lineno - (first_line_written(gm) or 0))
    return next((node for at, node in enumerate(graph.nodes) if at == number), None)


def _trace(node: Any) -> str:
    meta = getattr(node, "meta", None)
    trace = meta.get("stack_trace") if isinstance(meta, dict) else None
    return trace if isinstance(trace, str) else ""


def _codes_in(trace: str) -> Iterator[CodeType]:
    """The code of the files that a trace names, compiled from their text and never run."""
    for filename in dict.fromkeys(CodePlaces.files_of(trace)):
        text = "".join(lines_of(filename))
        try:
            whole = compile(text, filename, "exec", dont_inherit=True) if text else None
        except (SyntaxError, ValueError):
            continue
        yield from _all_of([] if whole is None else [whole])


def _all_of(codes: Iterable[CodeType]) -> Iterator[CodeType]:
    for code in codes:
        yield from _all_of(each for each in code.co_consts if isinstance(each, CodeType))
        yield code
