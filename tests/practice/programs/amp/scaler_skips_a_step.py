"""A gradient scaler begins too high, skips the steps that overflow in float16 by design, and goes on with a lower scale."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", growth_interval=4)
    weights, scales, losses = [model[0].weight.detach().clone()], [], []
    for step in range(6):
        x = torch.randn(8, 6)
        target = 20 * x.mean(1, keepdim=True) + 5
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            pred = model(x)
            loss = F.mse_loss(pred.float(), target)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        before = scaler.get_scale()
        scaler.update()
        if scaler.get_scale() < before:
            print(f"step {step}: overflow, norm {norm.item()}, step skipped")
        losses.append(loss.item())
        weights.append(model[0].weight.detach().clone())
        scales.append(scaler.get_scale())
    return model, weights, scales, losses


TRUTH = Truth()


def verify(out):
    model, weights, scales, losses = out
    changed = [not torch.equal(a, b) for a, b in zip(weights, weights[1:])]
    lowered = [after < before for before, after in zip([65536.0, *scales], scales)]
    assert lowered[0] and changed == [not low for low in lowered] and all(changed[-2:])
    assert all(torch.isfinite(p).all() for p in model.parameters()) and all(0 < loss < 1e4 for loss in losses)
