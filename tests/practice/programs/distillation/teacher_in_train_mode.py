"""The teacher runs without grad, and in train mode: its batch norm follows the student's batches."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    teacher = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
    student = nn.Linear(4, 3)
    opt = torch.optim.Adam(student.parameters(), lr=1e-2)
    before = teacher[1].running_mean.clone()
    for _ in range(3):
        x = torch.randn(16, 4)
        with torch.no_grad():
            soft = teacher(x).softmax(-1)  # cause
        loss = F.kl_div(student(x).log_softmax(-1), soft, reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()
    return (teacher[1].running_mean - before).abs().max().item()


def verify(out):
    assert out > 0.0


TRUTH = Truth(
    fault="the teacher's statistics move", minor=True, repair=("teacher.eval()\nsoft = teacher(x).softmax(-1)",)
)
