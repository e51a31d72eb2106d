"""Deep equilibrium layer: solve without a graph, differentiate at the fixed point."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Cell(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.W = nn.Linear(dim, dim)
        self.U = nn.Linear(dim, dim, bias=False)
        with torch.no_grad():
            self.W.weight.mul_(0.3)

    def forward(self, z, x):
        return torch.tanh(self.W(z) + self.U(x))


class DEQ(nn.Module):
    def __init__(self, cell, iters=25):
        super().__init__()
        self.cell, self.iters = cell, iters

    def solve(self, f, z):
        for _ in range(self.iters):
            z = f(z)
        return z

    def forward(self, x):
        with torch.no_grad():
            z = self.solve(lambda z: self.cell(z, x), torch.zeros_like(x))
        z = self.cell(z, x)
        if self.training:
            z0 = z.detach().requires_grad_()
            f0 = self.cell(z0, x)

            def implicit(grad):
                return self.solve(lambda g: torch.autograd.grad(f0, z0, g, retain_graph=True)[0] + grad, grad)

            z.register_hook(implicit)
        return z


def run():
    torch.manual_seed(0)
    cell = Cell(6)
    deq, head = DEQ(cell), nn.Linear(6, 1)
    opt = torch.optim.Adam([*deq.parameters(), *head.parameters()], lr=5e-3)
    gaps = []
    for _ in range(3):
        x = torch.randn(8, 6)
        y = x.sum(-1, keepdim=True).tanh()
        loss = F.mse_loss(head(deq(x)), y)
        opt.zero_grad()
        loss.backward()
        z = torch.zeros_like(x)
        for _ in range(40):
            z = cell(z, x)
        unrolled = torch.autograd.grad(F.mse_loss(head(z), y), cell.W.weight)[0]
        gaps.append((unrolled - cell.W.weight.grad).abs().max().item())
        opt.step()
    return gaps


TRUTH = Truth()


def verify(out):
    assert max(out) < 1e-4
