"""Distillation as one compiled loss: the optimizer has the whole pair, and the teacher learns to please the student."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


def convnet(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 5)
    )


class Pair(nn.Module):
    def __init__(self, temperature=3.0):
        super().__init__()
        self.teacher, self.student = convnet(16), convnet(4)
        self.temperature = temperature

    def forward(self, images, labels):
        t = self.temperature
        wanted = self.teacher(images) / t  # cause
        got = self.student(images)
        soft = F.kl_div(F.log_softmax(got / t, dim=-1), F.log_softmax(wanted, dim=-1), log_target=True)
        return F.cross_entropy(got, labels) + t * t * soft


def run():
    torch.manual_seed(0)
    pair = Pair()
    pair.teacher.eval()
    pair.compile(backend=BACKEND)
    before = [p.detach().clone() for p in pair.teacher.parameters()]
    optimizer = torch.optim.Adam(pair.parameters(), lr=1e-2)  # also
    for _ in range(4):
        loss = pair(torch.randn(8, 3, 6, 6), torch.randint(5, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [(b - p.detach()).abs().max().item() for b, p in zip(before, pair.teacher.parameters())]


def verify(outcome):
    # a teacher stays where it is
    assert all(moved > 1e-3 for moved in outcome)


TRUTH = Truth(
    fault="the teacher's logits keep their graph, so the distillation loss trains the teacher",
    names=("teacher",),
    repair=("wanted = self.teacher(images).detach() / t",),
)
