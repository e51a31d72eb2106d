"""Continual learning: a gradient-scaling hook is registered in each step, so the scale is applied once more each time."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class PlantClassifier(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(10, 20), nn.ReLU())
        self.head = nn.Linear(20, classes)

    def forward(self, x):
        return self.head(self.features(x))


class ImportanceScaler:
    """Weights that mattered in earlier tasks get smaller gradients."""

    def __init__(self, model):
        self.scale = {k: 0.3 + 0.4 * torch.rand_like(p) for k, p in model.named_parameters() if "features" in k}

    def attach(self, model):
        handles = []
        for name, p in model.named_parameters():
            if name in self.scale:
                handles.append(p.register_hook(lambda g, s=self.scale[name]: g * s))  # also
        return handles


def task(n, shift):
    x = torch.randn(n, 10) + shift
    return x, x[:, :5].argmax(1)


def train_task(model, scaler, x, y, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    ratios = []
    for _ in range(steps):
        handles = scaler.attach(model)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ratios.append(model.features[0].weight.grad.norm().item())
        handles.clear()  # cause
    return ratios


def run():
    torch.manual_seed(0)
    model = PlantClassifier()
    scaler = ImportanceScaler(model)
    return train_task(model, scaler, *task(48, 0.5), steps=5)


def verify(outcome):
    assert outcome[-1] < 0.3 * outcome[0], outcome


TRUTH = Truth(
    fault="the hooks are never removed: after n steps the gradient is scaled n times over",
    names=("register_hook", "features"),
    repair=("for handle in handles:\n    handle.remove()",),
)
