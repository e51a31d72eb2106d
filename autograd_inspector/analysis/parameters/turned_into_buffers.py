"""Buffers that took the place of parameters: what a model is left with where its parameters were merged under ``no_grad``."""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.model.capture import Capture


def made_of(capture: Capture, flow: DataFlow, gone: Collection[int]) -> tuple[int, ...]:
    """The buffers that were computed of those parameters and of nothing else.

    Running statistics are computed of parameters too, but also of what the model was given.
    """
    lost = frozenset(gone)
    buffers = (t for t, record in enumerate(capture.tensors) if record.kind == "buffer" and record.names)
    return tuple(buffer for buffer in buffers if _sources(capture, flow, buffer, lost) == {True})


def _sources(capture: Capture, flow: DataFlow, buffer: int, lost: frozenset[int]) -> set[bool]:
    """Of everything that a buffer was computed from whether it is one of them. What made these is not asked for."""
    ways = flow.upstream([(buffer, len(capture.ops))], ends=lost.__contains__)
    return {t in lost for op, _ in ways for t in op.inputs if t in lost or capture.tensors[t].birth < 0}
