"""Features of other ranks are gathered with a Function whose backward picks the rank's own part, on purpose."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GatherLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, others):
        ctx.rows = x.shape[0]
        return torch.cat([x, *others])

    @staticmethod
    def backward(ctx, grad):
        return grad[: ctx.rows].clone(), None


def off_diagonal(x):
    n, m = x.shape
    return x.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten()


def vicreg(x, y):
    repr_loss = F.mse_loss(x, y)
    std_x, std_y = torch.sqrt(x.var(dim=0) + 0.0001), torch.sqrt(y.var(dim=0) + 0.0001)
    std_loss = torch.mean(F.relu(1 - std_x)) / 2 + torch.mean(F.relu(1 - std_y)) / 2
    x, y = x - x.mean(dim=0), y - y.mean(dim=0)
    cov_x, cov_y = (x.T @ x) / (len(x) - 1), (y.T @ y) / (len(y) - 1)
    cov_loss = off_diagonal(cov_x).pow_(2).sum().div(x.shape[1]) + off_diagonal(cov_y).pow_(2).sum().div(x.shape[1])
    return 25 * repr_loss + 25 * std_loss + cov_loss


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 6))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        shards = [torch.randn(6, 8) for _ in range(2)]
        with torch.no_grad():
            remote = [net(shards[1] + 0.1), net(shards[1] - 0.1)]
        x = GatherLayer.apply(net(shards[0] + 0.1), [remote[0]])
        y = GatherLayer.apply(net(shards[0] - 0.1), [remote[1]])
        loss = vicreg(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return net, losses


TRUTH = Truth()


def verify(out):
    net, losses = out
    assert all(p.grad.abs().sum() > 0 for p in net.parameters())
    assert all(0 < loss < 1e3 for loss in losses)
