"""MoCo in compiled code: keys without grad by an encoder that follows, and a queue in a buffer."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class MoCo(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
        self.key = copy.deepcopy(self.query).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(12, 4), dim=1))
        self.place = 0

    @torch.no_grad()
    def follow(self):
        for mine, other in zip(self.key.parameters(), self.query.parameters(), strict=True):
            mine.lerp_(other, 0.01)

    @torch.no_grad()
    def enqueue(self, keys):
        self.queue[self.place : self.place + len(keys)] = keys
        self.place = (self.place + len(keys)) % len(self.queue)

    def forward(self, one, two):
        q = F.normalize(self.query(one), dim=1)
        with torch.no_grad():
            k = F.normalize(self.key(two), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone().T], 1) / 0.2
        return logits, k


def setup():
    global moco, optimizer
    torch.manual_seed(0)
    moco = MoCo()
    moco.compile(backend=BACKEND)
    optimizer = torch.optim.SGD(moco.query.parameters(), lr=0.03, momentum=0.9)


def run():
    for _ in range(3):
        x = torch.randn(3, 6)
        moco.follow()
        logits, keys = moco(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
        loss = F.cross_entropy(logits, torch.zeros(3, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        moco.enqueue(keys)
