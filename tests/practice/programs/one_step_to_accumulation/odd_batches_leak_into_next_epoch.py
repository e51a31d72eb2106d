"""One step to accumulation: five batches, windows of two; the fifth batch's gradient waits and is added to the next epoch's first window."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class PoseNet(nn.Module):
    def __init__(self, joints=4):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(2, 6, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten())
        self.regress = nn.Linear(24, joints * 2)

    def forward(self, x):
        return self.regress(self.features(x))


class Loop:
    def __init__(self, model, accumulate=2):
        self.model = model
        self.accumulate = accumulate
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.left_at_start = []

    def epoch(self, batches):
        self.model.train()
        self.left_at_start.append(any(p.grad is not None and bool(p.grad.any()) for p in self.model.parameters()))
        for index, (x, y) in enumerate(batches):  # also
            loss = F.smooth_l1_loss(self.model(x), y) / self.accumulate
            loss.backward()
            if (index + 1) % self.accumulate == 0:  # cause
                self.optimizer.step()
                self.optimizer.zero_grad()


def run():
    torch.manual_seed(0)
    batches = [(torch.randn(4, 2, 12), torch.randn(4, 8)) for _ in range(5)]
    loop = Loop(PoseNet())
    for _ in range(3):
        loop.epoch(batches)
    return loop.left_at_start


def verify(left_at_start):
    assert left_at_start == [False, True, True]


TRUTH = Truth(
    fault="the last, incomplete window of an epoch is not stepped; its gradient leaks into the next epoch",
    repair=("if (index + 1) % self.accumulate == 0 or index + 1 == len(batches):",),
)
