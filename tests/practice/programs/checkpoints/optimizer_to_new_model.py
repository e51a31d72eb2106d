"""A layer is added to a trained net as the identity; the new optimizer takes over the old moments parameter by parameter."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def grow(model):
    layers = [copy.deepcopy(m) for m in model]
    extra = nn.Linear(10, 10)
    with torch.no_grad():
        extra.weight.copy_(torch.eye(10))
        extra.bias.zero_()
    return nn.Sequential(*layers[:2], extra, nn.ReLU(), layers[-1]), {0: 0, 2: 4}


def transfer(old_opt, old_model, new_opt, new_model, layers):
    for i, j in layers.items():
        for p, q in zip(old_model[i].parameters(), new_model[j].parameters()):
            new_opt.state[q] = copy.deepcopy(old_opt.state[p])


def train(model, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(16, 5)
        loss = F.cross_entropy(model(x), (x[:, 0] * x[:, 1] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    small = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 2))
    opt_small = torch.optim.Adam(small.parameters(), lr=1e-2)
    before = train(small, opt_small, 3)
    big, layers = grow(small)
    probe = torch.randn(4, 5)
    with torch.no_grad():
        gap = (small(probe) - big(probe)).abs().max().item()
    opt_big = torch.optim.Adam(big.parameters(), lr=1e-2)
    big.zero_grad()
    transfer(opt_small, small, opt_big, big, layers)
    steps_taken = opt_big.state[big[0].weight]["step"].item()
    after = train(big, opt_big, 3)
    return small, big, gap, steps_taken, (before, after)


TRUTH = Truth()


def verify(out):
    small, big, gap, steps_taken, losses = out
    assert gap < 1e-6 and steps_taken == 3 and max(losses) < 100
    assert not torch.equal(big[2].weight, torch.eye(10)) and not torch.equal(small[0].weight, big[0].weight)
    assert all(p.grad.abs().sum() > 0 for p in big.parameters())
