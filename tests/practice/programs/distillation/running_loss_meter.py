"""Distillation: the meters of the log add up loss tensors with their graphs; every step of the epoch is kept alive."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0, 0

    def update(self, value, n=1):
        self.sum = self.sum + value * n  # also
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


class SelfAttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, x):
        return (self.score(x).softmax(1) * x).sum(1)


def model(dim):
    return nn.Sequential(nn.Linear(8, dim), nn.Tanh(), SelfAttentionPool(dim), nn.Linear(dim, 3))


def run():
    torch.manual_seed(0)
    teacher, student = model(32).eval().requires_grad_(False), model(8)
    opt = torch.optim.Adam(student.parameters(), lr=1e-3)
    meters = {"ce": AverageMeter(), "kd": AverageMeter(), "grad": AverageMeter()}
    for _ in range(4):
        x, y = torch.randn(4, 5, 8), torch.randint(0, 3, (4,))
        logits = student(x)
        ce = F.cross_entropy(logits, y)
        kd = F.kl_div(logits.log_softmax(1), teacher(x).softmax(1), reduction="batchmean")
        opt.zero_grad()
        (0.3 * ce + 0.7 * kd).backward()
        norm = nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        opt.step()
        meters["ce"].update(ce.item(), len(x))
        meters["kd"].update(kd, len(x))  # cause
        meters["grad"].update(norm.item())
    print({k: round(float(m.avg), 4) for k, m in meters.items()})
    return meters


def verify(meters):
    assert isinstance(meters["kd"].sum, torch.Tensor) and meters["kd"].sum.grad_fn is not None


TRUTH = Truth(
    fault="a tensor with its graph is summed up for the log",
    names=("kd",),
    repair=('meters["kd"].update(kd.item(), len(x))',),
)
