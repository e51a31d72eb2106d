"""Gradients that the program assigns, and that are zeros: what was cut off is found all the same."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


def projected(forward):
    """The gradients of two losses, zeros where there are none, are combined and assigned."""
    trunk, head = nn.Linear(4, 4), nn.Linear(4, 2)
    parameters = [*trunk.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    for _ in range(2):
        gradients = []
        for loss in (forward(trunk, head).pow(2).mean(), forward(trunk, head).abs().mean()):
            optimizer.zero_grad()
            loss.backward()
            gradients.append([torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in parameters])
        dot = sum((a * b).sum() for a, b in zip(*gradients, strict=True))
        for p, a, b in zip(parameters, *gradients, strict=True):
            p.grad = a - 0.1 * dot * b + b
        optimizer.step()


def cut(trunk, head):
    return head(trunk(torch.randn(8, 4)).detach())  # cut


def whole(trunk, head):
    return head(trunk(torch.randn(8, 4)))


def test_a_trunk_that_is_cut_off():
    """The detach() is pointed at, although each parameter has a gradient when the optimizer steps."""
    diagnosed(lambda: projected(cut), "AG101", "# cut", "trunk", severity="warning", where=cut)
    calm(lambda: projected(whole))


def test_zeros_that_gradients_are_added_to():
    """A step uses what was added up in them, which here another model's backward gave."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        for _ in range(2):
            for p in net.parameters():
                p.grad = torch.zeros_like(p)
            learner = copy.deepcopy(net)
            learner(torch.randn(8, 4)).pow(2).mean().backward()
            for p, q in zip(net.parameters(), learner.parameters(), strict=True):
                p.grad.add_(q.grad)
            optimizer.step()

    calm(program)
