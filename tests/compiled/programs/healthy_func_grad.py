"""MAML with torch.func within compiled code."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global net, opt, maml, x, y
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    x, y = torch.randn(3, 5, 4), torch.randn(3, 5, 1)

    def loss_of(p, x, y):
        return F.mse_loss(functional_call(net, p, (x,)), y)

    @torch.compile(backend=BACKEND)
    def maml(p, x, y):
        def one(x, y):
            g = grad(loss_of)(p, x, y)
            return loss_of({k: v - 0.1 * g[k] for k, v in p.items()}, x, y)

        return vmap(one)(x, y).mean()


def run():
    for _ in range(2):
        opt.zero_grad()
        maml(dict(net.named_parameters()), x, y).backward()
        opt.step()
