"""GPT-style pretraining loop with separate weight decay groups."""

from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


@dataclass
class Config:
    vocab: int = 32
    width: int = 16
    layers: int = 2
    lr: float = 3e-3
    weight_decay: float = 0.1
    steps: int = 4


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln_1 = nn.LayerNorm(c.width)
        self.attn = nn.MultiheadAttention(c.width, 2, batch_first=True)
        self.ln_2 = nn.LayerNorm(c.width)
        self.mlp = nn.Sequential(nn.Linear(c.width, 32), nn.GELU(), nn.Linear(32, c.width))

    def forward(self, x):
        n = x.size(1)
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.wte = nn.Embedding(c.vocab, c.width)
        self.h = nn.ModuleList([Block(c) for _ in range(c.layers)])
        self.ln_f = nn.LayerNorm(c.width)
        self.head = nn.Linear(c.width, c.vocab, bias=False)

    def forward(self, ids):
        x = self.wte(ids)
        for block in self.h:
            x = block(x)
        return self.head(self.ln_f(x))

    def configure_optimizers(self, c):
        named = dict(self.named_parameters())
        decay = [p for n, p in named.items() if p.dim() >= 2]
        no_decay = [p for n, p in named.items() if n.endswith("bias")]  # cause
        groups = [
            {"params": decay, "weight_decay": c.weight_decay},
            {"params": no_decay, "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=c.lr, betas=(0.9, 0.95))


def run():
    torch.manual_seed(1337)
    c = Config()
    model = GPT(c)
    opt = model.configure_optimizers(c)
    for _ in range(c.steps):
        ids = torch.randint(0, c.vocab, (4, 12))
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    return model


TRUTH = Truth(
    fault="LayerNorm weights are in no parameter group",
    names=("ln_f.weight",),
    repair=("no_decay = [p for n, p in named.items() if p.dim() < 2]",),
)


def well(out):
    assert (out.ln_f.weight != 1).any()
    assert (out.h[0].ln_1.weight != 1).any()


verify = fails(well)
