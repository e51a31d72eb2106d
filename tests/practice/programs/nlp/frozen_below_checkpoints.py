"""Language: reentrant checkpoints over a frozen embedding, whose output is made to require grad; adapters learn, all right."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth

VOCAB, DIM = 24, 16


class LoRA(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Linear(base.in_features, rank, bias=False)
        self.b = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.b.weight)

    def forward(self, x):
        return self.base(x) + self.b(self.a(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(DIM).requires_grad_(False)
        self.ff = nn.Sequential(LoRA(nn.Linear(DIM, 32)), nn.GELU(), LoRA(nn.Linear(32, DIM)))
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.ff(self.norm(x)))


class FrozenLM(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM).requires_grad_(False)
        self.layers = nn.ModuleList([Layer() for _ in range(depth)])
        self.head = nn.Linear(DIM, VOCAB, bias=False)
        self.head.weight = self.embed.weight  # tied, and frozen with it
        self.embed.register_forward_hook(lambda module, args, output: output.requires_grad_(True))

    def forward(self, ids, checkpointing=True):
        x = self.embed(ids)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=True) if checkpointing else layer(x)
        return self.head(x)

    def merged(self):
        """The weights for serving, without touching the model."""
        return {
            n: (m.base.weight + m.b.weight @ m.a.weight).detach()
            for n, m in self.named_modules()
            if isinstance(m, LoRA)
        }


def loss_of(model, ids, **kwargs):
    return F.cross_entropy(model(ids, **kwargs)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def run():
    torch.manual_seed(0)
    model = FrozenLM()
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(trained.values(), lr=1e-2)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    agree = []
    for step in range(3):
        ids = torch.randint(0, VOCAB, (4, 8))
        torch.manual_seed(step)
        plain = torch.autograd.grad(loss_of(model, ids, checkpointing=False), list(trained.values()))
        torch.manual_seed(step)
        loss_of(model, ids).backward()
        agree.append(all(torch.allclose(g, p.grad, atol=1e-6) for g, p in zip(plain, trained.values())))
        optimizer.step()
        optimizer.zero_grad()
    moved = {n for n, p in model.named_parameters() if not torch.equal(before[n], p)}
    return agree, moved, set(trained), model.merged()


def verify(outcome):
    agree, moved, trained, merged = outcome
    assert all(agree)
    assert moved == trained
    assert len(merged) == 6 and not any(w.requires_grad for w in merged.values())


TRUTH = Truth()
