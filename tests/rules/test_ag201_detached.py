"""AG201: tensors that were saved and then detached in place, and gradients that are kept as weights."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


def test_saved_tensor_detached_in_place():
    """The line that detaches is told, and what had saved the tensor; a detached copy is fine."""
    net = nn.Linear(4, 3)

    def divergence(stopped):
        mean = net(torch.ones(2, 4)).exp()
        squared = mean.pow(2)
        target = stopped(mean)
        (squared - target).mean().backward()

    def program():
        divergence(lambda t: t.detach_())

    diagnosed(program, "AG201", "t.detach_()", "pow", "detach_", severity="error")
    calm(lambda: divergence(lambda t: t.detach()))


def test_result_detached_in_place():
    """An op that saved its own result still has it: backward runs."""
    net = nn.Linear(4, 3)

    def program():
        gate = net(torch.ones(2, 4)).sigmoid()
        loss = (gate * torch.ones(2, 3)).sum()
        gate.detach_()
        loss.backward()

    calm(program)


def weighted(keep):
    """A penalty whose weights were kept of the gradients of a first loss."""
    net = nn.Linear(4, 1)
    net(torch.ones(8, 4)).pow(2).mean().backward()
    weights = {}
    for name, p in net.named_parameters():
        weights[name] = keep(p)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    penalty = sum((weights[name] * p.pow(2)).sum() for name, p in net.named_parameters())
    optimizer.zero_grad(set_to_none=False)
    penalty.backward()


def test_weight_is_the_gradient():
    """A call that modifies the gradient returns the gradient: the line that keeps it is told."""

    def program():
        net = nn.Linear(4, 1)
        net(torch.ones(8, 4)).pow(2).mean().backward()
        weights = {}
        for name, p in net.named_parameters():
            weights[name] = p.grad.abs_()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        penalty = sum((weights[name] * p.pow(2)).sum() for name, p in net.named_parameters())
        optimizer.zero_grad(set_to_none=False)
        penalty.backward()

    finding = diagnosed(program, "AG201", "p.grad.abs_()", ".grad of", "zero_grad", severity="error")
    assert "clone()" in finding.fix


def test_weight_is_a_copy():
    """What a call returns that leaves the gradient alone has memory of its own."""
    calm(lambda: weighted(lambda p: p.grad.abs()), lambda: weighted(lambda p: p.grad.clone()))
