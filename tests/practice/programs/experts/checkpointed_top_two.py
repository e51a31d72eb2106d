"""Expert blocks in a checkpoint that is not reentrant return their balance loss; hard choices are counted without a graph."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

from torch.utils.checkpoint import checkpoint


class ExpertBlock(nn.Module):
    def __init__(self, dim, experts):
        super().__init__()
        self.router = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 16), nn.SiLU(), nn.Linear(16, dim)) for _ in range(experts)
        )
        self.register_buffer("load", torch.zeros(experts))

    def forward(self, x):
        flat = x.reshape(-1, x.size(-1))
        logits = self.router(flat)
        probs = logits.softmax(-1)
        gate, index = probs.topk(2, -1)
        gate = gate / gate.sum(-1, keepdim=True)
        out = torch.zeros_like(flat)
        for e, expert in enumerate(self.experts):
            rows, slot = (index == e).nonzero(as_tuple=True)
            if len(rows):
                out.index_add_(0, rows, gate[rows, slot, None] * expert(flat[rows]))
        share = F.one_hot(index, probs.size(-1)).float().sum(1).mean(0)
        aux = (share * probs.mean(0)).sum() + 1e-2 * logits.logsumexp(-1).pow(2).mean()
        return x + out.view_as(x), aux, share


class LM(nn.Module):
    def __init__(self, vocab=13, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(ExpertBlock(dim, 4) for _ in range(2))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h, total = self.wte(ids), 0.0
        for block in self.blocks:
            h, aux, share = checkpoint(block, h, use_reentrant=False)
            total = total + aux
            with torch.no_grad():
                block.load.lerp_(share, 0.1)
        return self.head(h), total


def run():
    torch.manual_seed(0)
    model = LM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(3):
        ids = torch.randint(13, (4, 9))
        logits, aux = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()) + 0.01 * aux
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


def verify(model):
    assert all(block.router.weight.grad.abs().sum() > 0 and block.load.sum() > 0 for block in model.blocks)


TRUTH = Truth()
