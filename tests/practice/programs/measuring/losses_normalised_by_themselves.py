"""Multi-task balance: each loss is divided by its own size, without detach, so the quotient is constant."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class PerceptionNet(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(dim, 16), nn.ReLU())
        self.depth = nn.Linear(16, 1)
        self.normals = nn.Linear(16, 3)
        self.classes = nn.Linear(16, 4)

    def forward(self, x):
        h = self.shared(x)
        return {"depth": self.depth(h).squeeze(-1), "normals": self.normals(h), "classes": self.classes(h)}


class MagnitudeBalance(nn.Module):
    """Brings losses of very different size to one scale; classification is left as it is."""

    def __init__(self, skip=("classes",), eps=1e-12):
        super().__init__()
        self.skip, self.eps = skip, eps

    def size(self, loss):
        return loss.abs() + self.eps  # cause

    def forward(self, losses):
        total = 0.0
        for name, loss in losses.items():
            total = total + (loss if name in self.skip else loss / self.size(loss))
        return total


def compute(out, x):
    return {
        "depth": 100 * F.mse_loss(out["depth"], x.norm(dim=1)),
        "normals": 1 - F.cosine_similarity(out["normals"], x[:, :3]).mean(),
        "classes": F.cross_entropy(out["classes"], x[:, 4:].argmax(1)),
    }


def run():
    torch.manual_seed(0)
    model, balance = PerceptionNet(), MagnitudeBalance()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        x = torch.randn(16, 8)
        losses = compute(model(x), x)
        optimizer.zero_grad()
        balance(losses).backward()
        optimizer.step()
    return {n: (p - start[n]).abs().max().item() for n, p in model.named_parameters()}


def verify(outcome):
    assert outcome["depth.weight"] < 1e-5 and outcome["normals.weight"] < 1e-5
    assert outcome["classes.weight"] > 1e-3


TRUTH = Truth(
    fault="loss / |loss| is one whatever the parameters are: depth and normals get no gradient",
    names=("depth", "normals"),
    repair=("return loss.detach().abs() + self.eps",),
)
