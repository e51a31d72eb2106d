"""AG108: an input that a custom forward modifies keeps its old history, unless autograd is told."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.autograd import Function

from .programs import diagnosed, inspected, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Halves(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(0.5)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return 0.5 * gradient


class HalvesView(Halves):
    @staticmethod
    def forward(ctx, x):
        x.view(-1)[:16] *= 0.5
        return x.clone()


class HalvesDirty(Halves):
    @staticmethod
    def forward(ctx, x):
        x.mul_(0.5)
        ctx.mark_dirty(x)
        return x


class Gated(Function):
    @staticmethod
    def forward(ctx, x, gate):
        ctx.save_for_backward(x, gate)
        x.mul_(gate)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        x, gate = ctx.saved_tensors
        return gradient * gate, (gradient * x).sum(0)


class GatedCopy(Gated):
    @staticmethod
    def forward(ctx, x, gate):
        ctx.save_for_backward(x, gate)
        return x.clone().mul_(gate)


class Shifted(Function):
    """Works in the input's memory, as a vocabulary-parallel cross entropy does, and saves what it made of it."""

    @staticmethod
    def forward(ctx, x):
        x.sub_(x.max())
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]


class Counted(Function):
    """Keeps a running mean in a buffer."""

    @staticmethod
    def forward(ctx, x, mean):
        mean.lerp_(x.mean(0), 0.1)
        ctx.save_for_backward(mean)
        return x - mean

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def stepped(loss_of):
    net, gate = nn.Linear(4, 4), nn.Parameter(torch.full((4,), 0.5))
    optimizer = torch.optim.SGD([*net.parameters(), gate], lr=0.1)
    for _ in range(2):
        trained(optimizer, loss_of(net(X), gate))


def read_again(function):
    """The modified input is added to the result."""

    def loss_of(hidden, gate):
        result = function.apply(hidden)
        return ((result + hidden) * gate).pow(2).mean()

    return lambda: stepped(loss_of)


@pytest.mark.parametrize("function", [Halves, HalvesView])
def test_a_modified_input_that_is_read_again(function):
    """Who reads it gets new values with the old history."""
    culprit = {Halves: "x.mul_(0.5)", HalvesView: "x.view(-1)[:16] *= 0.5"}[function]
    found = diagnosed(
        read_again(function), "AG108", culprit, function.__name__, severity="error", where=function.forward
    )
    assert "mark_dirty" in found.fix


def test_a_modified_input_that_the_function_saved():
    """Its backward gets the new values."""
    program = lambda: stepped(lambda hidden, gate: Gated.apply(hidden, gate).pow(2).mean())  # noqa: E731
    found = diagnosed(program, "AG108", "x.mul_(gate)", "Gated", severity="warning", where=Gated.forward)
    assert "clone()" in found.fix


def test_each_line_once():
    """Two steps run it twice."""
    findings = inspected(read_again(Halves)).findings
    assert [(finding.rule, finding.severity) for finding in findings] == [("AG108", "error")], findings


@pytest.mark.parametrize(
    "loss_of",
    [
        lambda hidden, gate: GatedCopy.apply(hidden, gate).pow(2).mean(),
        lambda hidden, gate: (Shifted.apply(hidden) * gate).mean(),
        lambda hidden, gate: (Counted.apply(hidden, torch.zeros(4)) * gate).pow(2).mean(),
        lambda hidden, gate: (Halves.apply(hidden) * gate).pow(2).mean(),
    ],
    ids=["a copy", "neither read nor saved", "a buffer", "nobody reads it"],
)
def test_right_functions(loss_of):
    """A copy, a buffer, and memory that nobody reads any more may be modified."""
    report = inspected(lambda: stepped(loss_of))
    assert not report.findings, summary(report)


def test_an_input_that_is_marked_as_dirty():
    """The result takes its place, with its history."""
    calm(read_again(HalvesDirty))
    assert not inspected(read_again(HalvesDirty)).findings


WORKS_IN_PLACE = """
import torch


class Runs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, function, x):
        return function(x).clone()

    @staticmethod
    def backward(ctx, gradient):
        return None, gradient
"""


def test_a_librarys_function_that_runs_the_programs_code(tmp_path, monkeypatch):
    """A Function that a library defines is not the program's to repair."""
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "a_runner.py").write_text(WORKS_IN_PLACE, "utf-8")
    monkeypatch.syspath_prepend(package)
    import a_runner

    def loss_of(hidden, gate):
        return ((a_runner.Runs.apply(lambda x: x.mul_(0.5), hidden) + hidden) * gate).pow(2).mean()

    report = inspected(lambda: stepped(loss_of))
    assert not report.findings, summary(report)
