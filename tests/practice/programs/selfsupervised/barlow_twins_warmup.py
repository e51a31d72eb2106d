"""Barlow Twins: the warm-up factor is an integer division, so the learning rate is zero all through the warm-up."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class BarlowTwins(nn.Module):
    def __init__(self, dim=16, lambd=0.0051):
        super().__init__()
        self.backbone = nn.Sequential(nn.Flatten(), nn.Linear(48, 24), nn.ReLU())
        self.projector = nn.Sequential(
            nn.Linear(24, dim, bias=False), nn.BatchNorm1d(dim), nn.ReLU(), nn.Linear(dim, dim)
        )
        self.bn = nn.BatchNorm1d(dim, affine=False)
        self.lambd = lambd

    def forward(self, y1, y2):
        z1, z2 = self.projector(self.backbone(y1)), self.projector(self.backbone(y2))
        c = self.bn(z1).T @ self.bn(z2) / len(z1)
        on_diag = torch.diagonal(c).add(-1).pow(2).sum()
        off_diag = (c - torch.diag(torch.diagonal(c))).pow(2).sum()
        return on_diag + self.lambd * off_diag


def cosine_with_warmup(warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) // warmup  # cause
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))

    return factor


def param_groups(model, weight_decay):
    weights = [p for p in model.parameters() if p.ndim > 1]
    biases = [p for p in model.parameters() if p.ndim == 1]
    return [{"params": weights, "weight_decay": weight_decay}, {"params": biases, "weight_decay": 0.0}]


def run():
    torch.manual_seed(0)
    model = BarlowTwins()
    start = model.backbone[1].weight.detach().clone()
    opt = torch.optim.SGD(param_groups(model, 1e-6), lr=0.2, momentum=0.9)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, cosine_with_warmup(warmup=10, total=100))
    for step in range(4):
        x = torch.randn(8, 3, 4, 4)
        loss = model(x + 0.1 * torch.randn_like(x), x.flip(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        print({"step": step, "loss": round(loss.item(), 4)})
    return model, start


def verify(out):
    model, start = out
    assert torch.equal(model.backbone[1].weight, start)


TRUTH = Truth(
    fault="the learning rate is zero: // where / is meant",
    repair=("return (step + 1) / warmup",),
)
