"""AG305: parts of an accumulated gradient that count more often, or less, than the others."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def accumulated(differentiate, after=lambda net, last: None, parts=3):
    """Two steps, each with the gradients of several parts of a batch."""
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        total = 0
        for number in range(parts):
            loss = net(X + number).square().mean() / parts
            total = differentiate(total, loss)
            after(net, number == parts - 1)
        optimizer.step()


def running_total(total, loss):
    total = total + loss
    total.backward(retain_graph=True)  # Again.
    return total


def each_alone(total, loss):
    loss.backward()
    return total + loss.detach()


def test_a_running_total():
    """Each term is differentiated with all that come after it: the line, and how often."""
    diagnosed(
        lambda: accumulated(running_total), "AG305", "# Again.", "3 times", "grows", "weight",
        severity="warning", where=running_total,
    )  # fmt: skip


def test_a_total_that_is_differentiated_once():
    """Each term alone, the sum after the loop, or the sum after a clear of what its first terms left."""
    calm(lambda: accumulated(each_alone))

    def at_the_end():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            sum(net(X + number).square().mean() for number in range(3)).backward()
            optimizer.step()

    def looked_at():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            first = net(X).square().mean()
            optimizer.zero_grad()
            first.backward(retain_graph=True)
            print(float(net.weight.grad.norm()))
            optimizer.zero_grad()
            (first + net(X + 1).square().mean()).backward()
            optimizer.step()

    calm(at_the_end, looked_at)


def averaged(net, last):
    for p in net.parameters():
        p.grad.div_(3)  # Scaled.


def averaged_at_the_end(net, last):
    if last:
        averaged(net, last)


def test_a_sum_that_is_scaled_after_each_part():
    """What is there already is scaled again: the line that scales."""
    diagnosed(
        lambda: accumulated(each_alone, averaged), "AG305", "# Scaled.", "div_", "after each of 3", "weight",
        severity="warning", where=averaged,
    )  # fmt: skip


def test_a_sum_that_is_scaled_once():
    """At the end, or where each step has one backward."""
    calm(lambda: accumulated(each_alone, averaged_at_the_end), lambda: accumulated(each_alone, averaged, parts=1))
