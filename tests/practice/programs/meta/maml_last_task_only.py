"""MAML: the meta loss is the query loss of the last task; those of the others are computed for nothing."""

import torch
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


def sine_task():
    a, phase = torch.rand(1) * 4 + 0.1, torch.rand(1) * 3.14
    x = torch.rand(10, 1) * 10 - 5
    y = a * torch.sin(x - phase)
    return x[:5], y[:5], x[5:], y[5:]


def adapt(net, params, x, y, lr=0.01):
    loss = (functional_call(net, params, (x,)) - y).pow(2).mean()
    grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
    return {k: p - lr * g for (k, p), g in zip(params.items(), grads)}


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    meta_opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    used = []
    for _ in range(3):
        meta_loss, seen = torch.zeros(()), []
        for _ in range(4):
            xs, ys, xq, yq = sine_task()
            fast = adapt(net, dict(net.named_parameters()), xs, ys)
            query_loss = (functional_call(net, fast, (xq,)) - yq).pow(2).mean()
            seen.append(query_loss.item())
            meta_loss = query_loss / 4  # cause
        meta_opt.zero_grad()
        meta_loss.backward()
        meta_opt.step()
        used.append(abs(meta_loss.item() - sum(seen) / 4) < 1e-5)
    return used


TRUTH = Truth(fault="the losses of all tasks but one are dropped", repair=("meta_loss = meta_loss + query_loss / 4",))


def verify(used):
    assert not any(used)
