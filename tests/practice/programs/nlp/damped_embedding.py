"""Language: the hook that damps the gradient of the embedding is registered in every forward and piles up."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

VOCAB, DIM = 18, 12


class GradientDamper:
    """CogView's trick: only a part of the gradient reaches the embedding."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, grad):
        return grad * self.factor


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.mix = nn.Conv1d(DIM, DIM, 3, padding=2)

    def forward(self, x):
        h = self.mix(self.norm(x).transpose(1, 2))[..., : x.shape[1]]
        return x + F.gelu(h.transpose(1, 2))


class CausalLM(nn.Module):
    def __init__(self, damping=0.5):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.out = nn.Linear(DIM, VOCAB)
        self.damper = GradientDamper(damping)

    def forward(self, ids):
        if self.training:
            self.embed.weight.register_hook(self.damper)  # cause
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def loss_of(model, ids):
    return F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def undamped(model, ids):
    """The gradient at the output of the embedding, gathered by hand."""
    model.eval()
    x = model.embed(ids).detach().requires_grad_(True)
    h = x
    for block in model.blocks:
        h = block(h)
    loss = F.cross_entropy(model.out(h)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    (g,) = torch.autograd.grad(loss, x)
    model.train()
    return torch.zeros(VOCAB, DIM).index_add_(0, ids.flatten(), g.flatten(0, 1))


def run():
    torch.manual_seed(0)
    model = CausalLM().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    factors = []
    for _ in range(4):
        ids = torch.randint(0, VOCAB, (4, 8))
        whole = undamped(model, ids)
        loss = loss_of(model, ids)
        optimizer.zero_grad()
        loss.backward()
        factors.append((model.embed.weight.grad.norm() / whole.norm()).item())
        optimizer.step()
    return factors


def verify(outcome):
    for step, factor in enumerate(outcome, start=1):
        assert abs(factor - 0.5**step) < 1e-3


TRUTH = Truth(
    fault="each forward registers one more hook on embed.weight: the gradient is halved once more in every step",
    names=("embed", "register_hook"),
    repair=("if not self.embed.weight._backward_hooks:\n    self.embed.weight.register_hook(self.damper)",),
)
