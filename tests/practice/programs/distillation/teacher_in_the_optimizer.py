"""Distillation: the teacher's outputs are not detached, and one optimizer has teacher and student."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 4))

    def forward(self, x):
        return self.layers(x)


class Distiller(nn.Module):
    def __init__(self, teacher, student, T=3.0):
        super().__init__()
        self.teacher, self.student, self.T = teacher, student, T
        self.teacher.eval()

    def forward(self, x, y):
        s, t = self.student(x), self.teacher(x)  # cause
        soft = F.kl_div(F.log_softmax(s / self.T, -1), F.softmax(t / self.T, -1), reduction="batchmean")
        return 0.7 * self.T**2 * soft + 0.3 * F.cross_entropy(s, y)


def run():
    torch.manual_seed(0)
    teacher = Net(32)
    teacher.load_state_dict(Net(32).state_dict())
    before = teacher.layers[0].weight.detach().clone()
    model = Distiller(teacher, Net(8))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)  # also
    for _ in range(3):
        loss = model(torch.randn(8, 6), torch.randint(4, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return torch.equal(before, teacher.layers[0].weight)


TRUTH = Truth(
    fault="the teacher learns from the student",
    names=("teacher",),
    repair=("s, t = self.student(x), self.teacher(x).detach()",),
)


def verify(still):
    assert not still
