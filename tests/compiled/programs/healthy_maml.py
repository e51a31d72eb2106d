"""One inner step by torch.func.grad, the outer loss through it, vmapped over tasks."""

import torch
import torch.nn.functional as F
from torch import nn

HEALTHY = True


def setup():
    global params, outer, optimizer
    net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1))
    params = {name: nn.Parameter(p.detach().clone()) for name, p in net.named_parameters()}
    optimizer = torch.optim.SGD(params.values(), lr=0.1)

    def loss(p, x, y):
        return F.mse_loss(torch.func.functional_call(net, p, (x,)), y)

    def task(x, y):
        grads = torch.func.grad(loss)(params, x, y)
        fast = {name: params[name] - 0.1 * grads[name] for name in params}
        return loss(fast, x, y)

    outer = torch.vmap(task)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        outer(torch.randn(3, 5, 2), torch.randn(3, 5, 1)).mean().backward()
        optimizer.step()
