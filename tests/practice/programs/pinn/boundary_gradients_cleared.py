"""The gradients of the boundary's loss are cleared before the backward of the residual."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(3):
        opt.zero_grad()
        xb = torch.tensor([[0.0], [1.0]])
        loss_b = net(xb).pow(2).mean()
        loss_b.backward()
        x = torch.rand(16, 1, requires_grad=True)
        u = net(x)
        ux = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        uxx = torch.autograd.grad(ux.sum(), x, create_graph=True)[0]
        loss_f = (uxx + torch.sin(3.14 * x)).pow(2).mean()
        opt.zero_grad()  # cause
        loss_f.backward()
        opt.step()
    return net


def verify(out):
    assert out[2].bias.grad is None


TRUTH = Truth(fault="zero_grad between the two backward calls", names=("2.bias",), repair=("pass",))
