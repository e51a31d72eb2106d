"""AG502: a custom Function that keeps what it returns as an attribute of its ctx."""

from __future__ import annotations

import gc

import pytest
import torch
from torch import nn
from torch.autograd import Function

from .programs import diagnosed, inspected, line_of, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Scaled(Function):
    """What the variants below do, but for what they keep."""

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class KeepsResult(Scaled):
    @staticmethod
    def forward(ctx, x):
        out = x * 2
        ctx.factor, ctx.out = 2, out
        return out


class KeepsAmongOthers(Scaled):
    @staticmethod
    def forward(ctx, x):
        first, out = x + 1, x * 2
        ctx.results = {"all": [first, out]}
        return out


class KeepsInSetup(Scaled):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.result = output


class KeepsOneOfTwo(Function):
    @staticmethod
    def forward(ctx, x):
        one, other = x * 2, x * 3
        ctx.other = other
        return one, other

    @staticmethod
    def backward(ctx, one, other):
        return one * 2 + other * 3


class Saves(Scaled):
    @staticmethod
    def forward(ctx, x):
        out = x * 2
        ctx.save_for_backward(x, out)
        return out


class KeepsValues(Scaled):
    @staticmethod
    def forward(ctx, x):
        out = x * 2
        ctx.out, ctx.half = out.detach(), x / 2
        return out


class KeepsInput(Scaled):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * 2


def applied(function, rounds=5):
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(rounds):
        out = function.apply(net(X))
        out = out[0] + out[1] if isinstance(out, tuple) else out
        trained(optimizer, out.pow(2).mean())


@pytest.fixture
def without_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize(
    ("function", "line"),
    [
        (KeepsResult.forward, "ctx.out = "),
        (KeepsAmongOthers.forward, "ctx.results = "),
        (KeepsInSetup.setup_context, "ctx.result = "),
        (KeepsOneOfTwo.forward, "ctx.other = "),
    ],
)
def test_results_that_pile_up(function, line):
    """The line that sets the attribute is to blame, where results of several steps were alive at once."""
    cls = {c.__name__: c for c in (KeepsResult, KeepsAmongOthers, KeepsInSetup, KeepsOneOfTwo)}[
        function.__qualname__.split(".")[0]
    ]
    found = diagnosed(
        lambda: applied(cls), "AG502", line.split(", ")[-1], cls.__name__, severity="warning", where=function
    )
    assert "save_for_backward" in found.fix


def test_results_that_may_pile_up():
    """Where one step shows no pile it is worth an info."""
    (finding,) = inspected(lambda: applied(KeepsResult, 1)).findings
    assert (finding.rule, finding.severity) == ("AG502", "info")
    assert finding.locations[0].lineno == line_of(KeepsResult.forward, "ctx.out")


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("function", [Saves, KeepsValues, KeepsInput])
def test_what_makes_no_circle(function):
    """Saved as torch wants it, without history, or not returned."""
    calm(lambda: applied(function))
    assert not inspected(lambda: applied(function)).findings


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("function", [Saves, KeepsValues])
def test_fixes(function):
    """What the finding advises leaves nothing to be found in a long run either."""
    assert not inspected(lambda: applied(function, 30)).findings
