"""Heat equation: the derivative is asked for a slice that is cut from the input after the network has used it."""

import torch
from torch import nn

from tests.practice.truth import Truth


class FourierFeatures(nn.Module):
    def __init__(self, inp, n, sigma=2.0):
        super().__init__()
        self.register_buffer("B", torch.randn(inp, n) * sigma)

    def forward(self, x):
        proj = x @ self.B
        return torch.cat([proj.sin(), proj.cos()], dim=-1)


class HeatNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.ff = FourierFeatures(2, 8)
        self.mlp = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, xt):
        return self.mlp(self.ff(xt))


def gradient(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]  # symptom


def pde_loss(model, xt, alpha=0.1):
    xt = xt.detach().requires_grad_(True)
    u = model(xt)
    x, t = xt[:, 0:1], xt[:, 1:2]  # cause
    u_t = gradient(u, t)
    u_x = gradient(u, x)
    u_xx = gradient(u_x, x)
    return (u_t - alpha * u_xx).pow(2).mean()


def ic_loss(model, n=16):
    x = torch.rand(n, 1)
    xt = torch.cat([x, torch.zeros_like(x)], dim=1)
    return (model(xt) - torch.sin(torch.pi * x)).pow(2).mean()


def run():
    torch.manual_seed(0)
    model = HeatNet()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, 2, gamma=0.5)
    for step in range(3):
        loss = pde_loss(model, torch.rand(32, 2)) + 10 * ic_loss(model)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        print(step, loss.item())
    return model


TRUTH = Truth(
    fault="the network's output does not depend on slices cut afterwards",
    raises="The differentiated Tensor at index 0 appears to not have been used in the graph",
    repair=("x, t = xt[:, 0:1], xt[:, 1:2]\nu = model(torch.cat([x, t], dim=1))",),
)
