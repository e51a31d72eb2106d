"""Self-supervision: the predictor moved up in the online network, and zip() pairs it with the target's layers."""

import copy
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class BYOLConfig:
    dim: int = 12
    momentum: float = 0.5
    lr: float = 1e-2
    steps: int = 3
    batch: int = 16


class MLP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1, self.norm, self.fc2 = nn.Linear(dim, dim), nn.LayerNorm(dim), nn.Linear(dim, dim)

    def forward(self, x):
        return self.fc2(F.relu(self.norm(self.fc1(x))))


class TargetNetwork(nn.Module):
    def __init__(self, encoder, projector):
        super().__init__()
        self.encoder, self.projector = encoder, projector

    def forward(self, x):
        return self.projector(self.encoder(x))


class OnlineNetwork(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.predictor = MLP(dim)  # also
        self.encoder = MLP(dim)
        self.projector = MLP(dim)

    def forward(self, x):
        z = self.projector(self.encoder(x))
        return self.predictor(z)


def regression_loss(p, z):
    return 2 - 2 * F.cosine_similarity(p, z, dim=-1).mean()


class Augment(nn.Module):
    def forward(self, x):
        keep = (torch.rand_like(x) > 0.2).float()
        return x * keep + 0.1 * torch.randn_like(x)


class BYOL:
    def __init__(self, cfg):
        self.cfg = cfg
        self.online = OnlineNetwork(cfg.dim)
        self.target = TargetNetwork(copy.deepcopy(self.online.encoder), copy.deepcopy(self.online.projector))
        self.target.requires_grad_(False)
        self.augment = Augment()
        self.optimizer = torch.optim.AdamW(self.online.parameters(), lr=cfg.lr)

    @torch.no_grad()
    def update_target(self):
        for po, pt in zip(self.online.parameters(), self.target.parameters()):  # cause
            pt.mul_(self.cfg.momentum).add_(po, alpha=1 - self.cfg.momentum)

    def loss(self, x):
        a, b = self.augment(x), self.augment(x)
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        return regression_loss(self.online(a), tb) + regression_loss(self.online(b), ta)

    def train(self, data):
        for _ in range(self.cfg.steps):
            loss = self.loss(data[torch.randint(len(data), (self.cfg.batch,))])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.update_target()


class LinearProbe:
    def __init__(self, encoder, classes):
        self.encoder, self.head = encoder, nn.Linear(12, classes)

    def fit(self, x, y, steps=2):
        with torch.no_grad():
            h = self.encoder(x)
        opt = torch.optim.SGD(self.head.parameters(), lr=0.1)
        for _ in range(steps):
            opt.zero_grad()
            F.cross_entropy(self.head(h), y).backward()
            opt.step()


def run():
    torch.manual_seed(0)
    cfg = BYOLConfig()
    byol = BYOL(cfg)
    data = torch.randn(64, cfg.dim)
    start = byol.target.encoder.fc1.weight.detach().clone()
    byol.train(data)
    LinearProbe(byol.online.encoder, 3).fit(data, torch.randint(3, (64,)))
    online, target = byol.online, byol.target
    drift = (target.encoder.fc1.weight - online.encoder.fc1.weight).norm()
    odd = (target.encoder.fc1.weight - online.predictor.fc1.weight).norm()
    return start, target.encoder.fc1.weight, drift.item(), odd.item()


def verify(outcome):
    start, now, to_encoder, to_predictor = outcome
    assert not torch.equal(start, now) and to_predictor < 0.5 * to_encoder


TRUTH = Truth(
    fault="parameters() now starts with the predictor: the target encoder averages the predictor's weights",
    names=("predictor", "target"),
    repair=(
        "online = [*self.online.encoder.parameters(), *self.online.projector.parameters()]\nfor po, pt in zip(online, self.target.parameters()):",
    ),
)
