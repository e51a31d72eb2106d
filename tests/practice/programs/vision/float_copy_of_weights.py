"""Vision: the shadow of an EMA is made with detach().float(), which copies nothing when the model is float32 already."""

import contextlib

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Denoiser(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.up = nn.ConvTranspose2d(width, 1, 4, stride=2, padding=1)

    def forward(self, x):
        h = F.silu(self.down(x))
        return x - self.up(F.silu(self.mid(h)) + h)


class EMA:
    """Averages in float32, whatever the model's dtype."""

    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {n: p.detach().float() for n, p in model.named_parameters()}  # cause

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n].lerp_(p.float(), 1 - self.decay)

    @contextlib.contextmanager
    def applied(self, model):
        """The model with the averaged weights, and its own put back afterwards."""
        own = {n: p.detach().clone() for n, p in model.named_parameters()}
        with torch.no_grad():
            for n, p in model.named_parameters():
                p.copy_(self.shadow[n])
        try:
            yield model
        finally:
            with torch.no_grad():
                for n, p in model.named_parameters():
                    p.copy_(own[n])


def pictures(n=6):
    clean = torch.randn(n, 1, 8, 8).cumsum(-1)
    return clean, clean + 0.5 * torch.randn_like(clean)


def evaluate(model, clean, noisy):
    with torch.no_grad():
        return F.mse_loss(model(noisy), clean).item()


def run():
    torch.manual_seed(0)
    model = Denoiser()
    ema = EMA(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    held_out = pictures()
    scores = []
    for _ in range(4):
        clean, noisy = pictures()
        loss = F.mse_loss(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
        with ema.applied(model):
            averaged = evaluate(model, *held_out)
        scores.append((averaged, evaluate(model, *held_out)))
    return scores


def verify(outcome):
    assert all(averaged == own for averaged, own in outcome)
    assert outcome[0] != outcome[-1]


TRUTH = Truth(
    fault="float() of a float32 tensor is the tensor itself: the shadow is the model, and nothing is averaged",
    names=("shadow",),
    repair=("self.shadow = {n: p.detach().float().clone() for n, p in model.named_parameters()}",),
)
