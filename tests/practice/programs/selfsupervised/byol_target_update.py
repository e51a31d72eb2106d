"""BYOL: source and target of the moving average are swapped in the call, the target overwrites the online network."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


@torch.no_grad()
def update_moving_average(target, online, beta):
    for t, o in zip(target.parameters(), online.parameters()):
        t.mul_(beta).add_(o, alpha=1 - beta)


def regression_loss(p, z):
    return (2 - 2 * (F.normalize(p, dim=-1) * F.normalize(z, dim=-1)).sum(-1)).mean()


def augment(x):
    return x + 0.2 * torch.randn_like(x)


def run():
    torch.manual_seed(0)
    online = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), mlp(16, 16, 8))
    predictor = mlp(8, 16, 8)
    target = copy.deepcopy(online).requires_grad_(False)
    start = copy.deepcopy(target.state_dict())
    opt = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=3e-3)
    total_steps = 4
    for step in range(total_steps):
        x = torch.randn(8, 10)
        v1, v2 = augment(x), augment(x)
        with torch.no_grad():
            z1, z2 = target(v1), target(v2)
        loss = regression_loss(predictor(online(v1)), z2) + regression_loss(predictor(online(v2)), z1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        beta = 1 - (1 - 0.99) * (1 + torch.cos(torch.tensor(torch.pi * step / total_steps)).item()) / 2
        update_moving_average(online, target, beta)  # cause
    return online, target, start


def verify(out):
    online, target, start = out
    assert all(torch.equal(p, start[n]) for n, p in target.named_parameters())
    assert not torch.equal(online[0].weight, start["0.weight"])


TRUTH = Truth(
    fault="the online network is averaged toward the target; the target stays at its start",
    names=("online",),
    repair=("update_moving_average(target, online, beta)",),
)
