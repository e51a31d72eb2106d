"""Accumulation with a scaler, clipping at the window's end, warm-up, and a moving average of the weights."""

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 3))
    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 3))
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    every, meter = 2, []
    optimizer.zero_grad()
    for i in range(7):
        x, y = torch.randn(4, 6), torch.randint(3, (4,))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(x), y) / every
        scaler.scale(loss).backward()
        meter.append(loss.detach() * every)
        if (i + 1) % every == 0 or i == 6:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            scheduler.step()
            ema.update_parameters(model)
    model.eval()
    with torch.no_grad():
        ema(torch.randn(2, 6))
    return torch.stack(meter).mean().item()


TRUTH = Truth()
