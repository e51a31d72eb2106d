"""Hutchinson's estimate of the trace of the Hessian scales the step of each parameter (AdaHessian)."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 10), nn.Tanh(), nn.Linear(10, 1))
    params = list(net.parameters())
    second = [torch.zeros_like(p) for p in params]
    losses = []
    for _ in range(4):
        x = torch.randn(32, 4)
        loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
        net.zero_grad()
        loss.backward(create_graph=True)
        grads = [p.grad for p in params]
        zs = [torch.randint_like(p, 2) * 2 - 1 for p in params]
        products = torch.autograd.grad(grads, params, grad_outputs=zs)
        with torch.no_grad():
            for p, g, hz, z, v in zip(params, grads, products, zs, second):
                v.mul_(0.99).addcmul_(hz * z, hz * z, value=0.01)
                p.sub_(1e-3 * g / (v.sqrt() + 1e-2))
        for p in params:
            p.grad = None
        losses.append(loss.item())
    return losses


TRUTH = Truth()
