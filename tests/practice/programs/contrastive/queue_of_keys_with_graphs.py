"""MoCo's queue keeps the keys with their graph, from step to step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    query, key = nn.Linear(6, 4), nn.Linear(6, 4)
    opt = torch.optim.SGD(query.parameters(), 0.1)
    queue = torch.randn(16, 4)
    for _ in range(4):
        x = torch.randn(4, 6)
        q, k = query(x), key(x + 0.1)
        logits = torch.cat([(q * k.detach()).sum(1, keepdim=True), q @ queue.detach().T], 1)
        loss = F.cross_entropy(logits, torch.zeros(4, dtype=torch.long))
        opt.zero_grad()
        loss.backward()
        opt.step()
        queue = torch.cat([queue[4:], k])  # cause
    return queue.requires_grad


def verify(out):
    assert out


TRUTH = Truth(
    fault="the queue keeps the graphs of earlier steps",
    names=("queue",),
    repair=("queue = torch.cat([queue[4:], k.detach()])",),
)
