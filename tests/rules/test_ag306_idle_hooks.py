"""AG306: hooks on results that never run."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def halved(grad):
    return 0.5 * grad


def loop(step):
    """``step`` computes a loss of a net, and may register hooks before backward() and after it."""

    def run():
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            step(net)
            optimizer.step()

    return run


def test_after_backward():
    """On the loss, or on a result on the way to it, when its graph has served."""

    def on_loss(net):
        loss = net(X).pow(2).mean()
        loss.backward()
        loss.register_hook(halved)

    def on_hidden(net):
        hidden = net[1](net[0](X))
        net[2](hidden).pow(2).mean().backward()
        hidden.register_hook(halved)

    for sick in (on_loss, on_hidden):
        diagnosed(loop(sick), "AG306", "register_hook(halved)", "halved", severity="warning", where=sick)


def test_hooks_that_run():
    """Before backward(); before a second one through a graph that is kept; before one that takes the result further."""

    def before(net):
        loss = net(X).pow(2).mean()
        loss.register_hook(halved)
        loss.backward()

    def between(net):
        loss = net(X).pow(2).mean()
        torch.autograd.grad(loss, net[0].weight, retain_graph=True)
        loss.register_hook(halved)
        loss.backward()

    def further(net):
        total = net[0].weight + net[0].bias[:, None]
        total.sum().backward()
        total.register_hook(halved)
        (total.pow(2).sum() + net(X).pow(2).mean()).backward()

    calm(*map(loop, (before, between, further)))


def test_on_what_nobody_reads():
    """On a slice, or a copy, of a parameter that the forward uses itself."""

    def part(net):
        net[0].weight[:2].register_hook(halved)
        net(X).pow(2).mean().backward()

    def copied(net):
        net[0].weight.clone().register_hook(halved)
        net(X).pow(2).mean().backward()

    for sick in (part, copied):
        diagnosed(loop(sick), "AG306", "register_hook(halved)", "0.weight", severity="warning", where=sick)


def test_on_what_is_read():
    """On a part that the loss is computed from, on the parameter, and on results that this loss leaves out."""

    def part(net):
        rows = net[0].weight[:2]
        rows.register_hook(halved)
        (net(X).pow(2).mean() + rows.pow(2).sum()).backward()

    def whole(net):
        net[0].weight.register_hook(halved).remove()
        net(X).pow(2).mean().backward()

    def left_out(net):
        auxiliary = net[0](X)
        auxiliary.register_hook(halved)
        net(X).pow(2).mean().backward()

    calm(*map(loop, (part, whole, left_out)))
