"""Self-supervised vision: an online and a slowly moving target net, both compiled; only the online one is trained."""

import copy

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()


def setup():
    torch.manual_seed(0)


def encoder():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 8))


@torch.compile(backend=BACKEND)
def agree(prediction, projection):
    p = nn.functional.normalize(prediction, dim=-1)
    z = nn.functional.normalize(projection.detach(), dim=-1)
    return 2 - 2 * (p * z).sum(-1).mean()


@torch.compile(backend=BACKEND)
def follow(targets, sources, share):
    for target, source in zip(targets, sources):
        target.copy_(torch.lerp(target, source.detach(), share))


def run():
    online, predictor = encoder(), nn.Linear(8, 8)
    target = copy.deepcopy(online).requires_grad_(False)
    see, look = torch.compile(online, backend=BACKEND), torch.compile(target, backend=BACKEND)
    optimizer = torch.optim.SGD([*online.parameters(), *predictor.parameters()], lr=0.1)
    initial = [p.clone() for p in target.parameters()]
    for _ in range(4):
        image = torch.randn(8, 1, 8, 8)
        first, second = image.flip(-1), image + 0.1 * torch.randn_like(image)
        loss = agree(predictor(see(first)), look(second)) + agree(predictor(see(second)), look(first))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            follow(list(target.parameters()), list(online.parameters()), 0.05)
    return online, target, initial


def verify(outcome):
    online, target, initial = outcome
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in online.parameters())
    assert all(p.grad is None for p in target.parameters())
    assert not torch.equal(initial[0], next(target.parameters()))
    assert not torch.equal(next(online.parameters()), next(target.parameters()))
