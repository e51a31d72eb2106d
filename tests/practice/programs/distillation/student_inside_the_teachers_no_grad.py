"""The student's answers for distillation are computed inside the teacher's no_grad."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run(t=2.0):
    torch.manual_seed(0)
    teacher = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3)).eval()
    student = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.AdamW(student.parameters(), 1e-3)
    for _ in range(3):
        x, y = torch.randn(16, 6), torch.randint(3, (16,))
        hard = F.cross_entropy(student(x), y)
        with torch.no_grad():  # cause
            soft_targets = F.softmax(teacher(x) / t, -1)
            soft_answers = F.log_softmax(student(x) / t, -1)  # also
        kd = F.kl_div(soft_answers, soft_targets, reduction="batchmean") * t * t
        loss = 0.3 * hard + 0.7 * kd
        opt.zero_grad()
        loss.backward()
        opt.step()
    return kd


def verify(kd):
    assert not kd.requires_grad


TRUTH = Truth(fault="the distillation term has no gradient", names=("no_grad",), repair=("if True:",))
