"""Magnitude pruning: masked weights keep their place and get no gradient, gradients and weights are masked on purpose."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import prune

from tests.practice.truth import Truth


def sparsity(layers):
    zeros = sum((m.weight == 0).sum().item() for m in layers)
    return zeros / sum(m.weight.numel() for m in layers)


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 12), nn.ReLU(), nn.Linear(12, 3))
    layers = [model[0], model[2]]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    log, leaked = [], 0.0
    for round_ in range(3):
        if round_ > 0:
            prune.global_unstructured([(m, "weight") for m in layers], prune.L1Unstructured, amount=0.3)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for _ in range(2):
            x, y = torch.randn(16, 10), torch.randint(3, (16,))
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            if round_ > 0:
                for m in layers:
                    leaked += (m.weight_orig.grad * (1 - m.weight_mask)).abs().sum().item()
            optimizer.step()
        log.append((loss.item(), sparsity(layers)))
    for m in layers:
        prune.remove(m, "weight")
    return model, log, leaked


TRUTH = Truth()


def verify(out):
    model, log, leaked = out
    assert leaked == 0 and log[1][1] > 0.25 and log[2][1] > 0.45
    assert all(0 < loss < 100 for loss, _ in log)
    assert model[4].weight.grad.abs().sum() > 0
