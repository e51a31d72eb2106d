"""Loss scaling whose first updates are skipped, with a scheduler that knows."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Trainer:
    def __init__(self, model, total, init_scale=2.0**127):
        self.model = model
        self.opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=total)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=init_scale, backoff_factor=2.0**-40)
        self.skipped = self.done = 0

    def step(self, x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(self.model(x), y)
        self.opt.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        scale = self.scaler.get_scale()
        self.scaler.step(self.opt)
        self.scaler.update()
        if self.scaler.get_scale() < scale:
            self.skipped += 1
        else:
            self.done += 1
            self.sched.step()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 5))
    start = [p.detach().clone() for p in model.parameters()]
    trainer = Trainer(model, total=6)
    for _ in range(6):
        trainer.step(100 * torch.randn(16, 8), torch.randint(0, 5, (16,)))
    return trainer, start, [p.detach() for p in model.parameters()]


TRUTH = Truth()


def verify(out):
    trainer, start, end = out
    assert trainer.skipped >= 1 and trainer.done >= 3
    assert all(p.isfinite().all() and not torch.equal(p, s) for p, s in zip(end, start))
