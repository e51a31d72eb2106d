"""The features for the student are computed in the teacher's no_grad block."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.student = nn.Linear(16, 3)
        self.teacher = nn.Linear(16, 3).requires_grad_(False)

    def forward(self, x):
        with torch.no_grad():  # also
            feats = self.backbone(x)  # cause
            soft = self.teacher(feats).softmax(-1)
        return self.student(feats), soft


def run():
    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-3)
    for _ in range(3):
        out, soft = model(torch.randn(8, 6))
        loss = F.kl_div(out.log_softmax(-1), soft, reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


def verify(out):
    assert out.backbone[0].weight.grad is None


TRUTH = Truth(
    fault="the backbone runs under no_grad",
    names=("backbone",),
    repair=("with torch.enable_grad():\n    feats = self.backbone(x)",),
)
