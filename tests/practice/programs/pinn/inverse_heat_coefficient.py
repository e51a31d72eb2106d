"""An inverse problem: the coefficient is a leaf in the log, in a group of its own, and waits for a few steps."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Surrogate(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.SiLU(), nn.Linear(20, 1))
        self.log_nu = nn.Parameter(torch.tensor(-1.0), requires_grad=False)

    def forward(self, xt):
        return self.net(xt)


def pde(model, xt):
    xt = xt.clone().requires_grad_()
    u = model(xt)
    g = torch.autograd.grad(u.sum(), xt, create_graph=True)[0]
    u_x, u_t = g[:, :1], g[:, 1:]
    u_xx = torch.autograd.grad(u_x.sum(), xt, create_graph=True)[0][:, :1]
    return u_t - model.log_nu.exp() * u_xx


def run():
    torch.manual_seed(0)
    model = Surrogate()
    opt = torch.optim.Adam(
        [{"params": model.net.parameters(), "lr": 5e-3}, {"params": [model.log_nu], "lr": 5e-2}], betas=(0.9, 0.99)
    )
    xt = torch.rand(48, 2)
    u = torch.exp(-0.4 * xt[:, 1:]) * torch.sin(2 * xt[:, :1])
    nus, losses = [], []
    for step in range(5):
        if step == 2:
            model.log_nu.requires_grad_(True)
        idx = torch.randperm(48)[:24]
        data = (model(xt[idx]) - u[idx]).pow(2).mean()
        loss = data + 0.1 * pde(model, torch.rand(24, 2)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        nus.append(model.log_nu.exp().item())
        losses.append(loss.detach().numpy().item())
    return model, nus, losses


TRUTH = Truth()


def verify(out):
    model, nus, losses = out
    assert nus[0] == nus[1] and nus[2] != nus[1] and nus[4] != nus[3]
    assert all(p.grad.abs().sum() > 0 for p in model.parameters()) and losses[-1] < 10
