"""Deep equilibrium model: the backward hook solves the adjoint fixed point and does not return it."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def solve(f, x0, max_iter=60, tol=1e-6):
    """Plain damped iteration, enough for a contraction."""
    x = x0
    for _ in range(max_iter):
        new = f(x)
        if (new - x).norm() < tol * (1 + x.norm()):
            return new
        x = new
    return x


class Cell(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w = nn.Linear(dim, dim, bias=False)
        self.u = nn.Linear(dim, dim)
        with torch.no_grad():
            self.w.weight.mul_(0.8 / torch.linalg.matrix_norm(self.w.weight, 2))

    def forward(self, z, x):
        return torch.tanh(self.w(z) + self.u(x))


class DEQ(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.cell = Cell(dim)
        self.last_adjoint = None

    def forward(self, x):
        with torch.no_grad():
            z = solve(lambda z: self.cell(z, x), torch.zeros_like(x))
        z = self.cell(z, x)  # re-engage the graph for one step
        if not self.training:
            return z
        z0 = z.detach().requires_grad_()
        f0 = self.cell(z0, x.detach())

        def implicit(grad):
            def adjoint(y):
                return torch.autograd.grad(f0, z0, y, retain_graph=True)[0] + grad

            g = solve(adjoint, grad)
            self.last_adjoint = g  # cause

        z.register_hook(implicit)
        return z


class Model(nn.Module):
    def __init__(self, width=5, dim=12, out=3):
        super().__init__()
        self.inp, self.deq, self.out = nn.Linear(width, dim), DEQ(dim), nn.Linear(dim, out)

    def forward(self, x):
        return self.out(self.deq(self.inp(x)))


def unrolled_gradient(model, x, y, depth=80):
    e = model.inp(x)
    z = torch.zeros_like(e)
    for _ in range(depth):
        z = model.deq.cell(z, e)
    return torch.autograd.grad(F.cross_entropy(model.out(z), y), model.deq.cell.u.weight)[0]


def run():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    pairs = []
    for _ in range(3):
        x, y = torch.randn(16, 5), torch.randint(0, 3, (16,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        pairs.append((model.deq.cell.u.weight.grad.clone(), unrolled_gradient(model, x, y)))
        optimizer.step()
    return pairs


def verify(pairs):
    assert all(not torch.allclose(got, true, rtol=1e-2, atol=1e-5) for got, true in pairs)


TRUTH = Truth(
    fault="the hook returns nothing, so the gradient stays that of a single step of the cell",
    names=("implicit", "register_hook", "hook"),
    repair=("return g",),
)
