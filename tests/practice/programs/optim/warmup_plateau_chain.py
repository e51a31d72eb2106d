"""Learning rates: linear warm-up, cosine restarts, and a drop by hand when the validation is flat; lr begins at zero."""

import math

import torch
from torch import nn
from torch.optim.lr_scheduler import ChainedScheduler, CosineAnnealingWarmRestarts, LambdaLR, SequentialLR

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.Hardswish(), nn.Linear(12, 1))
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0, "lr": 2e-2}], lr=1e-2
    )
    warmup = LambdaLR(optimizer, lambda step: step / 2 if step < 2 else 1.0)
    cosine = CosineAnnealingWarmRestarts(optimizer, T_0=3)
    scheduler = SequentialLR(optimizer, [warmup, cosine], milestones=[2])
    first = model[0].weight.detach().clone()
    lrs, after_first, best, flat = [], None, math.inf, 0
    for step in range(6):
        x = torch.randn(16, 6)
        loss = (model(x).squeeze(1) - x.prod(1)).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        lrs.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
        if step == 0:
            after_first = torch.equal(first, model[0].weight)
        with torch.no_grad():
            val = (model(x).squeeze(1) - x.prod(1)).abs().mean().item()
        best, flat = (val, 0) if val < best else (best, flat + 1)
        if flat >= 2:
            for group in optimizer.param_groups:
                group["weight_decay"] *= 0.5
    return model, first, after_first, lrs


TRUTH = Truth()


def verify(out):
    model, first, after_first, lrs = out
    assert lrs[0] == 0 and after_first and max(lrs) == lrs[2]
    assert not torch.equal(first, model[0].weight)
    assert all(p.grad is not None for p in model.parameters())
