"""Buffers that took the place of parameters: what a model is left with where its parameters were merged under ``no_grad``."""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.analysis.analysis import Analysis


def made_of(analysis: Analysis, gone: Collection[int]) -> tuple[int, ...]:
    """The buffers that were computed of those parameters and of nothing else.

    Running statistics are computed of parameters too, but also of what the model was given.
    """
    lost = frozenset(gone)
    tensors = analysis.capture.tensors
    buffers = (t for t, record in enumerate(tensors) if record.kind == "buffer" and record.names)
    return tuple(buffer for buffer in buffers if _sources(analysis, buffer, lost) == {True})


def _sources(analysis: Analysis, buffer: int, lost: frozenset[int]) -> set[bool]:
    """Of everything that a buffer was computed from whether it is one of them. What made these is not asked for."""
    tensors = analysis.capture.tensors
    ways = analysis.flow.upstream([(buffer, len(analysis.capture.ops))], ends=lost.__contains__)
    return {t in lost for op, _ in ways for t in op.inputs if t in lost or tensors[t].birth < 0}
