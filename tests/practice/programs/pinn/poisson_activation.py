"""Poisson in 2D: the network is piecewise linear, so its Laplacian, and the gradient of the residual, is zero."""

import torch
from torch import nn

from tests.practice.truth import Truth


class ResBlock(nn.Module):
    def __init__(self, width, act):
        super().__init__()
        self.fc1, self.fc2, self.act = nn.Linear(width, width), nn.Linear(width, width), act

    def forward(self, x):
        return self.act(x + self.fc2(self.act(self.fc1(x))))  # also


class DeepRitzNet(nn.Module):
    def __init__(self, width=12, blocks=2):
        super().__init__()
        act = nn.ReLU()  # cause
        self.inp = nn.Linear(2, width)
        self.blocks = nn.ModuleList(ResBlock(width, act) for _ in range(blocks))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.inp(x)
        for block in self.blocks:
            h = block(h)
        return self.out(h)


def laplacian(u, x):
    (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    total = 0
    for i in range(x.shape[1]):
        total = total + torch.autograd.grad(du[:, i].sum(), x, create_graph=True)[0][:, i]
    return total


def boundary(n):
    s = torch.rand(n, 1)
    side = torch.randint(0, 2, (n, 1)).float()
    return torch.where(torch.rand(n, 1) < 0.5, torch.cat([s, side], 1), torch.cat([side, s], 1))


def run():
    torch.manual_seed(0)
    model = DeepRitzNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(3):
        x = torch.rand(24, 2).requires_grad_(True)
        f = 2 * torch.pi**2 * torch.sin(torch.pi * x[:, 0]) * torch.sin(torch.pi * x[:, 1])
        lap = laplacian(model(x), x)
        loss_r = ((lap + f.detach()) ** 2).mean()
        loss_b = (model(boundary(16)) ** 2).mean()
        loss = loss_r + 100 * loss_b
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{step}: residual {loss_r.item():.3f} boundary {loss_b.item():.4f}")
    return lap


def verify(out):
    assert not out.any()


TRUTH = Truth(
    values=True,
    fault="the second derivative of a ReLU network is zero everywhere",
    repair=("act = nn.Tanh()",),
)
