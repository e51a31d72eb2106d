"""A masked diffusion model of tokens: low-discrepancy times above zero, unmasked positions kept, sampling by confidence."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


MASK = 15


class Denoiser(nn.Module):
    def __init__(self, vocab=16, dim=12):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.time = nn.Sequential(nn.Linear(1, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.block = nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids, t):
        logits = self.head(self.block(self.wte(ids) + self.time(t[:, None])[:, None]))
        logits[..., MASK] = -1e9
        return logits


def diffusion_loss(model, ids):
    t = ((torch.rand(1) + torch.arange(len(ids)) / len(ids)) % 1.0).clamp(min=1e-2)
    masked = torch.rand(ids.shape) < t[:, None]
    logits = model(ids.masked_fill(masked, MASK), t)
    ce = F.cross_entropy(logits[masked], ids[masked], reduction="none")
    return (ce / t[:, None].expand_as(ids)[masked]).sum() / ids.numel()


@torch.no_grad()
def generate(model, length, steps=3):
    ids = torch.full((1, length), MASK)
    for step in range(steps, 0, -1):
        confidence, guess = model(ids, torch.full((1,), step / steps)).softmax(-1).max(-1)
        confidence[ids != MASK] = -1.0
        chosen = confidence.topk(max(1, length // steps)).indices
        ids.scatter_(1, chosen, guess.gather(1, chosen))
    return ids


def run():
    torch.manual_seed(0)
    model = Denoiser()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        loss = diffusion_loss(model, torch.randint(15, (4, 8)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, generate(model, 6)


def verify(out):
    assert all(value == value for value in out[0])


TRUTH = Truth()
