"""Inverse problem: the unknown coefficient is cast to double after it became a Parameter, and is no leaf any more."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth

torch_dtype = torch.float64


class Net(nn.Module):
    def __init__(self, width=16, depth=2):
        super().__init__()
        layers = [nn.Linear(1, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, t):
        return self.net(t)


def oscillator(mu, k, t):
    d, w0 = mu / 2, math.sqrt(k)
    w = math.sqrt(w0**2 - d**2)
    return torch.exp(-d * t) * torch.cos(w * t)


def grad(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def run():
    torch.manual_seed(0)
    t_obs = torch.linspace(0, 1, 12, dtype=torch_dtype)[:, None]
    u_obs = oscillator(4.0, 400.0, t_obs) + 0.02 * torch.randn_like(t_obs)
    t_phys = torch.linspace(0, 1, 20, dtype=torch_dtype)[:, None].requires_grad_(True)
    pinn = Net().double()
    mu = nn.Parameter(torch.zeros(1)).to(torch_dtype)  # cause
    opt = torch.optim.Adam([*pinn.parameters(), mu], lr=1e-3)  # symptom
    history = []
    for step in range(3):
        opt.zero_grad()
        u = pinn(t_phys)
        dudt = grad(u, t_phys)
        d2udt2 = grad(dudt, t_phys)
        loss_phys = ((d2udt2 + mu * dudt + 400.0 * u) ** 2).mean()
        loss_data = ((pinn(t_obs) - u_obs) ** 2).mean()
        loss = 1e-4 * loss_phys + loss_data
        loss.backward()
        opt.step()
        history.append(mu.item())
        if step % 2 == 0:
            print(f"step {step} loss {loss.item():.4e} mu {mu.item():.4f}")
    return history


TRUTH = Truth(
    fault="the coefficient is the result of a cast, not a leaf",
    raises="can't optimize a non-leaf Tensor",
    names=("mu",),
    repair=("mu = nn.Parameter(torch.zeros(1, dtype=torch_dtype))",),
)
