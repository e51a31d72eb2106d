"""SimSiam: no negatives, one encoder, a predictor and a fixed target branch."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class SimSiam(nn.Module):
    def __init__(self, d=10, width=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(d, width, bias=False),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Linear(width, width, bias=False),
            nn.BatchNorm1d(width, affine=False),
        )
        self.predictor = nn.Sequential(
            nn.Linear(width, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, width)
        )

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        pa, pb = self.predictor(za), self.predictor(zb)
        return pa, pb, za.detach(), zb.detach()


def loss_fn(pa, pb, za, zb):
    sim = lambda p, z: F.cosine_similarity(p, z, dim=-1).mean()
    return -0.5 * (sim(pa, zb) + sim(pb, za))


def train(model, steps, base_lr=0.05):
    opt = torch.optim.SGD(
        [
            {"params": model.encoder.parameters(), "fix_lr": False},
            {"params": model.predictor.parameters(), "fix_lr": True},
        ],
        lr=base_lr,
        momentum=0.9,
        weight_decay=1e-4,
    )
    spread = []
    for step in range(steps):
        for g in opt.param_groups:
            g["lr"] = base_lr if g["fix_lr"] else base_lr * (1 - step / steps)
        x = torch.randn(32, 10)
        views = [x + 0.2 * torch.randn_like(x) for _ in range(2)]
        out = model(*views)
        loss = loss_fn(*out)
        opt.zero_grad()
        loss.backward()
        opt.step()
        spread.append(F.normalize(out[2], dim=-1).std(0).mean().item())
    return loss.item(), spread


def run():
    torch.manual_seed(0)
    return train(SimSiam(), steps=8)


TRUTH = Truth()


def verify(out):
    loss, spread = out
    assert loss < 0 and spread[-1] > 0.05
