"""A gradient scaler meets an overflow in one batch, skips that step by design, halves its scale and goes on."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=2)
    weights, scales, losses = [model[0].weight.detach().clone()], [], []
    for step in range(4):
        x = torch.randn(8, 6)
        target = x.mean(1, keepdim=True)
        if step == 1:
            target = target * 1e37
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pred = model(x)
            loss = F.l1_loss(pred.float(), target) if step != 1 else F.mse_loss(pred.float(), target)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        before = scaler.get_scale()
        scaler.update()
        if scaler.get_scale() < before:
            print(f"step {step}: overflow, norm {norm.item()}, step skipped")
        else:
            losses.append(loss.item())
        weights.append(model[0].weight.detach().clone())
        scales.append(scaler.get_scale())
    return model, weights, scales, losses


TRUTH = Truth()


def verify(out):
    model, weights, scales, losses = out
    changed = [not torch.equal(a, b) for a, b in zip(weights, weights[1:])]
    assert changed == [True, False, True, True] and scales[1] == scales[0] / 2
    assert all(torch.isfinite(p).all() for p in model.parameters()) and len(losses) == 3
