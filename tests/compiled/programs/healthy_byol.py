"""An online network, a target that follows, and a compiled loss."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global online, target, predictor, optimizer, loss_of, follow
    import copy

    online = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    target = copy.deepcopy(online).requires_grad_(False)
    predictor = nn.Linear(3, 3)
    optimizer = torch.optim.AdamW([*online.parameters(), *predictor.parameters()])

    @torch.compile(backend=BACKEND)
    def loss_of(a, b):
        p = predictor(online(a))
        with torch.no_grad():
            t = target(b)
        return 2 - 2 * F.cosine_similarity(p, t).mean()

    @torch.compile(backend=BACKEND)
    def follow():
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), online.parameters()):
                slow.lerp_(fast, 0.1)


def run():
    for _ in range(3):
        a, b = torch.randn(6, 4), torch.randn(6, 4)
        loss = loss_of(a, b) + loss_of(b, a)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        follow()
