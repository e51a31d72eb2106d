"""optax to PyTorch, healthy: incremental_update in place under no_grad, a frozen target, an optimizer whose gradients are cleared early."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


@torch.no_grad()
def incremental_update(new, old, step_size):
    for fresh, slow in zip(new.parameters(), old.parameters(), strict=True):
        slow.lerp_(fresh, step_size)
    for fresh, slow in zip(new.buffers(), old.buffers(), strict=True):
        slow.copy_(fresh)


class Projector(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, dim))

    def forward(self, x):
        return F.normalize(self.encoder(x), dim=-1)


def augment(x):
    return x + 0.1 * torch.randn_like(x)


def regression(prediction, target):
    return 2 - 2 * (F.normalize(prediction, dim=-1) * target.detach()).sum(dim=-1).mean()


def run():
    torch.manual_seed(0)
    online, predictor = Projector(), nn.Linear(8, 8)
    target = copy.deepcopy(online).requires_grad_(False)
    learned = [*online.parameters(), *predictor.parameters()]
    optimizer = torch.optim.AdamW(learned, lr=1e-2)
    first = target.encoder[0].weight.clone()
    start = [p.detach().clone() for p in learned]
    for _ in range(3):
        x = torch.randn(12, 8)
        view_a, view_b = augment(x), augment(x)
        optimizer.zero_grad()
        with torch.no_grad():
            target_a, target_b = target(view_a), target(view_b)
        loss = regression(predictor(online(view_a)), target_b) + regression(predictor(online(view_b)), target_a)
        loss.backward()
        optimizer.step()
        incremental_update(online, target, 0.05)
    return first, target, online, start, learned


def verify(outcome):
    first, target, online, start, learned = outcome
    slow, fast = target.encoder[0].weight, online.encoder[0].weight
    assert not torch.equal(first, slow) and not torch.equal(slow, fast)
    assert all(p.grad is None for p in target.parameters())
    assert all(not torch.equal(s, p) for s, p in zip(start, learned, strict=True))


TRUTH = Truth()
