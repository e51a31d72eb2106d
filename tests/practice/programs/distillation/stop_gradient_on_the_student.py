"""Distillation: the student's logits are detached and the teacher's are not; the teacher is not in the optimizer."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    teacher = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
    student = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
    opt = torch.optim.SGD(student.parameters(), 0.05)
    for _ in range(3):
        x, y = torch.randn(16, 8), torch.randint(4, (16,))
        s, t = student(x), teacher(x)
        soft = F.kl_div(F.log_softmax(s.detach() / 2, 1), F.softmax(t / 2, 1), reduction="batchmean")  # cause
        loss = F.cross_entropy(s, y) + 4 * soft
        opt.zero_grad()
        loss.backward()
        opt.step()
    return teacher


def verify(teacher):
    assert teacher[0].weight.grad is not None


TRUTH = Truth(
    fault="the soft loss teaches the teacher and not the student",
    names=("detach",),
    repair=("soft = F.kl_div(F.log_softmax(s / 2, 1), F.softmax(t.detach() / 2, 1), reduction='batchmean')",),
)
