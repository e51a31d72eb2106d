"""AG205: gradients with a graph, of which nothing comes into a loss."""

from __future__ import annotations

import torch
from torch import nn
from torch.func import functional_call

from .programs import diagnosed, trained
from .twins import calm


class Inner:
    """Two steps of an inner loop, and a query with the parameters that ``use`` chooses."""

    def __init__(self, use):
        self.net, self.use, self.seen = nn.Linear(4, 1), use, []
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def adapted(self):
        fast = dict(self.net.named_parameters())
        for _ in range(2):
            support = functional_call(self.net, fast, (torch.randn(8, 4),)).square().mean()
            grads = torch.autograd.grad(support, list(fast.values()), create_graph=True)
            fast = {name: p - 0.1 * g for (name, p), g in zip(fast.items(), grads, strict=True)}
        return fast

    def run(self, rounds=2):
        for _ in range(rounds):
            trained(self.optimizer, self.use(self, self.adapted()))


def unadapted(inner, _):
    return inner.net(torch.randn(8, 4)).square().mean()


def test_adapted_parameters_that_no_loss_uses():
    """The query is computed with the parameters themselves: the inner loop counts for nothing."""
    diagnosed(
        lambda: Inner(unadapted).run(), "AG205", "fast = {name: p - 0.1 * g", "fast", "create_graph=True",
        severity="warning", where=Inner.adapted,
    )  # fmt: skip


def test_adapted_parameters_that_are_used():
    """In the loss, in what is measured or kept of them; and the last of several steps that have a loss each."""

    def query(inner, fast):
        return functional_call(inner.net, fast, (torch.randn(8, 4),)).square().mean()

    def measured(inner, fast):
        inner.seen.append(query(inner, fast).item())
        return unadapted(inner, fast)

    def kept(inner, fast):
        inner.seen.append({name: value.detach() for name, value in fast.items()})
        return unadapted(inner, fast)

    def each_step():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        fast, loss = dict(net.named_parameters()), torch.zeros(())
        for _ in range(3):
            error = functional_call(net, fast, (torch.randn(8, 4),)).square().mean()
            loss = loss + error
            grads = torch.autograd.grad(error, list(fast.values()), create_graph=True)
            fast = {name: p - 0.1 * g for (name, p), g in zip(fast.items(), grads, strict=True)}
        del fast
        trained(optimizer, loss)

    calm(Inner(query).run, Inner(measured).run, Inner(kept).run, each_step)


class Critic(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.net, self.weight = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), weight

    def forward(self, x):
        x = x.requires_grad_()
        score = self.net(x)
        (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
        penalty = (slope.norm(dim=1) - 1).square().mean()
        return score.mean() if self.weight is None else score.mean() + self.weight * penalty


def criticised(weight):
    critic = Critic(weight)
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, critic(torch.randn(8, 4)))


def test_a_penalty_that_is_not_added():
    """It is computed in each iteration, and the loss is the score alone."""
    diagnosed(
        lambda: criticised(None), "AG205", "penalty = ", "penalty", "add it as a term",
        severity="warning", where=Critic.forward,
    )  # fmt: skip
    calm(lambda: criticised(10.0))


def test_a_curvature_that_is_looked_at():
    """A product with the Hessian, of which a number is kept."""

    def program():
        net = nn.Linear(4, 1)
        optimizer, seen = torch.optim.SGD(net.parameters(), lr=0.1), []
        for _ in range(2):
            loss = net(torch.randn(8, 4)).square().mean()
            (g,) = torch.autograd.grad(loss, net.weight, create_graph=True)
            (hv,) = torch.autograd.grad(g.square().sum(), net.weight)
            seen.append(hv)
            trained(optimizer, net(torch.randn(8, 4)).square().mean())

    calm(program)
