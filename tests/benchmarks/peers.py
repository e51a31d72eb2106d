"""Other tools that look at the same work."""

from __future__ import annotations

import contextlib
import importlib
import io
import warnings
from collections.abc import Callable
from typing import NamedTuple

import torch

import autograd_inspector

from .workloads import Subject


class Peer(NamedTuple):
    """A tool: ``run`` does the work under it. ``backward``: the work includes backward.

    ``lingers``: after its first use torch is no longer as it was, so it is measured last.
    """

    name: str
    module: str
    backward: bool
    run: Callable[[Subject], object]
    lingers: bool = False

    def missing(self) -> str:
        """Why it cannot be used, "" when it can."""
        try:
            importlib.import_module(self.module)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""


def inspected_forward(subject: Subject) -> object:
    with autograd_inspector.inspect() as inspection:
        loss = subject.forward()
    del loss
    return inspection.report.graph


def inspected(subject: Subject) -> object:
    with autograd_inspector.inspect() as inspection:
        subject.forward_backward()
    return inspection.report.graph


def torchviz(subject: Subject) -> object:
    from torchviz import make_dot

    return make_dot(subject.forward())


def torchview(subject: Subject) -> object:
    from torchview import draw_graph

    return draw_graph(subject.module, input_data=(subject.example,), device="cpu", mode="train")


def torchvista(subject: Subject) -> object:
    from torchvista import trace_model

    with contextlib.redirect_stdout(io.StringIO()):  # It displays its page, which in a terminal prints a line.
        return trace_model(subject.module, (subject.example,))


def torchlens(subject: Subject) -> object:
    from torchlens import trace

    return trace(subject.module, subject.example)


def detect_anomaly(subject: Subject) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # It warns that it is slow: that is what is measured here.
        with torch.autograd.detect_anomaly():
            subject.forward_backward()


def debug_mode(subject: Subject) -> object:
    from torch.utils._debug_mode import DebugMode

    with DebugMode() as mode:
        subject.forward_backward()
    return mode


def profiler(subject: Subject, *, with_stack: bool = False) -> object:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], with_stack=with_stack) as recorded:
        subject.forward_backward()
    return recorded


def profiler_with_stacks(subject: Subject) -> object:
    return profiler(subject, with_stack=True)


PEERS = (
    Peer("autograd_inspector, forward, report and graph", "autograd_inspector", False, inspected_forward),
    Peer("torchviz.make_dot", "torchviz", False, torchviz),
    Peer("torchview.draw_graph", "torchview", False, torchview),
    Peer("torchvista.trace_model", "torchvista", False, torchvista),
    Peer("autograd_inspector, report and graph", "autograd_inspector", True, inspected),
    Peer("torch.autograd.detect_anomaly", "torch", True, detect_anomaly),
    Peer("torch DebugMode", "torch.utils._debug_mode", True, debug_mode),
    Peer("torch.profiler", "torch.profiler", True, profiler),
    Peer("torch.profiler with stacks", "torch.profiler", True, profiler_with_stacks),
    # It replaces torch's functions on first use and leaves them so.
    Peer("torchlens.trace", "torchlens", False, torchlens, lingers=True),
)
