"""Discriminative learning rates by parameter name on a compiled model."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

RATES = {"backbone": 1e-4, "head": 1e-2}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


def param_groups(named):
    groups = {k: [] for k in RATES}
    for name, p in named:
        for key in RATES:
            if name.startswith(key):
                groups[key].append(p)
    return [{"params": ps, "lr": RATES[k]} for k, ps in groups.items()]


def run():
    torch.manual_seed(0)
    net = torch.compile(Classifier(), backend=BACKEND)
    start = [p.detach().clone() for p in net.parameters()]
    named = net.named_parameters()  # cause
    opt = torch.optim.AdamW(param_groups(named))  # also
    for _ in range(3):
        x = torch.randn(16, 6)
        loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return start, [p.detach().clone() for p in net.parameters()]


def right(out):
    assert all(not torch.equal(a, b) for a, b in zip(*out)), "parameters never moved"


TRUTH = Truth(
    fault="names of the compiled module are prefixed, so every group is empty",
    names=("backbone.0.weight", "backbone.0.bias", "head.weight", "head.bias"),
    repair=("named = net._orig_mod.named_parameters()",),
)
