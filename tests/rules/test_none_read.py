"""AG305, AG301: `.grad` was None and ended the program. Which of the reasons it was, and where."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, summary

X, Y = torch.randn(8, 4), torch.arange(8) % 2


def parts():
    net, spare = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)), nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    return net, spare, optimizer


def cleared_by_the_optimizer():
    net, _, optimizer = parts()
    F.cross_entropy(net(X), Y).backward()
    optimizer.step()
    optimizer.zero_grad()
    return sum(p.grad.norm() for p in net.parameters())


def cleared_by_the_module():
    net, _, optimizer = parts()
    F.cross_entropy(net(X), Y).backward()
    optimizer.step()
    net.zero_grad()
    return torch.stack([net[0].weight.grad, net[0].weight.grad])


def read_too_early():
    net, _, optimizer = parts()
    loss = F.cross_entropy(net(X), Y)
    gradient = net[0].weight.grad
    scaled = gradient * 2
    loss.backward()
    optimizer.step()
    return scaled


def frozen():
    net, _, _ = parts()
    net[0].weight.requires_grad_(False)
    F.cross_entropy(net(X), Y).backward()
    return 0.5 * net[0].weight.grad


def never_used():
    net, spare, _ = parts()
    F.cross_entropy(net(X), Y).backward()
    return spare.weight.grad.abs().max()


def used_for_something_else():
    net, spare, _ = parts()
    other = spare(X).sum()
    F.cross_entropy(net(X), Y).backward()
    return other, spare.bias.grad.abs().max()


def required_too_late():
    net, _, _ = parts()
    x = X.clone()
    loss = F.cross_entropy(net(x), Y)
    x.requires_grad_()
    loss.backward()
    return x.grad.abs().max()


@pytest.mark.parametrize(
    ("program", "code", "culprit", "names"),
    [
        (cleared_by_the_optimizer, "AG305", "optimizer.zero_grad()", ("0.weight", "cleared")),
        (cleared_by_the_module, "AG305", "net.zero_grad()", ("0.weight", "cleared")),
        (read_too_early, "AG305", "gradient = net[0].weight.grad", ("0.weight", "no backward()")),
        (frozen, "AG301", "requires_grad_(False)", ("0.weight", "does not require grad")),
        (required_too_late, "AG301", "x.requires_grad_()", ("x", "before it required grad")),
        (never_used, "AG301", ".backward()", ("spare.weight", "the loss does not use it")),
        (used_for_something_else, "AG301", "other = spare(X).sum()", ("spare.bias", "reaches the loss")),
    ],
)
def test_why_it_is_none(program, code, culprit, names):
    """The first line is the one to blame; the line that read is among the others."""
    found = diagnosed(program, code, culprit, *names, severity="error")
    assert any(place.role == ".grad read here" for place in found.locations)


def test_an_error_of_its_own():
    """A program may look which parameters have a gradient; what it fails of afterwards is another matter."""

    def program():
        net, spare, _ = parts()
        F.cross_entropy(net(X), Y).backward()
        missing = [p for p in spare.parameters() if p.grad is None]
        config = None
        return missing, config.size

    report = inspected(program)
    assert "NoneType" in report.capture.error
    assert not alarms(report), summary(report)


def test_a_none_that_was_read_aside():
    """`print(hidden.grad)` warns; a None elsewhere that ends the program is another matter, whatever its name."""

    def program():
        net, _, _ = parts()
        hidden = net(X).tanh()
        hidden.sum().backward()
        gradient = hidden.grad
        print(gradient)
        config = None
        return config.gradient  # gradient of hidden.grad

    def used():
        net, _, _ = parts()
        hidden = net(X).tanh()
        hidden.sum().backward()
        gradient = hidden.grad
        return gradient.norm()

    def in_a_function():
        net, _, _ = parts()
        hidden = net(X).tanh()
        hidden.sum().backward()
        return norm_of(hidden.grad)

    def norm_of(gradient):
        return gradient.norm()

    for run, severity in ((program, "warning"), (used, "error"), (in_a_function, "error")):
        report = inspected(run)
        assert "NoneType" in report.capture.error
        assert [(f.rule, f.severity) for f in alarms(report)] == [("AG302", severity)], summary(report)
