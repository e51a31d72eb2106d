"""Semi-supervised segmentation with a mean teacher: noise, ramped consistency, an averaged teacher in training mode."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class VNetLite(nn.Module):
    def __init__(self, ch=6):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, ch, 3, padding=1), nn.GroupNorm(2, ch), nn.ReLU(),
            nn.Dropout2d(0.2), nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU(),
        )  # fmt: skip
        self.out = nn.Conv2d(ch, 2, 1)

    def forward(self, x):
        return self.out(self.body(x))


def dice_loss(logits, target, eps=1e-5):
    p = logits.softmax(1)[:, 1]
    return 1 - (2 * (p * target).sum() + eps) / (p.pow(2).sum() + target.sum() + eps)


class MeanTeacher:
    def __init__(self, ramp=6, ema=0.99):
        self.student = VNetLite()
        self.teacher = copy.deepcopy(self.student)
        for p in self.teacher.parameters():
            p.detach_()
        self.opt = torch.optim.SGD(self.student.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
        self.ramp, self.ema, self.iteration = ramp, ema, 0

    def consistency_weight(self):
        t = min(self.iteration / self.ramp, 1.0)
        return 0.1 * math.exp(-5 * (1 - t) ** 2)

    @torch.no_grad()
    def update_teacher(self):
        alpha = min(1 - 1 / (self.iteration + 1), self.ema)
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.mul_(alpha).add_(s, alpha=1 - alpha)

    def step(self, labelled, mask, unlabelled):
        logits = self.student(torch.cat([labelled, unlabelled]))
        noisy = unlabelled + torch.clamp(0.1 * torch.randn_like(unlabelled), -0.2, 0.2)
        with torch.no_grad():
            target = self.teacher(noisy).softmax(1)
        n = len(labelled)
        supervised = 0.5 * (F.cross_entropy(logits[:n], mask) + dice_loss(logits[:n], mask))
        consistency = F.mse_loss(logits[n:].softmax(1), target)
        loss = supervised + self.consistency_weight() * consistency
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.update_teacher()
        self.iteration += 1
        return supervised.item(), consistency.item()


def run():
    torch.manual_seed(0)
    method = MeanTeacher()
    start = copy.deepcopy(method.teacher.state_dict())
    for it in range(6):
        x = torch.rand(4, 1, 10, 10)
        sup, cons = method.step(x[:2], (x[:2, 0] > 0.5).long(), x[2:])
        print(f"iteration {it} supervised {sup:.4f} consistency {cons:.5f}")
    return method, start


TRUTH = Truth()


def verify(out):
    method, start = out
    assert all(p.grad is None and not torch.equal(p, start[n]) for n, p in method.teacher.named_parameters())
