"""Gradients are unscaled for a log and then again for clipping."""

import torch
from torch import nn

from tests.practice.truth import Truth


def grad_norm(net):
    return torch.stack([p.grad.norm() for p in net.parameters()]).norm().item()


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    logged = []
    for step in range(3):
        x = torch.randn(8, 6)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = net(x)
        loss = out.float().pow(2).mean()
        opt.zero_grad()
        scaler.scale(loss).backward()
        if step % 2 == 0:
            scaler.unscale_(opt)  # cause
            logged.append(grad_norm(net))
        scaler.unscale_(opt)  # cause
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
    return logged


TRUTH = Truth(
    fault="the gradients of one step are unscaled twice",
    raises="unscale_() has already been called on this optimizer since the last update()",
    repair=(
        "",
        "scaler.unscale_(opt)",
    ),
)
