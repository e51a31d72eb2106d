"""torch.func within compiled code differentiates by what the function does not use."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import grad_and_value

from tests.compiled.backend import BACKEND

RULES = "AG110"
NAMES = ()


def setup():
    global net, params, x, y, step
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    params = {k: v.detach().clone() for k, v in net.named_parameters()}
    x, y = torch.randn(5, 4), torch.randn(5, 1)

    def loss_of(p, x, y):
        return F.mse_loss(net(x), y)  # cause

    @torch.compile(backend=BACKEND)
    def step(p, x, y):
        g, loss = grad_and_value(loss_of)(p, x, y)
        return {k: p[k] - 0.1 * g[k] for k in p}, loss


def run():
    global params
    for _ in range(2):
        params, loss = step(params, x, y)
