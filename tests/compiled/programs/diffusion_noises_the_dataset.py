"""A compiled diffusion loss adds its noise in place, to a view of the data set."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Denoiser(nn.Module):
    def __init__(self, size=16):
        super().__init__()
        self.time = nn.Embedding(50, 32)
        self.inner, self.outer = nn.Linear(size, 32), nn.Linear(32, size)

    def forward(self, x, t):
        return self.outer(torch.nn.functional.silu(self.inner(x) + self.time(t)))


class DiffusionLoss(nn.Module):
    def __init__(self, model, steps=50):
        super().__init__()
        self.model = model
        beta = torch.linspace(1e-3, 0.1, steps)
        self.register_buffer("alpha_bar", torch.cumprod(1 - beta, 0))

    def forward(self, x0, t, noise):
        a = self.alpha_bar[t].unsqueeze(-1)
        x_t = x0.mul_(a.sqrt()).add_((1 - a).sqrt() * noise)  # cause
        return (self.model(x_t, t) - noise).square().mean()


def run():
    torch.manual_seed(0)
    images = torch.rand(24, 16) * 2 - 1
    original = images.clone()
    loss_fn = DiffusionLoss(Denoiser())
    loss_fn.compile(backend=BACKEND)
    optimizer = torch.optim.AdamW(loss_fn.parameters(), lr=2e-3)
    for _ in range(3):
        for batch in images.split(8):
            t, noise = torch.randint(50, (8,)), torch.randn(8, 16)
            loss = loss_fn(batch, t, noise)  # also
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
    return (images - original).abs().mean().item()


def verify(outcome):
    # the data have become noise
    assert outcome > 0.3


TRUTH = Truth(
    fault="x0 is a view of the data set and is overwritten with its noised version in every epoch",
    names=("x0", "images"),
    repair=("x_t = x0.mul(a.sqrt()).add_((1 - a).sqrt() * noise)",),
)
