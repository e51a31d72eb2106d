"""Uncertainty weighting (Kendall et al.): the log variances live in the criterion, the optimizer has the model only."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class UncertaintyLoss(nn.Module):
    """Each task's loss is weighted by a learned precision."""

    def __init__(self, tasks):
        super().__init__()
        self.log_vars = nn.ParameterDict({t: nn.Parameter(torch.zeros(())) for t in tasks})
        self.losses = {
            "depth": lambda p, y: F.l1_loss(p.squeeze(1), y),
            "normal": lambda p, y: (1 - F.cosine_similarity(p, y, dim=1)).mean(),
            "segment": F.cross_entropy,
        }

    def forward(self, predictions, targets):
        total, parts = torch.zeros(()), {}
        for task, log_var in self.log_vars.items():
            parts[task] = self.losses[task](predictions[task], targets[task])
            factor = 1.0 if task == "segment" else 0.5
            total = total + factor * torch.exp(-log_var) * parts[task] + 0.5 * log_var
        return total, {t: p.item() for t, p in parts.items()}


class DenseNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU()
        )
        self.heads = nn.ModuleDict(
            {"depth": nn.Conv2d(12, 1, 1), "normal": nn.Conv2d(12, 3, 1), "segment": nn.Conv2d(12, classes, 1)}
        )

    def forward(self, x):
        f = self.encoder(x)
        return {task: head(f) for task, head in self.heads.items()}


def rooms(n=3, size=8):
    x = torch.randn(n, 3, size, size)
    return x, {
        "depth": x.mean(1) * 10 + 3,
        "normal": F.normalize(x + 0.1 * torch.randn_like(x), dim=1),
        "segment": x.argmax(1),
    }


class Engine:
    def __init__(self, model, criterion, lr=1e-2):
        self.model, self.criterion = model, criterion
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)  # cause
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 2, gamma=0.5)

    def train(self, steps):
        for _ in range(steps):
            x, targets = rooms()
            loss, parts = self.criterion(self.model(x), targets)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
        return parts


def run():
    torch.manual_seed(0)
    model, criterion = DenseNet(), UncertaintyLoss(["depth", "normal", "segment"])
    Engine(model, criterion).train(4)
    return {t: (v.item(), v.grad) for t, v in criterion.log_vars.items()}


def verify(outcome):
    assert all(value == 0 and grad is not None and grad != 0 for value, grad in outcome.values())


TRUTH = Truth(
    fault="criterion.log_vars are in no optimizer: the task weights stay one and their gradients pile up",
    names=("log_vars", "criterion"),
    repair=("self.optimizer = torch.optim.Adam([*model.parameters(), *criterion.parameters()], lr=lr)",),
)
