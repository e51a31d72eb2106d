"""`p.detach()` returns a tensor that nobody keeps: the teacher is not frozen."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    for p in teacher.parameters():
        p.detach()  # cause
    opt = torch.optim.SGD([*student.parameters(), *teacher.parameters()], lr=0.1)
    before = teacher.weight.detach().clone()
    for _ in range(2):
        x = torch.randn(8, 4)
        opt.zero_grad()
        F.mse_loss(student(x), teacher(x)).backward()
        opt.step()
    return torch.equal(before, teacher.weight)


def verify(out):
    assert not out


TRUTH = Truth(fault="the result of detach() is not used; the teacher learns", repair=("p.requires_grad_(False)",))
