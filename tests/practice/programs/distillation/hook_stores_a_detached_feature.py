"""The hook that collects the student's features detaches them: the hint loss moves only the regressor."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    teacher = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).requires_grad_(False)
    student = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    regressor = nn.Linear(6, 8)
    kept = {}
    teacher[1].register_forward_hook(lambda m, i, o: kept.update(teacher=o.detach()))
    student[1].register_forward_hook(lambda m, i, o: kept.update(student=o.detach()))  # cause
    opt = torch.optim.SGD([*student.parameters(), *regressor.parameters()], 0.1)
    before = student[0].weight.detach().clone()
    for _ in range(2):
        x = torch.randn(8, 4)
        teacher(x)
        student(x)
        hint = (regressor(kept["student"]) - kept["teacher"]).pow(2).mean()
        opt.zero_grad()
        hint.backward()
        opt.step()
    return torch.equal(before, student[0].weight)


def verify(out):
    assert out


TRUTH = Truth(
    fault="the student's feature is detached in the hook",
    repair=("student[1].register_forward_hook(lambda m, i, o: kept.update(student=o))",),
)
