"""Language: zeroth-order tuning; a compiled forward at two perturbed points, and no backward at all."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()


class LM(nn.Module):
    def __init__(self, vocab=12, width=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.mix = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.embed(ids)
        context = x.cumsum(1) / torch.arange(1, ids.shape[1] + 1)[:, None]
        return F.linear(self.norm(x + torch.tanh(self.mix(context))), self.embed.weight)


@torch.no_grad()
def perturb(params, seed, scale):
    generator = torch.Generator().manual_seed(seed)
    for p in params:
        p.add_(torch.randn(p.shape, generator=generator), alpha=scale)


@torch.inference_mode()
def loss_of(forward, ids):
    return F.cross_entropy(forward(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).item()


def mezo_step(model, forward, ids, seed, eps=1e-3, lr=2e-3):
    params = [p for p in model.parameters() if p.requires_grad]
    perturb(params, seed, eps)
    above = loss_of(forward, ids)
    perturb(params, seed, -2 * eps)
    below = loss_of(forward, ids)
    perturb(params, seed, eps)
    slope = (above - below) / (2 * eps)
    perturb(params, seed, -lr * slope)
    return (above + below) / 2, slope


def setup():
    torch.manual_seed(0)


def run():
    model = LM()
    forward = torch.compile(model, backend=BACKEND)
    ids = torch.arange(10).repeat(4, 2)[:, :12]
    start = loss_of(forward, ids)
    slopes = []
    for seed in range(6):
        _, slope = mezo_step(model, forward, ids, seed)
        slopes.append(slope)
    return start, loss_of(forward, ids), slopes, [p.grad for p in model.parameters()]


def verify(outcome):
    start, end, slopes, grads = outcome
    assert end < start and all(slope != 0 for slope in slopes)
    assert all(g is None for g in grads)
