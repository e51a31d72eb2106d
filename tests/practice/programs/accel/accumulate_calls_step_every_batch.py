"""Accelerate: accumulate() over 6 batches in groups of 2; zero_grad and step are called each time, and are no-ops in between."""

import torch
from accelerate import Accelerator
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from tests.practice.truth import Truth


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1)


def build():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    x = torch.randn(24, 4, generator=g)
    return Regressor(), x, x.sum(1)


def run():
    model, x, y = build()
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.1, total_iters=6)
    start = [p.detach().clone() for p in model.parameters()]
    model, opt, loader, sched = accelerator.prepare(model, opt, DataLoader(TensorDataset(x, y), batch_size=4), sched)
    synced = []
    for _ in range(2):
        for bx, by in loader:
            with accelerator.accumulate(model):
                accelerator.backward(F.mse_loss(model(bx), by))
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                sched.step()
                opt.zero_grad()
            synced.append(accelerator.sync_gradients)
    return model, start, synced


def verify(outcome):
    model, start, synced = outcome
    assert synced == [False, True] * 6
    plain, x, y = build()
    opt = torch.optim.AdamW(plain.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.1, total_iters=6)
    for _ in range(2):
        for group in ((0, 1), (2, 3), (4, 5)):
            opt.zero_grad()
            sum(F.mse_loss(plain(x[4 * i : 4 * i + 4]), y[4 * i : 4 * i + 4]) / 2 for i in group).backward()
            nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
            opt.step()
            sched.step()
    for a, b, s in zip(model.parameters(), plain.parameters(), start):
        assert torch.allclose(a, b, atol=1e-5) and not torch.equal(a, s)


TRUTH = Truth()
