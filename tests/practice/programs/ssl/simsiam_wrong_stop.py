"""Self-supervised: the stop-gradient stands on the prediction and not on the projection, so the predictor never learns."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def D(p, z, version="simplified"):
    """Negative cosine similarity with a stop-gradient."""
    if version == "original":
        z = z.detach()
        p = F.normalize(p, dim=1)
        z = F.normalize(z, dim=1)
        return -(p * z).sum(dim=1).mean()
    return -F.cosine_similarity(p.detach(), z, dim=-1).mean()  # cause


class ProjectionMLP(nn.Module):
    def __init__(self, in_dim, hidden_dim=24, out_dim=16):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Linear(in_dim, hidden_dim), nn.BatchNorm1d(hidden_dim), nn.ReLU(inplace=True))
        self.layer2 = nn.Sequential(nn.Linear(hidden_dim, out_dim), nn.BatchNorm1d(out_dim))

    def forward(self, x):
        return self.layer2(self.layer1(x))


class PredictionMLP(nn.Module):
    def __init__(self, in_dim=16, hidden_dim=8, out_dim=16):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Linear(in_dim, hidden_dim), nn.BatchNorm1d(hidden_dim), nn.ReLU(inplace=True))
        self.layer2 = nn.Linear(hidden_dim, out_dim)

    def forward(self, x):
        return self.layer2(self.layer1(x))


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 12, 3, 2, 1, bias=False)
        self.bn = nn.BatchNorm2d(12)
        self.output_dim = 12

    def forward(self, x):
        return F.relu(self.bn(self.conv(x))).mean((2, 3))


class SimSiam(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.projector = ProjectionMLP(backbone.output_dim)
        self.encoder = nn.Sequential(backbone, self.projector)
        self.predictor = PredictionMLP()

    def forward(self, x1, x2):
        f, h = self.encoder, self.predictor
        z1, z2 = f(x1), f(x2)
        p1, p2 = h(z1), h(z2)
        return D(p1, z2) / 2 + D(p2, z1) / 2


class LR_Scheduler:
    def __init__(self, optimizer, base_lr, iters):
        self.optimizer, self.base_lr, self.iters, self.iter = optimizer, base_lr, iters, 0

    def step(self):
        for group in self.optimizer.param_groups:
            decayed = 0.5 * self.base_lr * (1 + math.cos(math.pi * self.iter / self.iters))
            group["lr"] = self.base_lr if group["name"] == "predictor" else decayed
        self.iter += 1


def augment(x):
    if torch.rand(()) > 0.5:
        x = x.flip(-1)
    return x + 0.1 * torch.randn_like(x)


def run():
    torch.manual_seed(0)
    model = SimSiam(Backbone())
    predictor = [p for n, p in model.named_parameters() if n.startswith("predictor")]
    base = [p for n, p in model.named_parameters() if not n.startswith("predictor")]
    optimizer = torch.optim.SGD(
        [{"name": "base", "params": base}, {"name": "predictor", "params": predictor}], lr=0.05, momentum=0.9
    )
    scheduler = LR_Scheduler(optimizer, 0.05, 6)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    model.train()
    for _ in range(3):
        images = torch.rand(8, 3, 8, 8)
        model.zero_grad()
        loss = model(augment(images), augment(images))
        loss.backward()
        optimizer.step()
        scheduler.step()
    return {n: torch.equal(p, before[n]) for n, p in model.named_parameters()}


def verify(still):
    assert all(v for n, v in still.items() if n.startswith("predictor")) and not still["projector.layer1.0.weight"]


TRUTH = Truth(
    fault="the predictor gets no gradient: its output is detached in place of the target",
    names=("predictor",),
    repair=("return -F.cosine_similarity(p, z.detach(), dim=-1).mean()",),
)
