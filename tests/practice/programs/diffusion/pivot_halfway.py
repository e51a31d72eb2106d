"""Diffusion: the text embedding is to stop after half the steps, but the scheduler brings its learning rate back."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from tests.practice.truth import Truth


class LoRAUNet(nn.Module):
    def __init__(self, latent=8, cond=6, rank=2):
        super().__init__()
        self.base = nn.Linear(latent + cond, latent).requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, latent + cond) * 0.1)
        self.up = nn.Parameter(torch.zeros(latent, rank))

    def forward(self, x, cond):
        h = torch.cat([x, cond.expand(len(x), -1)], dim=-1)
        return self.base(h) + h @ self.down.t() @ self.up.t()


class ConceptTokens(nn.Module):
    """The learned vectors that stand for the new concept."""

    def __init__(self, count=2, dim=6):
        super().__init__()
        self.vectors = nn.Parameter(torch.randn(count, dim) * 0.2)

    def forward(self):
        return self.vectors.mean(0, keepdim=True)


def cosine(total, warmup=1):
    def factor(step):
        if step < warmup:
            return (step + 1) / (warmup + 1)
        progress = (step - warmup) / max(1, total - warmup)
        return 0.5 * (1 + torch.cos(torch.tensor(progress * 3.14159))).item()

    return factor


class PivotalTuning:
    def __init__(self, unet, tokens, total, pivot):
        self.unet, self.tokens = unet, tokens
        self.pivot = pivot
        self.optimizer = torch.optim.Adam(
            [
                {"params": [unet.down, unet.up], "lr": 1e-2},
                {"params": tokens.parameters(), "lr": 5e-2},
            ]
        )
        self.scheduler = LambdaLR(self.optimizer, cosine(total))

    def step(self, step, latents):
        if step == self.pivot:
            self.optimizer.param_groups[1]["lr"] = 0.0  # cause
        noise = torch.randn_like(latents)
        pred = self.unet(latents + noise, self.tokens())
        loss = F.mse_loss(pred, noise)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()  # also


def run():
    torch.manual_seed(0)
    tuning = PivotalTuning(LoRAUNet(), ConceptTokens(), total=8, pivot=2)
    history = []
    for step in range(5):
        tuning.step(step, torch.randn(6, 8))
        history.append(tuning.tokens.vectors.detach().clone())
    return history


def verify(outcome):
    at_pivot = outcome[2]
    assert torch.equal(outcome[1], at_pivot)  # one step of rest
    assert not torch.equal(at_pivot, outcome[3])
    assert not torch.equal(outcome[3], outcome[4])


TRUTH = Truth(
    fault="LambdaLR overwrites the lr of 0 with its own at the next scheduler.step(): the tokens go on training",
    names=("lr",),
    repair=("self.tokens.requires_grad_(False)\nself.optimizer.param_groups[1]['params'][0].grad = None",),
)
