"""An equation of second order; the ReLU network is given sines of the coordinates, which are curved."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 1))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(3):
        x = torch.rand(16, 1, requires_grad=True)
        u = net(torch.cat([(k * x).sin() for k in range(1, 5)], 1))
        (ux,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (uxx,) = torch.autograd.grad(ux.sum(), x, create_graph=True)
        loss = (uxx + (3 * x).sin()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth()
