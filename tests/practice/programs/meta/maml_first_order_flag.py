"""First-order MAML on purpose: inner gradients without graph, losses of all tasks in one backward."""

import torch
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(3):
        optimizer.zero_grad()
        for _ in range(2):
            x = torch.randn(10, 1)
            y = torch.sin(x + torch.rand(1))
            fast = dict(net.named_parameters())
            for _ in range(2):
                loss = (functional_call(net, fast, (x[:5],)) - y[:5]).pow(2).mean()
                grads = torch.autograd.grad(loss, list(fast.values()))
                fast = {k: p - 0.05 * g for (k, p), g in zip(fast.items(), grads)}
            query = (functional_call(net, fast, (x[5:],)) - y[5:]).pow(2).mean() / 2
            query.backward()
        optimizer.step()
    return query.item()


TRUTH = Truth()
