"""AG305: losses that are differentiated again with each that is added, gradients that are scaled again with each."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

BATCHES = torch.randn(3, 8, 4, generator=torch.Generator().manual_seed(1))


def made():
    net = nn.Linear(4, 2)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def test_a_running_total():
    """Its first term is differentiated once for each term that follows."""

    def program():
        net, optimizer = made()
        total = 0.0
        for x in BATCHES:
            loss = net(x).pow(2).mean()
            total = total + loss / 3
            total.backward(retain_graph=True)  # Here.
        optimizer.step()

    finding = diagnosed(program, "AG305", "Here.", "`total`", "3 times", severity="warning")
    assert "backward() once, when the sum is complete" in finding.fix


def test_a_total_that_is_added_to_in_place():
    """The same tensor has another value each time."""

    def program():
        net, optimizer = made()
        total = torch.zeros(())
        for x in BATCHES:
            loss = net(x).pow(2).mean()
            total += loss
            total.backward(retain_graph=True)  # Here.
        optimizer.step()

    finding = diagnosed(program, "AG305", "Here.", "`total`", severity="warning")
    assert "`loss.backward()`" in finding.fix


@pytest.mark.parametrize("together", [torch.sum, torch.mean])
def test_a_list_of_losses_that_grows(together):
    """Stacked and summed up anew each time."""

    def program():
        net, optimizer = made()
        losses = []
        for x in BATCHES:
            losses.append(net(x).pow(2).mean())
            together(torch.stack(losses)).backward(retain_graph=True)  # Here.
        optimizer.step()

    diagnosed(program, "AG305", "Here.", "3 times", severity="warning")


def test_gradients_that_are_scaled_after_each_backward():
    """What the first batch adds is divided three times."""

    def program():
        net, optimizer = made()
        for x in BATCHES:
            net(x).pow(2).mean().backward()
            for p in net.parameters():
                p.grad.div_(3)  # Here.
        optimizer.step()

    finding = diagnosed(program, "AG305", "Here.", "`div_`", "scaled 3 times", "weight", severity="warning")
    assert "after the last backward() and before step()" in finding.fix


def test_sums_that_are_complete_are_nobodys_concern():
    """One backward of the total; each term by itself; losses that share one term; gradients looked at, and cleared."""

    def once():
        net, optimizer = made()
        total = 0.0
        for x in BATCHES:
            total = total + net(x).pow(2).mean()
        total.backward()
        optimizer.step()

    def each():
        net, optimizer = made()
        total = 0.0
        for x in BATCHES:
            loss = net(x).pow(2).mean()
            loss.backward()
            total += loss.detach()
        optimizer.step()

    def shared():
        net, optimizer = made()
        out = net(BATCHES[0])
        rebuilt, small, large = out.pow(2).mean(), out.abs().mean(), out.exp().mean()
        (rebuilt + small).backward(retain_graph=True)
        (rebuilt + large).backward()
        optimizer.step()

    def looked_at():
        net, optimizer = made()
        for _ in range(2):
            first = net(BATCHES[0]).square().mean()
            optimizer.zero_grad()
            first.backward(retain_graph=True)
            print(float(net.weight.grad.norm()))
            optimizer.zero_grad()
            (first + net(BATCHES[1]).square().mean()).backward()
            optimizer.step()

    calm(once, each, shared, looked_at)


def test_gradients_that_are_scaled_once_are_nobodys_concern():
    """After the last backward; each by a call of its own; gradients that decay from step to step, or are masked."""

    def once():
        net, optimizer = made()
        for x in BATCHES:
            net(x).pow(2).mean().backward()
        for p in net.parameters():
            p.grad.div_(3)
        optimizer.step()

    def own():
        net, optimizer = made()
        for x in BATCHES:
            net(x).pow(2).mean().div(3).backward()
        optimizer.step()

    def each_step():
        net, optimizer = made()
        for x in BATCHES:
            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            for p in net.parameters():
                p.grad.mul_(0.5)
            optimizer.step()

    def masked():
        net, optimizer = made()
        mask = torch.tensor([1.0, 0.0, 1.0, 1.0])
        for x in BATCHES:
            net(x).pow(2).mean().backward()
            net.weight.grad.mul_(mask)
        optimizer.step()

    calm(once, own, each_step, masked)
