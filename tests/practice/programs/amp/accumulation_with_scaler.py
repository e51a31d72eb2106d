"""AMP with gradient accumulation: `scaler.update()` is missing, and the next update's unscale_() is one too many."""

import contextlib

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Siamese(nn.Module):
    def __init__(self, ch=4, dim=6):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, ch, 3, stride=2), nn.ReLU(), nn.Flatten())
        self.proj = nn.Linear(ch * 9, dim)

    def forward(self, x):
        return F.normalize(self.proj(self.conv(x)), dim=1)


class Trainer:
    def __init__(self, model, accumulate=2, use_amp=True):
        self.model, self.accumulate = model, accumulate
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.scaler = torch.amp.GradScaler("cpu", enabled=use_amp)
        self.amp = torch.autocast("cpu", dtype=torch.bfloat16) if use_amp else contextlib.nullcontext()

    def optimizer_step(self):
        self.scaler.unscale_(self.opt)  # symptom
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.scaler.step(self.opt)  # cause
        self.opt.zero_grad()

    def fit(self, triplets):
        for i, (anchor, pos, neg) in enumerate(triplets):
            with self.amp:
                a, p, n = (self.model(x) for x in (anchor, pos, neg))
                loss = F.triplet_margin_loss(a.float(), p.float(), n.float(), margin=0.2) / self.accumulate
            self.scaler.scale(loss).backward()
            if (i + 1) % self.accumulate == 0:
                self.optimizer_step()
                print(f"update {(i + 1) // self.accumulate} loss {loss.item():.4f} scale {self.scaler.get_scale():.0f}")


def run():
    torch.manual_seed(0)
    trainer = Trainer(Siamese())
    trainer.fit([tuple(torch.rand(4, 1, 8, 8) for _ in range(3)) for _ in range(4)])
    return trainer


TRUTH = Truth(
    fault="the scaler is not told that the step is over",
    raises="unscale_() is being called after step()",
    names=("update",),
    repair=("self.scaler.step(self.opt)\nself.scaler.update()",),
)
