"""AG501: backward through a graph that an earlier backward has freed."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected, quoted, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def pair(net=None):
    net = net or nn.Linear(4, 1)
    return net, torch.optim.SGD(net.parameters(), lr=0.01)


def test_backward_twice():
    """Two backwards of one loss need retain_graph, or a sum."""

    def sick():
        net, _ = pair()
        loss = net(X).pow(2).mean()
        loss.backward()
        loss.backward()

    def parts():
        net, _ = pair()
        out = net(X).tanh().exp()
        left, right = out.pow(2).mean(), out.abs().mean()
        left.backward()
        right.backward()

    def healthy():
        net, _ = pair()
        loss = net(X).pow(2).mean()
        loss.backward(retain_graph=True)
        loss.backward()

    def summed():
        net, _ = pair()
        out = net(X).tanh().exp()
        (out.pow(2).mean() + out.abs().mean()).backward()

    report = diagnosed(parts, "AG501", "right.backward()", "out", "left", severity="error")
    assert any("left.backward()" in place.source for place in report.locations)
    assert any(finding.rule == "AG501" for finding in inspected(sick).findings)
    calm(healthy, summed)


def test_hidden_state_across_batches():
    """A recurrent state carried into the next batch takes the freed graph along, unless it is detached."""

    def program(carry):
        cell, head = nn.GRUCell(4, 6), nn.Linear(6, 1)
        optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()])
        hidden = torch.zeros(8, 6)
        for _ in range(3):
            hidden = cell(X, hidden)
            trained(optimizer, head(hidden).pow(2).mean())
            hidden = carry(hidden)

    diagnosed(
        lambda: program(lambda h: h), "AG501", "hidden = cell(X, hidden)", "hidden", "detach",
        severity="error", where=program,
    )  # fmt: skip
    calm(lambda: program(torch.Tensor.detach))


def test_features_computed_once():
    """A precomputed trainable term is freed by the first backward: a prior, a kernel, a regulariser."""

    def program(cache):
        net, kernel = nn.Linear(4, 1), nn.Parameter(torch.ones(4))
        optimizer = torch.optim.SGD([*net.parameters(), kernel], lr=0.01)
        penalty = cache((kernel * 2).exp().sum())
        for _ in range(2):
            trained(optimizer, F.mse_loss(net(X * kernel), Y) + penalty)

    diagnosed(lambda: program(lambda t: t), "AG501", "penalty = cache(", "penalty", severity="error", where=program)
    calm(lambda: program(torch.Tensor.detach))


def test_gan_without_detach():
    """The critic frees the graph of the generator, which needs it afterwards: the line of the critic comes first."""

    def program(*, detach):
        generator, critic = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 1)
        left, right = torch.optim.SGD(generator.parameters(), lr=0.1), torch.optim.SGD(critic.parameters(), lr=0.1)
        for _ in range(2):
            fake = generator(X)
            trained(right, critic(fake.detach() if detach else fake).mean() - critic(X).mean())
            trained(left, -critic(fake).mean())

    sick = diagnosed(lambda: program(detach=False), "AG501", "trained(right", "fake", severity="error", where=program)
    assert any("fake = generator(X)" in place.source for place in sick.locations)
    assert quoted(sick.fix)[0] == "fake.detach()"
    assert "backpropagated first" in sick.fix
    calm(lambda: program(detach=True))


def test_gradient_asked_for_before_backward():
    """autograd.grad frees the graph as backward does: what goes on with it has to say retain_graph=True."""

    def rows(retain):
        weight = torch.randn(3, 3, requires_grad=True)
        y = (weight @ torch.ones(3)).tanh()
        return [torch.autograd.grad(y[i], weight, retain_graph=retain) for i in range(3)]

    def sobolev(retain):
        net, _ = pair(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)))
        x = X.clone().requires_grad_()
        energy = net(x).sum()
        (force,) = torch.autograd.grad(energy, x, retain_graph=retain)
        (energy * 2).backward()
        return force

    for program, line in ((rows, "torch.autograd.grad(y[i]"), (sobolev, "(force,) =")):
        finding = diagnosed(lambda run=program: run(False), "AG501", line, severity="error", where=program)
        assert "retain_graph=True" in finding.fix
        calm(lambda run=program: run(True))


def test_backward_that_kept_its_graph_is_not_the_one_that_freed_it():
    """Of several earlier backwards the one that freed what is carried over is named."""

    def sick():
        net, _ = pair(nn.Sequential(nn.Linear(4, 4), nn.Tanh()))
        features = net(X)
        features.mean().backward(retain_graph=True)
        nn.Linear(4, 1)(X).mean().backward()
        features.pow(2).mean().backward()
        features.exp().mean().backward()

    finding = diagnosed(sick, "AG501", "features = net(X)", "features", severity="error")
    freed = [place.source for place in finding.locations if place.role == "graph freed here"]
    assert freed == ["features.pow(2).mean().backward()"]
