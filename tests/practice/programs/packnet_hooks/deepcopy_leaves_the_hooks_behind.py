"""PackNet-like: hooks keep the gradients of old tasks' weights at zero; the trained model is a deepcopy, which has no hooks."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, dim=8, hidden=16, classes=3):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, hidden)
        self.heads = nn.ModuleList(nn.Linear(hidden, classes) for _ in range(2))

    def forward(self, x, task):
        return self.heads[task](self.fc2(self.fc1(x).relu()).relu())


class PackNet:
    def __init__(self, model, keep=0.5):
        self.model, self.keep = model, keep
        self.owned = {n: torch.zeros_like(p, dtype=torch.bool) for n, p in self.shared(model)}

    @staticmethod
    def shared(model):
        return [(n, p) for n, p in model.named_parameters() if n.startswith("fc")]

    def protect(self, model):
        """Gradients of weights that belong to earlier tasks are set to zero."""
        for n, p in self.shared(model):
            mask = (~self.owned[n]).float()
            p.register_hook(lambda g, mask=mask: g * mask)

    @torch.no_grad()
    def claim(self, model):
        for n, p in self.shared(model):
            k = max(1, int(p.numel() * self.keep))
            threshold = p.abs().flatten().kthvalue(p.numel() - k + 1).values
            self.owned[n] |= p.abs() >= threshold


def fit(model, task, data, lr=0.1):
    params = [p for n, p in model.named_parameters() if n.startswith("fc") or n.startswith(f"heads.{task}")]
    optimizer = torch.optim.SGD(params, lr=lr)
    for x, y in data:
        optimizer.zero_grad()
        F.cross_entropy(model(x, task), y).backward()
        optimizer.step()


def search_learning_rate(packnet, task, data, rates=(0.05, 0.2)):
    """Train a copy for each rate, keep the best."""
    packnet.protect(packnet.model)  # cause
    best, best_loss = None, float("inf")
    for lr in rates:
        candidate = copy.deepcopy(packnet.model)  # cause
        fit(candidate, task, data, lr)
        with torch.no_grad():
            loss = sum(F.cross_entropy(candidate(x, task), y).item() for x, y in data)
        if loss < best_loss:
            best, best_loss = candidate, loss
    packnet.model = best
    packnet.claim(best)


def run():
    torch.manual_seed(0)
    packnet = PackNet(Net())
    tasks = [[(torch.randn(8, 8), torch.randint(0, 3, (8,))) for _ in range(3)] for _ in range(2)]
    search_learning_rate(packnet, 0, tasks[0])
    owned = packnet.owned["fc1.weight"].clone()
    before = packnet.model.fc1.weight.detach().clone()
    search_learning_rate(packnet, 1, tasks[1])
    return (packnet.model.fc1.weight.detach() - before)[owned].abs().max().item()


def verify(outcome):
    assert outcome > 1e-5


TRUTH = Truth(
    fault="deepcopy does not carry tensor hooks over: the copies are trained unmasked and overwrite the first task's weights",
    names=("deepcopy",),
    repair=(
        "# each copy is protected by itself",
        "candidate = copy.deepcopy(packnet.model)\npacknet.protect(candidate)",
    ),
)
