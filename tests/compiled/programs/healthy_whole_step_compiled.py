"""A whole step with accumulation is one compiled function, breaks included: clear, differentiate, clip, step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global net, optimizer, train_step
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 9), nn.ReLU(), nn.Linear(9, 3))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)

    @torch.compile(backend=BACKEND)
    def train_step(batches):
        optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for x, y in batches:
            loss = F.cross_entropy(net(x), y) / len(batches)
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return total


def run():
    for _ in range(3):
        train_step([(torch.randn(6, 5), torch.randint(3, (6,))) for _ in range(2)])
