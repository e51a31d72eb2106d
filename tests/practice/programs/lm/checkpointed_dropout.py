"""Checkpointed blocks with dropout and preserve_rng_state=False: backward recomputes them with other dropout masks."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, dim, drop):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(drop), nn.Linear(2 * dim, dim))
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        h = self.ln1(x)
        x = x + self.drop(self.attn(h, h, h, need_weights=False)[0])
        return x + self.drop(self.mlp(self.ln2(x)))


class MaskedLM(nn.Module):
    def __init__(self, vocab=30, dim=16, depth=2, drop=0.3, save_memory=True):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim, drop) for _ in range(depth))
        self.head = nn.Linear(dim, vocab)
        self.save_memory = save_memory

    def forward(self, ids):
        x = self.emb(ids)
        for block in self.blocks:
            if self.save_memory:
                x = checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)  # cause
            else:
                x = block(x)
        return self.head(x)


def train(save_memory):
    torch.manual_seed(0)
    model = MaskedLM(save_memory=save_memory)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.randint(1, 30, (4, 8), generator=torch.Generator().manual_seed(1))
    masked = torch.rand(4, 8, generator=torch.Generator().manual_seed(2)) < 0.3
    for step in range(2):
        logits = model(ids.masked_fill(masked, 0))
        loss = F.cross_entropy(logits[masked], ids[masked])
        opt.zero_grad()
        loss.backward()
        if step == 0:
            first = {n: p.grad.clone() for n, p in model.named_parameters()}
        opt.step()
        print(f"step {step} loss {loss.item():.4f}")
    return first


def run():
    return train(save_memory=True)


def verify(out):
    exact = train(save_memory=False)
    assert not torch.allclose(out["blocks.0.mlp.3.weight"], exact["blocks.0.mlp.3.weight"], rtol=1e-3)


TRUTH = Truth(
    fault="the recomputed forward pass is not the one that was run",
    names=("preserve_rng_state",),
    repair=("x = checkpoint(block, x, use_reentrant=False)",),
)
