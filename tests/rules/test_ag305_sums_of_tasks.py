"""AG305: gradients of several tasks that are read after each backward, and are running sums."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


def tasks():
    net = nn.Linear(4, 2, bias=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    out = net(torch.randn(8, 4))
    return net, optimizer, [out[:, 0].pow(2).mean(), (out[:, 1] - 1).abs().mean()]


def test_second_reading_contains_the_first():
    """The gradient that is assigned was combined from a gradient and a sum that contains it."""

    def program():
        net, optimizer, losses = tasks()
        read = []
        for loss in losses:
            loss.backward(retain_graph=True)
            read.append(net.weight.grad.clone())
        net.weight.grad = (read[0] + read[1]) / 2
        optimizer.step()

    diagnosed(program, "AG305", "loss.backward(retain_graph=True)", "weight", severity="warning")


def test_readings_apart_are_silent():
    """Cleared between the two, taken apart by the program itself, or read for the log alone."""

    def cleared():
        net, optimizer, losses = tasks()
        read = []
        for loss in losses:
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            read.append(net.weight.grad.clone())
        net.weight.grad = (read[0] + read[1]) / 2
        optimizer.step()

    def subtracted():
        net, optimizer, (one, other) = tasks()
        one.backward(retain_graph=True)
        first = net.weight.grad.clone()
        other.backward()
        second = net.weight.grad.clone() - first
        net.weight.grad = (first + second) / 2
        optimizer.step()

    def logged():
        net, optimizer, losses = tasks()
        norms = []
        for loss in losses:
            loss.backward(retain_graph=True)
            norms.append(net.weight.grad.clone().norm())
        optimizer.step()
        return norms

    calm(cleared, subtracted, logged)
