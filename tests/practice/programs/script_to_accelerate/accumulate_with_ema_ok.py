"""Script to accelerate, healthy: accumulate() with an unconditional zero_grad, clipping under sync_gradients, an EMA that copies under no_grad."""

import copy

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class Denoiser(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.time = nn.Embedding(4, dim)
        self.net = nn.Sequential(nn.Linear(dim, 16), nn.SiLU(), nn.Linear(16, dim))

    def forward(self, x, t):
        return self.net(x + self.time(t))


class EMA:
    def __init__(self, model, decay=0.9):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for slow, fast in zip(self.model.parameters(), model.parameters(), strict=True):
            slow.mul_(self.decay).add_(fast, alpha=1 - self.decay)


def run():
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = Denoiser()
    ema = EMA(model)
    first = [p.clone() for p in ema.model.parameters()]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(TensorDataset(torch.randn(32, 6)), batch_size=8)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    updates = 0
    for (x,) in loader:
        with accelerator.accumulate(model):
            noise, t = torch.randn_like(x), torch.randint(0, 4, (len(x),))
            loss = F.mse_loss(model(x + noise, t), noise)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            ema.update(accelerator.unwrap_model(model))
            updates += 1
    return first, list(ema.model.parameters()), list(model.parameters()), updates


def verify(outcome):
    first, slow, fast, updates = outcome
    assert updates == 2
    assert all(
        not torch.equal(f, s) and not torch.equal(s, p.detach()) for f, s, p in zip(first, slow, fast, strict=True)
    )


TRUTH = Truth()
