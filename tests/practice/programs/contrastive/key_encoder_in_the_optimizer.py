"""MoCo: the momentum encoder is neither frozen nor under no_grad, and sits in the optimizer: gradients move it, too."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MoCo(nn.Module):
    def __init__(self, dim=8, size=32):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, dim))
        self.key = copy.deepcopy(self.query)
        self.register_buffer("queue", F.normalize(torch.randn(size, dim), dim=1))

    @torch.no_grad()
    def update(self, k, m=0.99):
        for p, q in zip(self.key.parameters(), self.query.parameters()):
            p.mul_(m).add_(q, alpha=1 - m)
        self.queue = torch.cat([k.detach(), self.queue])[: len(self.queue)]

    def forward(self, a, b):
        q = F.normalize(self.query(a), dim=1)
        k = F.normalize(self.key(b), dim=1)  # cause
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.t()], 1) / 0.2
        return F.cross_entropy(logits, torch.zeros(len(a), dtype=torch.long)), k


def run():
    torch.manual_seed(0)
    model = MoCo()
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)  # also
    for _ in range(3):
        x = torch.randn(12, 10)
        loss, k = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.update(k)
    return model


def verify(model):
    assert model.key[0].weight.grad is not None


TRUTH = Truth(
    fault="the momentum encoder learns by gradient, too",
    names=("key",),
    repair=("with torch.no_grad():\n    k = F.normalize(self.key(b), dim=1)",),
)
