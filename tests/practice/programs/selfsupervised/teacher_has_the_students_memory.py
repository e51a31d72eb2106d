"""The teacher is set up by .data = .data: both have one memory, and the average writes into the student."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    student = nn.Linear(4, 4)
    teacher = copy.deepcopy(student).requires_grad_(False)
    for t, s in zip(teacher.parameters(), student.parameters(), strict=True):
        t.data = s.data  # cause
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(2):
        x = torch.randn(8, 4)
        with torch.no_grad():
            target = teacher(x + 0.1 * torch.randn(8, 4))
        loss = F.mse_loss(student(x), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for t, s in zip(teacher.parameters(), student.parameters(), strict=True):
                t.mul_(0.99).add_(s, alpha=0.01)
    return (teacher.weight - student.weight).abs().max().item()


def verify(out):
    assert out == 0.0


TRUTH = Truth(fault="teacher and student share their memory", repair=("t.data.copy_(s.data)",))
