"""A loop of autograd.grad to torch.func, healthy: vmap of nested grad over the inputs, weights reached by closure, an ordinary backward outside."""

import torch
from torch import nn
from torch.func import grad, vmap

from tests.practice.truth import Truth


class Field(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1, bias=False)
        )

    def forward(self, x):
        return self.net(x[None])[0]


class PoissonProblem:
    """u'' = -sin(x), u(0) = 0, u(pi) = 0."""

    def __init__(self, field):
        self.field = field
        slope = grad(lambda x: self.field(x))
        self.curvature = vmap(grad(slope))
        self.value = vmap(lambda x: self.field(x))

    def residual(self, x):
        return self.curvature(x) + torch.sin(x)

    def loss(self, x):
        edge = torch.tensor([0.0, torch.pi])
        return self.residual(x).square().mean() + self.value(edge).square().mean()


def by_hand(field, x):
    x = x.clone().requires_grad_()
    u = torch.stack([field(point) for point in x])
    (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (ddu,) = torch.autograd.grad(du.sum(), x, create_graph=True)
    return ddu


def run():
    torch.manual_seed(0)
    field = Field()
    problem = PoissonProblem(field)
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
    before = [p.detach().clone() for p in field.parameters()]
    for _ in range(3):
        x = torch.rand(8) * torch.pi
        optimizer.zero_grad()
        problem.loss(x).backward()
        optimizer.step()
    x = torch.rand(5) * torch.pi
    new = torch.autograd.grad(problem.curvature(x).sum(), field.net[2].weight)[0]
    old = torch.autograd.grad(by_hand(field, x).sum(), field.net[2].weight)[0]
    return before, list(field.parameters()), new, old


def verify(outcome):
    before, after, new, old = outcome
    assert all(not torch.equal(b, a.detach()) for b, a in zip(before, after, strict=True))
    assert torch.allclose(new, old, atol=1e-5)


TRUTH = Truth()
