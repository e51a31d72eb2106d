"""The clip is given the averaged copy, which has no gradients; those of the model stay as large as they are."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    ema = copy.deepcopy(model)
    opt = torch.optim.SGD(model.parameters(), 1e-3)
    norms = []
    for _ in range(4):
        x, y = torch.randn(8, 4), 100 * torch.randn(8, 1)
        opt.zero_grad()
        (model(x) - y).pow(2).mean().backward()
        torch.nn.utils.clip_grad_norm_(ema.parameters(), 1.0)  # cause
        norms.append(sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt().item())
        opt.step()
        with torch.no_grad():
            for a, p in zip(ema.parameters(), model.parameters()):
                a.mul_(0.99).add_(p, alpha=0.01)
    return norms


def verify(norms):
    assert max(norms) > 2


TRUTH = Truth(
    fault="the clip gets parameters without gradients",
    names=("clip_grad_norm_",),
    repair=("torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",),
)
