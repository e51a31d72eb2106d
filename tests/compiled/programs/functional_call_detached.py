"""A compiled loss calls the model with detached parameters."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ()


def setup():
    global net, optimizer, loss_of
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
    scale = nn.Parameter(torch.ones(()))
    optimizer = torch.optim.SGD([*net.parameters(), scale], lr=0.1)

    def loss(x, y):
        weights = {name: p.detach() for name, p in net.named_parameters()}  # cause
        return F.mse_loss(scale * torch.func.functional_call(net, weights, (x,)), y)

    loss_of = torch.compile(loss, backend=BACKEND)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        loss_of(torch.randn(5, 4), torch.randn(5, 1)).backward()
        optimizer.step()
