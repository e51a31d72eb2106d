"""Recommendation: a wide and deep model whose step is compiled ahead of the first batch."""

import copy  # noqa: F401 - for the repair

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the warm-up takes real steps on zeros: they move the weights, Adam's moments and the statistics",
    names=("warm_up", "step", "running_mean", "exp_avg"),
    repair=(
        (
            "saved = copy.deepcopy((model.state_dict(), optimizer.state_dict())); warm_up(step)\n"
            "model.load_state_dict(saved[0]); optimizer.load_state_dict(saved[1])"
        ),
    ),
)


class WideDeep(nn.Module):
    def __init__(self, fields=4, buckets=20, width=6):
        super().__init__()
        self.wide = nn.Embedding(fields * buckets, 1)
        self.deep = nn.Embedding(fields * buckets, width)
        self.norm = nn.BatchNorm1d(2)
        self.tower = nn.Sequential(nn.Linear(fields * width + 2, 16), nn.ReLU(), nn.Linear(16, 1))
        self.register_buffer("offset", torch.arange(fields) * buckets)

    def forward(self, ids, dense):
        ids = ids + self.offset
        deep = torch.cat([self.deep(ids).flatten(1), self.norm(dense)], 1)
        return (self.wide(ids).sum(1) + self.tower(deep)).squeeze(1)


def batches(n, size=16):
    for _ in range(n):
        ids = torch.randint(20, (size, 4))
        dense = 3 + torch.randn(size, 2)
        yield ids, dense, ((ids[:, 0] > 9) ^ (dense[:, 0] > 3)).float()


def warm_up(step, size=16, times=3):
    for _ in range(times):
        step(torch.zeros(size, 4, dtype=torch.long), torch.zeros(size, 2), torch.zeros(size))  # also


def setup():
    torch.manual_seed(0)


def run():
    model = WideDeep()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def step(ids, dense, clicked):
        loss = F.binary_cross_entropy_with_logits(forward(ids, dense), clicked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    start = [p.detach().clone() for p in model.parameters()]
    warm_up(step)  # cause
    moved = max((p.detach() - s).abs().max().item() for p, s in zip(model.parameters(), start))
    losses = [step(*batch).item() for batch in batches(4)]  # symptom
    return moved, model.norm.num_batches_tracked.item(), losses


def verify(outcome):
    moved, batches, _ = outcome
    assert moved > 1e-3 and batches == 7
