"""Distillation with a schedule-free optimizer: after the evaluation the optimizer stays in eval mode."""

import schedulefree
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MLP(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, hidden), nn.GELU(), nn.LayerNorm(hidden), nn.Linear(hidden, 3))

    def forward(self, x):
        return self.net(x)


def train_one_epoch(student, teacher, opt, batches):
    student.train()  # cause
    total = 0.0
    for x in batches:
        with torch.no_grad():
            t = teacher(x)
        loss = F.mse_loss(student(x), t)
        opt.zero_grad()
        loss.backward()
        opt.step()  # symptom
        total += loss.item()
    return total / len(batches)


@torch.no_grad()
def evaluate(student, teacher, opt, batches):
    student.eval()
    opt.eval()
    return sum(F.mse_loss(student(x), teacher(x)).item() for x in batches) / len(batches)


def run():
    torch.manual_seed(0)
    teacher, student = MLP(32).eval().requires_grad_(False), MLP(8)
    opt = schedulefree.AdamWScheduleFree(student.parameters(), lr=0.0025, warmup_steps=2)
    opt.train()
    train = [torch.randn(8, 8) for _ in range(3)]
    val = [torch.randn(8, 8) for _ in range(2)]
    for epoch in range(2):
        loss = train_one_epoch(student, teacher, opt, train)
        print(f"epoch {epoch} train {loss:.4f} val {evaluate(student, teacher, opt, val):.4f}")


TRUTH = Truth(
    fault="opt.train() is not called again after opt.eval()",
    raises="Optimizer was not in train mode when step is called",
    repair=("student.train()\nopt.train()",),
)
