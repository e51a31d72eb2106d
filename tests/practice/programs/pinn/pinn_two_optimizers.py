"""A PINN: Adam first, then L-BFGS, second derivatives by autograd.grad, a learned coefficient."""

import torch
from torch import nn

from tests.practice.truth import Truth


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 1))
        self.nu = nn.Parameter(torch.tensor(0.1))

    def loss(self, x, t, x0, u0):
        x.requires_grad_(True)
        t.requires_grad_(True)
        u = self.net(torch.cat([x, t], 1))
        one = torch.ones_like(u)
        u_t = torch.autograd.grad(u, t, one, create_graph=True)[0]
        u_x = torch.autograd.grad(u, x, one, create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, one, create_graph=True)[0]
        f = u_t + u * u_x - self.nu * u_xx
        start = self.net(torch.cat([x0, torch.zeros_like(x0)], 1))
        return f.pow(2).mean() + (start - u0).pow(2).mean()


def run():
    torch.manual_seed(0)
    model = PINN()
    x, t, x0 = torch.rand(16, 1) * 2 - 1, torch.rand(16, 1), torch.rand(8, 1) * 2 - 1
    u0 = -torch.sin(torch.pi * x0)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        adam.zero_grad()
        loss = model.loss(x, t, x0, u0)
        loss.backward()
        adam.step()
    lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=3, line_search_fn="strong_wolfe")

    def closure():
        lbfgs.zero_grad()
        loss = model.loss(x, t, x0, u0)
        loss.backward()
        return loss

    for _ in range(2):
        lbfgs.step(closure)
    return model.nu.item()


TRUTH = Truth()
