"""Distillation: the teacher is a child of the distiller, whose train() puts it back into training mode."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def conv(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class ResNetish(nn.Module):
    def __init__(self, width, classes=5, dropout=0.0):
        super().__init__()
        self.body = nn.Sequential(conv(3, width), conv(width, width, 2))
        self.drop = nn.Dropout(dropout)
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        feat = self.body(x)
        return self.fc(self.drop(feat.mean((2, 3)))), feat


class Distiller(nn.Module):
    def __init__(self, teacher, student, temperature=4.0, alpha=0.7, feat_weight=0.1):
        super().__init__()
        self.teacher, self.student = teacher, student
        self.regressor = nn.Conv2d(6, 12, 1)
        self.temperature, self.alpha, self.feat_weight = temperature, alpha, feat_weight
        self.teacher.eval()
        for p in self.teacher.parameters():
            p.requires_grad = False

    def forward(self, x, y):
        with torch.no_grad():
            t_logits, t_feat = self.teacher(x)
        s_logits, s_feat = self.student(x)
        T = self.temperature
        kd = F.kl_div(F.log_softmax(s_logits / T, 1), F.softmax(t_logits / T, 1), reduction="batchmean") * T * T
        hint = F.mse_loss(self.regressor(s_feat), t_feat)
        return self.alpha * kd + (1 - self.alpha) * F.cross_entropy(s_logits, y) + self.feat_weight * hint


def pretrained_teacher():
    teacher = ResNetish(12, dropout=0.3)
    teacher.train()
    with torch.no_grad():
        for _ in range(5):
            teacher(torch.randn(16, 3, 8, 8))
    return teacher


def train_epoch(distiller, optimizer, loader):
    distiller.train()  # cause
    for x, y in loader:
        loss = distiller(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def validate(distiller, loader):
    distiller.eval()
    return sum((distiller.student(x)[0].argmax(1) == y).float().mean().item() for x, y in loader) / len(loader)


def run():
    torch.manual_seed(0)
    distiller = Distiller(pretrained_teacher(), ResNetish(6))
    optimizer = torch.optim.SGD([p for p in distiller.parameters() if p.requires_grad], lr=0.05, momentum=0.9)
    loader = [(torch.randn(8, 3, 8, 8) * 2 + 1, torch.randint(0, 5, (8,))) for _ in range(2)]
    before = {k: v.clone() for k, v in distiller.teacher.state_dict().items()}
    for _ in range(2):
        train_epoch(distiller, optimizer, loader)
        validate(distiller, loader)
    return before, distiller.teacher.state_dict()


def verify(outcome):
    before, after = outcome
    assert not torch.equal(before["body.0.1.running_mean"], after["body.0.1.running_mean"])
    assert torch.equal(before["body.0.0.weight"], after["body.0.0.weight"])


TRUTH = Truth(
    fault="distiller.train() reaches the frozen teacher: its dropout is on and its batch statistics drift",
    names=("teacher", "running_mean", "train"),
    repair=("distiller.train()\ndistiller.teacher.eval()",),
)
