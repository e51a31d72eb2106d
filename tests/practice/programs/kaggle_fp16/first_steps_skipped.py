"""Healthy: AMP with a scaler that starts too high, so the first steps are skipped; unscaled before clipping, scheduler steps only with the optimizer."""

import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast
from torch.optim.lr_scheduler import OneCycleLR

from tests.practice.truth import Truth


class CFG:
    lr = 1e-3
    max_lr = 1e-2
    steps = 6
    scale = 2.0**126
    backoff = 2.0**-60


class PulsarNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.fc1 = nn.Linear(8, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(self.norm(x)))).squeeze(-1)


def data(n):
    for _ in range(n):
        x = torch.randn(16, 8) * 1000
        yield x, (x.mean(1) > 0).float()


def run():
    torch.manual_seed(17)
    model = PulsarNet()
    criterion = nn.BCEWithLogitsLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=CFG.lr)
    sched = OneCycleLR(opt, max_lr=CFG.max_lr, total_steps=CFG.steps)
    scaler = GradScaler("cpu", init_scale=CFG.scale, backoff_factor=CFG.backoff)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    skipped = 0
    for x, y in data(CFG.steps):
        opt.zero_grad()
        with autocast("cpu", dtype=torch.bfloat16):
            out = model(x)
            loss = criterion(out.float() * 50, y)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        old_scale = scaler.get_scale()
        scaler.step(opt)
        scaler.update()
        if scaler.get_scale() < old_scale:
            skipped += 1
        else:
            sched.step()
    return before, dict(model.named_parameters()), skipped


def verify(outcome):
    before, after, skipped = outcome
    assert 0 < skipped < CFG.steps
    assert all(torch.isfinite(p).all() for p in after.values())
    assert all(not torch.equal(before[n], after[n]) for n in before)


TRUTH = Truth()
