"""AG305: `autograd.grad` is called in the place of backward(), and what it returns is dropped."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def made():
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def test_gradients_that_nobody_takes():
    """The step meets none of them, and the finding names the call that computed them."""

    def program():
        net, optimizer = made()
        for _ in range(2):
            optimizer.zero_grad()
            loss = net(X).pow(2).mean()
            torch.autograd.grad(loss, list(net.parameters()))  # Dropped.
            optimizer.step()

    finding = diagnosed(program, "AG305", "Dropped.", "nothing uses them", "net.0.weight", severity="warning")
    assert "loss.backward()" in finding.fix


def test_loss_that_has_no_variable_where_it_is_computed():
    """The function that calls autograd.grad has a name for it, and the edit calls backward() by that."""

    def stepped(optimizer, loss):
        optimizer.zero_grad()
        torch.autograd.grad(loss, optimizer.param_groups[0]["params"])
        optimizer.step()

    def program():
        net, optimizer = made()
        for _ in range(2):
            stepped(optimizer, net(X).pow(2).mean())

    finding = diagnosed(program, "AG305", "torch.autograd.grad(", "net.0.weight", severity="warning", where=stepped)
    assert [edit.text for edit in finding.edits] == ["loss.backward()"]


def assigned():
    net, optimizer = made()
    for _ in range(2):
        loss = net(X).pow(2).mean()
        for p, gradient in zip(net.parameters(), torch.autograd.grad(loss, list(net.parameters())), strict=True):
            p.grad = gradient
        optimizer.step()


def read():
    net, optimizer = made()
    for _ in range(2):
        optimizer.zero_grad()
        loss = net(X).pow(2).mean()
        norm = torch.autograd.grad(loss, list(net.parameters()), retain_graph=True)[0].norm()
        loss.backward()
        optimizer.step()
        print(end=str(norm.item())[:0])


def test_gradients_that_are_taken():
    """Assigned to `.grad`, or read beside a backward."""
    calm(assigned, read)
