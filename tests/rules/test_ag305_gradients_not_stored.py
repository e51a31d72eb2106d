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


def transformed(store):
    net, optimizer = made()
    loss = torch.func.grad(lambda params, x: torch.func.functional_call(net, params, (x,)).pow(2).mean())
    for _ in range(3):
        gradients = loss({name: p.detach() for name, p in net.named_parameters()}, X)
        for name, p in net.named_parameters():
            store(p, gradients[name] / 2)
        optimizer.step()  # Without any.


def averaged():
    net, optimizer = made()
    for _ in range(3):
        loss = net(X).pow(2).mean()
        gradients = [g / 2 for g in torch.autograd.grad(loss, list(net.parameters()))]
        optimizer.step()  # Without any.
        del gradients


def test_gradients_that_are_processed_and_stored_elsewhere():
    """Of a transform, which differentiates by copies of the parameters, and of autograd.grad itself."""

    def elsewhere(p, gradient):
        p.own_grad = gradient

    def program():
        transformed(elsewhere)

    finding = diagnosed(
        program, "AG305", "Without any.", "torch.func", "net.0.weight", severity="warning", where=transformed
    )
    assert "`p.grad = g`" in finding.fix
    diagnosed(averaged, "AG305", "Without any.", "torch.autograd.grad returns", severity="warning", where=averaged)


def test_gradients_of_a_transform_that_are_used():
    """Stored in `.grad`, written into the parameters by hand, or those of an inner loop beside a backward."""

    def stored(p, gradient):
        p.grad = gradient

    def by_hand(p, gradient):
        p.data.sub_(0.1 * gradient)

    def adapted():
        net, optimizer = made()
        call = torch.func.functional_call
        inner = torch.func.grad(lambda params: call(net, params, (X,)).pow(2).mean())
        for _ in range(3):
            params = dict(net.named_parameters())
            gradients = inner(params)
            fast = {name: p - 0.1 * gradients[name] for name, p in params.items()}
            optimizer.zero_grad()
            call(net, fast, (X,)).pow(2).mean().backward()
            optimizer.step()

    def measured():
        """Another model has parameters of other shapes, and the optimizer waits for its turn."""
        net, optimizer = made()
        other = nn.Linear(4, 1)
        norm = torch.func.grad(lambda params: torch.func.functional_call(other, params, (X,)).pow(2).mean())
        for turn in range(3):
            norm(dict(other.named_parameters()))
            if turn:
                optimizer.zero_grad()
                net(X).pow(2).mean().backward()
                optimizer.step()

    calm(lambda: transformed(stored), lambda: transformed(by_hand), adapted, measured)


def test_gradients_that_are_taken():
    """Assigned to `.grad`, or read beside a backward."""
    calm(assigned, read)
