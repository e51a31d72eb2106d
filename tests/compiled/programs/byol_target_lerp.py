"""BYOL in one compiled step, target network written in place after the optimizer: healthy."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


def encoder():
    return nn.Sequential(nn.Linear(12, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 8))


class Byol(nn.Module):
    def __init__(self):
        super().__init__()
        self.online, self.predictor = encoder(), nn.Linear(8, 8)
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    def forward(self, a, b):
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
        return 2 - F.cosine_similarity(pa, tb).mean() - F.cosine_similarity(pb, ta).mean()


@torch.compile(backend=BACKEND)
@torch.no_grad()
def momentum_update(online, target, tau):
    for o, t in zip(online, target):
        t.mul_(tau).add_(o, alpha=1 - tau)


def run():
    torch.manual_seed(0)
    model = Byol()
    step = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.SGD([*model.online.parameters(), *model.predictor.parameters()], lr=0.1)
    online, target = list(model.online.parameters()), list(model.target.parameters())
    mirror = [t.clone() for t in target]
    for _ in range(4):
        x = torch.randn(16, 12)
        loss = step(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        momentum_update(online, target, 0.9)
        mirror = [0.9 * m + 0.1 * o.detach() for m, o in zip(mirror, online)]
    return target, mirror, [o.grad for o in online]


def verify(outcome):
    target, mirror, grads = outcome
    assert all(torch.allclose(t, m, atol=1e-6) and t.grad is None for t, m in zip(target, mirror))
    assert all(g is not None and g.abs().max() > 0 for g in grads)


TRUTH = Truth()
