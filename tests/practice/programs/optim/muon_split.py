"""Muon for matrices and AdamW for vectors: the convolutions are neither and belong to no optimizer."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def newton_schulz(g, steps=5, eps=1e-7):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g / (g.norm() + eps)
    transposed = x.size(0) > x.size(1)
    if transposed:
        x = x.t()
    for _ in range(steps):
        s = x @ x.t()
        x = a * x + (b * s + c * s @ s) @ x
    return x.t() if transposed else x


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95, nesterov=True):
        super().__init__(params, dict(lr=lr, momentum=momentum, nesterov=nesterov))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = torch.zeros_like(p)
                buf = state["momentum_buffer"]
                buf.mul_(group["momentum"]).add_(p.grad)
                g = p.grad.add(buf, alpha=group["momentum"]) if group["nesterov"] else buf
                update = newton_schulz(g.flatten(1)).view_as(p)
                p.add_(update, alpha=-group["lr"] * max(1, p.size(0) / p[0].numel()) ** 0.5)


class Block(nn.Module):
    """Short convolution over time, then an MLP (as in Hyena or Mamba)."""

    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.short = nn.Conv1d(dim, dim, 3, padding=2, groups=dim)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        h = self.short(self.norm(x).transpose(1, 2))[..., : x.size(1)].transpose(1, 2)
        return x + self.down(F.silu(self.up(h)))


class LM(nn.Module):
    def __init__(self, vocab=30, dim=16, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.Sequential(*(Block(dim) for _ in range(depth)))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.blocks(self.embed(ids)))


def build_optimizers(model):
    hidden = list(model.blocks.parameters())
    matrices = [p for p in hidden if p.ndim == 2]  # cause
    vectors = [p for p in hidden if p.ndim < 2]  # also
    outer = [*model.embed.parameters(), *model.head.parameters()]
    return [Muon(matrices), torch.optim.AdamW([{"params": vectors}, {"params": outer, "lr": 3e-3}], lr=1e-3)]


def run():
    torch.manual_seed(0)
    model = LM()
    optimizers = build_optimizers(model)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        ids = torch.randint(0, 30, (8, 13))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        model.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
    return [n for n, p in model.named_parameters() if torch.equal(before[n], p)]


def verify(still):
    assert still == ["blocks.0.short.weight", "blocks.1.short.weight"]


TRUTH = Truth(
    fault="a Conv1d weight has three dimensions: it falls between ndim == 2 and ndim < 2 and is never stepped",
    names=("short.weight",),
    repair=("matrices = [p for p in hidden if p.ndim >= 2]",),
)
