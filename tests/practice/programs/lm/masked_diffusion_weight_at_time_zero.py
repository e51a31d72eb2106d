"""A masked diffusion model weighs its loss by 1/t; a time of 0 masks nothing and gives 0 / 0."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

MASK = 15


class Denoiser(nn.Module):
    def __init__(self, vocab=16, dim=12):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.time = nn.Linear(1, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids, t):
        return self.head(self.block(self.wte(ids) + self.time(t[:, None])[:, None]))


def antithetic_times(batch, step, steps=4):
    offset = (step % steps) / steps
    return (offset + torch.arange(batch) / batch) % 1.0  # cause


def diffusion_loss(model, ids, t):
    masked = torch.rand(ids.shape) < t[:, None]
    logits = model(ids.masked_fill(masked, MASK), t)
    ce = F.cross_entropy(logits.transpose(1, 2), ids, reduction="none")
    per_token = ce * masked / t[:, None]  # also
    return per_token.sum() / ids.numel()


def run():
    torch.manual_seed(0)
    model = Denoiser()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for step in range(2):
        ids = torch.randint(15, (4, 8))
        loss = diffusion_loss(model, ids, antithetic_times(4, step))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def verify(losses):
    assert losses[0] != losses[0]


TRUTH = Truth(
    fault="the weight 1/t is infinite at t = 0, where nothing is masked",
    names=("div",),
    values=True,
    repair=("return ((offset + torch.arange(batch) / batch) % 1.0).clamp(min=1e-3)",),
)
