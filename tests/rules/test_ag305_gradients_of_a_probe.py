"""AG305: a backward behind that of the training is run for the gradient of an input, and the step uses the sum."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm


def saliency(net, x, *, by="backward", look=True):
    x = x.detach().clone().requires_grad_(True)
    score = net(x).amax(dim=1).sum()
    if by == "grad":
        return torch.autograd.grad(score, x)[0].abs()
    score.backward()  # Probe.
    return x.grad.abs() if look else None


def training(*, every=2, late=True, mode=False, by="backward", look=True, rounds=4):
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(rounds):
        x, y = torch.randn(8, 4), torch.randint(3, (8,))
        if not late:
            saliency(net, x)
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()  # Own.
        if late and step % every == 0:
            net.train(not mode)
            saliency(net, x, by=by, look=look)
            net.train()
        optimizer.step()


@pytest.mark.parametrize("how", [{}, {"rounds": 30, "every": 7}, {"every": 1, "mode": True}])
def test_a_picture_between_backward_and_step(how):
    """In some of the rounds, or in eval mode: the step uses the gradients of both."""
    finding = diagnosed(
        lambda: training(**how), "AG305", "# Probe.", "0.weight", "x", severity="warning", where=saliency
    )
    assert "autograd.grad" in finding.fix


def test_pictures_that_leave_nothing():
    """By autograd.grad, before the clearing; or a second loss in each step, or one of whose input nobody asks."""
    calm(
        lambda: training(by="grad"),
        lambda: training(late=False),
        lambda: training(every=1),
        lambda: training(look=False),
    )


def test_two_losses_of_one_input():
    """What reads the gradient of an input that the training's loss has too asks for that of the sum."""

    def program():
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            x = torch.randn(8, 4, requires_grad=True)
            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            if step % 2:
                net(x).abs().mean().backward()
            assert x.grad.abs().sum() > 0
            optimizer.step()

    calm(program)
