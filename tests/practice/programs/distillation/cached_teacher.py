"""Feature distillation onto a student adapter, with teacher features cached up front."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class FeatureCache:
    def __init__(self, teacher):
        self.teacher = teacher.eval()
        self.store = {}

    @torch.inference_mode()  # cause
    def fill(self, loader):
        for key, x in loader:
            self.store[key] = self.teacher(x)
        return self

    def __getitem__(self, key):
        return self.store[key]


class Student(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, width))
        self.adapter = nn.Linear(width, width)

    def forward(self, x):
        return self.net(x)


def align(student, feats, teacher_feats):
    mapped = student.adapter(teacher_feats)  # symptom
    return 1 - F.cosine_similarity(feats, mapped, dim=-1).mean()


def run():
    torch.manual_seed(0)
    teacher = nn.Sequential(nn.Linear(6, 20), nn.Tanh(), nn.Linear(20, 8))
    loader = [(i, torch.randn(5, 6)) for i in range(3)]
    cache = FeatureCache(teacher).fill(loader)
    student = Student(8)
    opt = torch.optim.Adam(student.parameters(), lr=1e-2)
    losses = []
    for epoch in range(2):
        for key, x in loader:
            loss = align(student, student(x), cache[key])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses


TRUTH = Truth(
    fault="features made in inference mode are used where autograd must save them",
    raises="Inference tensors cannot be saved for backward",
    names=("inference_mode",),
    repair=("@torch.no_grad()",),
)


def well(out):
    assert len(out) == 6 and out[-1] < out[0]
