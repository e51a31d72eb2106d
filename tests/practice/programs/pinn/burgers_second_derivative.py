"""Burgers: u_xx is taken with retain_graph where create_graph is needed, so the viscosity's term trains nothing."""

import torch
from torch import nn

from tests.practice.truth import Truth


class PINN(nn.Module):
    def __init__(self, layers=(2, 16, 16, 1)):
        super().__init__()
        mods = []
        for a, b in zip(layers[:-1], layers[1:]):
            mods += [nn.Linear(a, b), nn.Tanh()]
        self.net = nn.Sequential(*mods[:-1])
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)

    def forward(self, t, x):
        return self.net(torch.cat([t, x], dim=1))


def residual(model, t, x, nu=0.01 / torch.pi):
    t = t.clone().requires_grad_(True)
    x = x.clone().requires_grad_(True)
    u = model(t, x)
    ones = torch.ones_like(u)
    u_t = torch.autograd.grad(u, t, ones, retain_graph=True, create_graph=True)[0]
    u_x = torch.autograd.grad(u, x, ones, retain_graph=True, create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x, x, ones, retain_graph=True)[0]  # cause
    return u_t + u * u_x - nu * u_xx, u_xx


def run():
    torch.manual_seed(0)
    model = PINN()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    x0 = torch.linspace(-1, 1, 20)[:, None]
    u0 = -torch.sin(torch.pi * x0)
    tb, xb = torch.rand(10, 1), torch.randint(0, 2, (10, 1)) * 2.0 - 1
    for epoch in range(3):
        t, x = torch.rand(40, 1), torch.rand(40, 1) * 2 - 1
        r, u_xx = residual(model, t, x)
        loss_f = (r**2).mean()
        loss_u = ((model(torch.zeros_like(x0), x0) - u0) ** 2).mean() + (model(tb, xb) ** 2).mean()
        loss = loss_u + loss_f
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"epoch {epoch} loss_u {loss_u.item():.3e} loss_f {loss_f.item():.3e}")
    return u_xx


def verify(out):
    assert not out.requires_grad


TRUTH = Truth(
    fault="the second derivative is a constant in the residual",
    names=("u_xx",),
    repair=("u_xx = torch.autograd.grad(u_x, x, ones, create_graph=True)[0]",),
)
