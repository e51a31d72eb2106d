"""`torch.no_grad()` as a statement turns nothing off: the teacher's graph is recorded and its weights move."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(2):
        x = torch.randn(8, 4)
        torch.no_grad()  # cause
        target = teacher(x)
        opt.zero_grad()
        F.mse_loss(student(x), target).backward()
        opt.step()
    return teacher.weight.grad is not None


def verify(out):
    assert out


TRUTH = Truth(
    fault="no_grad() is called and not entered", repair=("teacher.requires_grad_(False)",), names=("no_grad",)
)
