"""SimSiam: the prediction is detached and not the target."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def distance(p, z):
    return -F.cosine_similarity(p.detach(), z, dim=-1).mean()  # cause


def run():
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
    predictor = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 8))
    opt = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], 0.05, momentum=0.9)
    for _ in range(3):
        x = torch.randn(16, 8)
        z1, z2 = encoder(x + 0.1 * torch.randn_like(x)), encoder(x + 0.1 * torch.randn_like(x))
        p1, p2 = predictor(z1), predictor(z2)
        loss = 0.5 * distance(p1, z2) + 0.5 * distance(p2, z1)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return predictor


def verify(predictor):
    assert all(p.grad is None for p in predictor.parameters())


TRUTH = Truth(
    fault="the predictor gets no gradient",
    names=("predictor",),
    repair=("return -F.cosine_similarity(p, z.detach(), dim=-1).mean()",),
)
