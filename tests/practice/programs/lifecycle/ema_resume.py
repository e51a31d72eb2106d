"""Resume: the EMA's shadow is taken over from the live state dict and is the model itself from then on."""

import io

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Denoiser(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.inp = nn.Linear(dim + 1, 24)
        self.out = nn.Linear(24, dim)

    def forward(self, x, t):
        return self.out(F.silu(self.inp(torch.cat([x, t], -1))))


class EMA:
    def __init__(self, model, decay=0.99):
        self.decay = decay
        self.shadow = {k: v.clone() for k, v in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            self.shadow[k].lerp_(v, 1 - self.decay)

    def load(self, shadow, model):
        """Old checkpoints have no EMA: start it at the model's weights."""
        if shadow is None:
            shadow = model.state_dict()  # cause
        self.shadow = shadow


def train(model, optimizer, ema, steps):
    for _ in range(steps):
        x, t = torch.randn(16, 6), torch.rand(16, 1)
        noise = torch.randn_like(x)
        optimizer.zero_grad()
        F.mse_loss(model((1 - t) * x + t * noise, t), noise).backward()
        optimizer.step()
        ema.update(model)


def old_checkpoint():
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.randn(8, 6)
    F.mse_loss(model(x, torch.zeros(8, 1)), x).backward()
    optimizer.step()
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, buffer)
    buffer.seek(0)
    return buffer


def run():
    torch.manual_seed(0)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    ema = EMA(model)
    state = torch.load(old_checkpoint())
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    ema.load(state.get("ema"), model)
    train(model, optimizer, ema, steps=4)
    return [(ema.shadow[k] - v).abs().max().item() for k, v in model.state_dict().items()]


def verify(outcome):
    assert max(outcome) == 0


TRUTH = Truth(
    fault="the shadow shares its tensors with the model (state_dict without clone), so the average is the live weights",
    names=("shadow",),
    repair=("shadow = {k: v.clone() for k, v in model.state_dict().items()}",),
)
