"""Metric learning: the proxies live in the criterion, and its parameters are in no optimizer."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

CLASSES, EMBED = 6, 8


class ProxyAnchorLoss(nn.Module):
    """One learned proxy per class; each pulls its own and pushes the others."""

    def __init__(self, classes, dim, margin=0.1, alpha=16.0):
        super().__init__()
        self.proxies = nn.Parameter(torch.empty(classes, dim))
        nn.init.kaiming_normal_(self.proxies, mode="fan_out")
        self.margin, self.alpha = margin, alpha

    def forward(self, embeddings, labels):
        sim = F.normalize(embeddings) @ F.normalize(self.proxies).t()
        positive = F.one_hot(labels, len(self.proxies)).bool()
        pull = torch.exp(-self.alpha * (sim - self.margin)).masked_fill(~positive, 0)
        push = torch.exp(self.alpha * (sim + self.margin)).masked_fill(positive, 0)
        present = positive.any(0)
        return torch.log1p(pull.sum(0))[present].mean() + torch.log1p(push.sum(0)).mean()


class HardPairs(nn.Module):
    def __init__(self, margin=0.2):
        super().__init__()
        self.margin = margin

    def forward(self, embeddings, labels):
        sim = F.normalize(embeddings) @ F.normalize(embeddings).t()
        other = labels[:, None] != labels[None]
        return F.relu(sim.masked_fill(~other, -1).amax(1) - self.margin).mean()


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.PReLU(), nn.Linear(32, EMBED))

    def forward(self, x):
        return self.layers(x)


class Trainer:
    def __init__(self, trunk, losses, weights):
        self.trunk, self.losses, self.weights = trunk, losses, weights
        self.optimizers = {
            "trunk": torch.optim.AdamW(trunk.parameters(), lr=1e-3, weight_decay=1e-4),  # cause
        }

    def step(self, x, labels):
        embeddings = self.trunk(x)
        total = sum(self.weights[k] * loss(embeddings, labels) for k, loss in self.losses.items())
        for opt in self.optimizers.values():
            opt.zero_grad()
        total.backward()
        for opt in self.optimizers.values():
            opt.step()
        return total.item()


def run():
    torch.manual_seed(0)
    losses = nn.ModuleDict({"proxy": ProxyAnchorLoss(CLASSES, EMBED), "pairs": HardPairs()})
    trainer = Trainer(Trunk(), losses, {"proxy": 1.0, "pairs": 0.5})
    before = losses["proxy"].proxies.detach().clone()
    sizes = []
    for _ in range(4):
        trainer.step(torch.randn(24, 10), torch.randint(0, CLASSES, (24,)))
        sizes.append(losses["proxy"].proxies.grad.norm().item())
    return before, losses["proxy"].proxies.detach(), sizes


def verify(outcome):
    before, after, sizes = outcome
    assert torch.equal(before, after)
    assert sizes[-1] > 0


TRUTH = Truth(
    fault="the proxies of ProxyAnchorLoss have a gradient but no optimizer",
    names=("proxies",),
    repair=(
        '"trunk": torch.optim.AdamW(trunk.parameters(), lr=1e-3, weight_decay=1e-4),\n"losses": torch.optim.AdamW(losses.parameters(), lr=1e-1, weight_decay=0.0),',
    ),
)
