"""Exceptions of torch that end a program: each has a finding, which begins with the line that made it inevitable."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from .programs import alarms, diagnosed, inspected, silent

X, Y = torch.randn(6, 3), torch.randint(0, 2, (6,))


def test_a_history_for_numpy():
    """NumPy refuses what a list kept with its graph: the append is told, not the conversion."""

    def program(keep=lambda loss: loss):
        net, curve = nn.Linear(3, 2), []
        for row in X:
            curve.append(keep(net(row).logsumexp(0)))  # noqa: PERF401 - the line that is told
        return np.array([point.numpy() for point in curve])

    found = diagnosed(program, "AG105", "curve.append(", "curve", "no_grad", severity="error")
    assert any("point.numpy()" in place.source for place in found.locations)
    silent(lambda: program(torch.Tensor.detach))


def test_a_tensor_that_is_tried_out():
    """A program that falls back where NumPy refuses is healthy."""

    def program():
        out = nn.Linear(3, 2)(X)
        try:
            return out.numpy()
        except RuntimeError:
            return out.detach().numpy()

    silent(program)


def test_flags_of_a_computed_weight():
    """requires_grad cannot be taken from a result: the line that computed it is told, for both spellings."""

    def by_method():
        scaled = nn.Linear(3, 2).weight * 0.5
        scaled.requires_grad_(requires_grad=False)

    def by_attribute():
        scaled = nn.Linear(3, 2).weight * 0.5
        scaled.requires_grad = False

    for program in (by_method, by_attribute):
        found = diagnosed(program, "AG302", "weight * 0.5", "scaled", "mul", severity="error")
        assert "requires_grad" in found.message
        assert "__set__" not in found.message


@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_a_loss_that_is_not_reduced(reduction):
    """backward() needs one number: the op that left several is told."""

    def program():
        loss = F.cross_entropy(nn.Linear(3, 2)(X), Y, reduction=reduction)
        loss.backward()

    if reduction == "none":
        diagnosed(program, "AG305", "loss = F.cross_entropy", "[6]", "loss.mean()", severity="error")
    else:
        silent(program)


def test_a_gradient_of_another_shape():
    """The gradient that is passed has to be shaped like the tensor."""

    def program(ones=torch.ones):
        out = nn.Linear(3, 2)(X)
        out.backward(ones(6))

    diagnosed(program, "AG305", "out = nn.Linear", "[6, 2]", severity="error")
    silent(lambda: program(lambda n: torch.ones(n, 2)))


def test_integers_that_are_to_learn():
    """A table of integers has no gradient: where it was made."""

    def program(kind=torch.int64):
        table = torch.zeros(4, dtype=kind)
        return nn.Parameter(table)

    diagnosed(program, "AG104", "table = torch.zeros", "int64", severity="error")
    silent(lambda: program(torch.float32))


def test_an_op_without_a_derivative():
    """The forward works, backward does not: the op of the forward is told."""

    def program():
        rate = torch.rand(3, requires_grad=True)
        part = torch.igamma(rate, torch.ones(3))
        part.sum().backward()

    diagnosed(program, "AG104", "part = torch.igamma", "igamma", severity="error")


def test_anomaly_mode():
    """Torch's own anomaly mode names a node: the line that made it is told without values=True."""

    def program(eps=0.0):
        scale = nn.Parameter(torch.zeros(3))
        with torch.autograd.detect_anomaly(check_nan=True):
            norm = (scale + eps).sqrt()
            (norm * 0).sum().backward()

    diagnosed(program, "AG304", "norm = (scale + eps).sqrt()", "sqrt", severity="error")
    silent(lambda: program(1.0))


def test_a_forward_that_is_another_one_the_second_time():
    """A module that counts its calls recomputes something else: where the two forwards part."""

    class Counting(nn.Module):
        def __init__(self, counts):
            super().__init__()
            self.layer, self.counts, self.calls = nn.Linear(3, 3), counts, 0

        def forward(self, x):
            self.calls += self.counts
            h = self.layer(x)
            if self.calls <= 1:
                h = torch.cat([h, h])
            return h.tanh().exp()

    def program(counts):
        checkpoint(Counting(counts), X, use_reentrant=False).sum().backward()

    diagnosed(
        lambda: program(1), "AG202", "h = torch.cat([h, h])", "cat", "tanh", severity="error", where=Counting.forward
    )
    silent(lambda: program(0))


def test_half_precision_under_a_scaler():
    """A scaler wants float32 parameters: the conversion of the model is told."""

    def program(convert=nn.Module.half):
        net = nn.Linear(3, 2)
        convert(net)
        scaler, optimizer = torch.amp.GradScaler("cpu"), torch.optim.SGD(net.parameters(), lr=0.1)
        scaler.scale(net(X.to(net.weight.dtype)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    diagnosed(program, "AG305", "convert(net)", "float16", "half()", severity="error")
    silent(lambda: program(nn.Module.float))


def test_a_scaler_without_a_scaled_loss():
    """scaler.step() after a plain backward(): the backward is told."""

    def program():
        net, scaler = nn.Linear(3, 2), torch.amp.GradScaler("cpu")
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net(X).sum().backward()
        scaler.step(optimizer)

    diagnosed(program, "AG305", "net(X).sum().backward()", "scaler.scale(loss)", severity="error")


def test_an_optimizer_that_got_no_gradient_under_a_scaler():
    """The scaler finds nothing to unscale: the optimizer that holds other parameters is told."""

    def program():
        net, scaler = nn.Linear(3, 2), torch.amp.GradScaler("cpu")
        optimizer = torch.optim.SGD(nn.Linear(3, 2).parameters(), lr=0.1)
        scaler.scale(net(X).sum()).backward()
        scaler.step(optimizer)

    report = inspected(program)
    found = next(finding for finding in alarms(report) if finding.severity == "error")
    assert found.rule == "AG305"
    assert "nn.Linear(3, 2).parameters()" in found.locations[0].source


def test_a_transform_of_a_vector():
    """torch.func.grad wants one number: the last op of the function is told."""

    def program(reduce=False):
        def model(weight):
            out = X @ weight
            return out.sum() if reduce else out

        return torch.func.grad(model)(torch.ones(3))

    diagnosed(program, "AG110", "out = X @ weight", "[6]", severity="error")
    silent(lambda: program(reduce=True))


def test_an_inference_tensor_that_is_to_learn():
    """A prompt that was made in inference mode cannot require grad."""

    def program(mode=torch.inference_mode):
        with mode():
            prompt = torch.zeros(3)
        prompt.requires_grad_()

    diagnosed(program, "AG103", "prompt = torch.zeros(3)", "inference", "prompt", severity="error")
    silent(lambda: program(torch.no_grad))
