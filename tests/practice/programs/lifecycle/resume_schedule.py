"""Resume in the middle of a schedule: the new scheduler starts over, its constructor undoes the restored learning rate."""

import io

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from tests.practice.truth import Truth

WARMUP, TOTAL = 3, 12


def warmup_linear(step):
    if step < WARMUP:
        return step / WARMUP
    return (TOTAL - step) / (TOTAL - WARMUP)


class Trainer:
    def __init__(self, checkpoint=None):
        self.model = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 2))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        self.step_count = 0
        state = None
        if checkpoint is not None:
            state = torch.load(checkpoint)
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step_count = state["step"]
        self.scheduler = LambdaLR(self.optimizer, warmup_linear)  # cause

    def save(self):
        buffer = io.BytesIO()
        torch.save(
            {
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "step": self.step_count,
            },
            buffer,
        )
        buffer.seek(0)
        return buffer

    def train(self, steps):
        rates = []
        for _ in range(steps):
            x = torch.randn(16, 6)
            self.optimizer.zero_grad()
            F.cross_entropy(self.model(x), (x[:, 0] > x[:, 1]).long()).backward()
            rates.append(self.optimizer.param_groups[0]["lr"])
            self.optimizer.step()
            self.scheduler.step()
            self.step_count += 1
        return rates


def run():
    torch.manual_seed(0)
    first = Trainer()
    before = first.train(5)
    second = Trainer(first.save())
    after = second.train(3)
    return before, after


def verify(outcome):
    before, after = outcome
    assert before[-1] > 5e-3 and after[0] == 0.0


TRUTH = Truth(
    fault="the saved scheduler state is never loaded, after the resume the warm-up starts again at a rate of zero",
    names=("scheduler",),
    repair=(
        "self.scheduler = LambdaLR(self.optimizer, warmup_linear)\nif state is not None:\n    self.scheduler.load_state_dict(state['scheduler'])\n    self.optimizer.param_groups[0]['lr'] = self.scheduler.get_last_lr()[0]",
    ),
)
