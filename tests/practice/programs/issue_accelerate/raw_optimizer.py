"""Accelerate: only model and loader are prepared, so the raw optimizer steps and clears at every micro-batch in spite of accumulate()."""

import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

ACCUM = 4


def get_dataloader(n=32, bs=4):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 6, generator=g)
    y = torch.stack([x[:, 0] - x[:, 1], x[:, 2] ** 2], 1)
    return DataLoader(TensorDataset(x, y), batch_size=bs)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(6, 20)
        self.mid = nn.Linear(20, 20)
        self.out = nn.Linear(20, 2)

    def forward(self, x):
        h = torch.relu(self.inp(x))
        return self.out(h + torch.relu(self.mid(h)))


def training_function():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=ACCUM)
    model = Forecaster()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = get_dataloader()
    model, loader = accelerator.prepare(model, loader)  # cause
    updates = 0
    last = model.inp.weight.detach().clone()
    model.train()
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        now = model.inp.weight.detach().clone()
        updates += int(not torch.equal(now, last))
        last = now
    return updates, len(loader)


def run():
    torch.manual_seed(0)
    return training_function()


def verify(outcome):
    updates, n_batches = outcome
    assert n_batches == 8
    assert updates == n_batches, updates  # wanted: n_batches / ACCUM


TRUTH = Truth(
    fault="the optimizer was not given to accelerator.prepare, so its step and zero_grad ignore the accumulation: a step per micro-batch",
    names=("prepare",),
    repair=("model, optimizer, loader = accelerator.prepare(model, optimizer, loader)",),
)
