"""Inverse heat equation: fit the field and find the diffusivity."""

import torch
from torch import nn

from tests.practice.truth import Truth, fails


class Field(nn.Module):
    def __init__(self, width=24, activation=nn.ReLU):  # cause
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width),
            activation(),  # also
            nn.Linear(width, width),
            activation(),  # also
            nn.Linear(width, 1),
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def derivative(u, v):
    return torch.autograd.grad(u, v, grad_outputs=torch.ones_like(u), create_graph=True)[0]


class HeatInverse:
    def __init__(self, x_obs, t_obs, u_obs, nu0=0.5, lr=5e-3):
        self.field = Field()
        self.nu = nn.Parameter(torch.tensor(nu0))
        self.obs = x_obs, t_obs, u_obs
        self.opt = torch.optim.Adam([*self.field.parameters(), self.nu], lr=lr)

    def residual(self, n=64):
        x = torch.rand(n, 1, requires_grad=True)
        t = torch.rand(n, 1, requires_grad=True)
        u = self.field(x, t)
        u_t, u_x = derivative(u, t), derivative(u, x)
        u_xx = derivative(u_x, x)
        return u_t - self.nu * u_xx

    def fit(self, iterations):
        x, t, u = self.obs
        for _ in range(iterations):
            data = (self.field(x, t) - u).pow(2).mean()
            physics = self.residual().pow(2).mean()
            self.opt.zero_grad()
            (data + 0.1 * physics).backward()
            self.opt.step()
        return self.nu.item()


def run():
    torch.manual_seed(0)
    x, t = torch.rand(80, 1), torch.rand(80, 1)
    u = torch.exp(-0.1 * torch.pi**2 * t) * torch.sin(torch.pi * x)
    problem = HeatInverse(x, t, u)
    return problem.fit(8)


TRUTH = Truth(
    fault="a ReLU net has no second derivative: u_xx is zero everywhere, nu gets zero gradient",
    names=("ReLU",),
    values=True,
    repair=("def __init__(self, width=24, activation=nn.Tanh):",),
)


def well(out):
    assert out != 0.5


verify = fails(well)
