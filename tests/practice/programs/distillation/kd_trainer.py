"""Distillation: the teacher was never put in eval mode, no_grad alone leaves its BatchNorm statistics moving."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def conv_bn(i, o, s=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


def make(width, p_drop=0.0):
    return nn.Sequential(
        conv_bn(3, width),
        conv_bn(width, width, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(p_drop),
        nn.Linear(width, 4),
    )


class KDTrainer:
    def __init__(self, teacher, student, T=2.0, lam=0.7):
        self.teacher, self.student, self.T, self.lam = teacher, student, T, lam
        for p in self.teacher.parameters():
            p.requires_grad_(False)
        self.opt = torch.optim.Adam(student.parameters(), lr=1e-3)

    def train_epoch(self, loader):
        self.student.train()  # also
        for x, y in loader:
            with torch.no_grad():
                t_logits = self.teacher(x)  # cause
            s_logits = self.student(x)
            kd = F.kl_div(
                F.log_softmax(s_logits / self.T, 1),
                F.log_softmax(t_logits / self.T, 1),
                reduction="batchmean",
                log_target=True,
            )
            loss = self.lam * self.T**2 * kd + (1 - self.lam) * F.cross_entropy(s_logits, y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

    @torch.no_grad()
    def evaluate(self, loader):
        self.student.eval()
        return sum((self.student(x).argmax(1) == y).sum().item() for x, y in loader)


def run():
    torch.manual_seed(0)
    teacher, student = make(8, 0.3), make(4)  # also
    stats = teacher[0][1].running_mean.clone()
    trainer = KDTrainer(teacher, student)
    loader = [(torch.randn(6, 3, 8, 8) + 1, torch.randint(0, 4, (6,))) for _ in range(2)]
    for epoch in range(2):
        trainer.train_epoch(loader)
        print(f"epoch {epoch} correct {trainer.evaluate(loader)}")
    return teacher, stats


def verify(out):
    teacher, stats = out
    assert not torch.equal(teacher[0][1].running_mean, stats)


TRUTH = Truth(
    fault="the teacher runs in train mode: dropout on, running statistics drift",
    names=("teacher",),
    repair=("t_logits = self.teacher.eval()(x)",),
)
