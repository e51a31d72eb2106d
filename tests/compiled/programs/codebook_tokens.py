"""Audio tokens: a vector quantizer with straight-through gradients and an averaged codebook, all compiled."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()


class Quantizer(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.register_buffer("codes", torch.randn(codes, width))
        self.register_buffer("count", torch.ones(codes))
        self.register_buffer("total", self.codes.clone())

    def forward(self, z):
        index = torch.cdist(z.detach(), self.codes).argmin(-1)
        chosen = nn.functional.embedding(index, self.codes)
        if self.training:
            with torch.no_grad():
                onehot = nn.functional.one_hot(index, len(self.codes)).to(z.dtype)
                self.count.mul_(0.9).add_(onehot.sum(0), alpha=0.1)
                self.total.mul_(0.9).add_(onehot.T @ z.detach(), alpha=0.1)
        return z + (chosen - z).detach(), (z - chosen.detach()).square().mean()

    @torch.no_grad()
    def refresh(self):
        self.codes.copy_(self.total / self.count.clamp(min=1e-3)[:, None])


def setup():
    torch.manual_seed(0)


def run():
    encode, quantize, decode = nn.Linear(10, 4), Quantizer(8, 4), nn.Linear(4, 10)

    @torch.compile(backend=BACKEND)
    def objective(x):
        z = encode(x)
        q, commitment = quantize(z)
        return nn.functional.mse_loss(decode(q), x), commitment

    optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=1e-2)
    before = quantize.codes.clone()
    losses = []
    for _ in range(15):
        x = torch.randn(32, 2) @ torch.eye(2, 10) * 2
        reconstruction, commitment = objective(x)
        optimizer.zero_grad()
        (reconstruction + 0.25 * commitment).backward()
        optimizer.step()
        quantize.refresh()
        losses.append(reconstruction.item())
    return losses, encode.weight.grad, before, quantize.codes


def verify(outcome):
    losses, grad, before, after = outcome
    assert sum(losses[-3:]) < sum(losses[:3])
    assert grad.abs().sum() > 0
    assert not torch.equal(before, after) and not after.requires_grad
