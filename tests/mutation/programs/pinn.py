import torch
from torch import nn


class PINN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(a, b) for a, b in zip(layers[:-1], layers[1:])])
        self.nu = nn.Parameter(torch.tensor(0.1))

    def forward(self, x, t):
        h = torch.cat([x, t], dim=1)
        for linear in self.linears[:-1]:
            h = torch.tanh(linear(h))
        return self.linears[-1](h)


def residual(model, x, t):
    u = model(x, t)
    u_t = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    u_x = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
    return u_t + u * u_x - model.nu * u_xx


def run():
    model = PINN([2, 12, 12, 1])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x0 = torch.rand(8, 1) * 2 - 1
    u0 = -torch.sin(torch.pi * x0)
    for epoch in range(4):
        x = (torch.rand(8, 1) * 2 - 1).requires_grad_(True)
        t = torch.rand(8, 1).requires_grad_(True)
        f = residual(model, x, t)
        loss_f = (f**2).mean()
        u_pred = model(x0, torch.zeros_like(x0))
        loss_u = ((u_pred - u0) ** 2).mean()
        loss = loss_f + loss_u
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model
