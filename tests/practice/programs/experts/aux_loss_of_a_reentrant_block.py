"""A balance loss is left on the module by a block that runs in a reentrant checkpoint: it was computed without a graph."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class ExpertBlock(nn.Module):
    def __init__(self, dim, experts):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.router = nn.Linear(dim, experts)
        self.w1 = nn.Parameter(torch.randn(experts, dim, 2 * dim) * 0.1)
        self.w2 = nn.Parameter(torch.randn(experts, 2 * dim, dim) * 0.1)
        self.aux = torch.zeros(())

    def forward(self, x):
        h = self.norm(x)
        probs = self.router(h).softmax(-1)
        hard = F.one_hot(probs.argmax(-1), probs.size(-1)).to(h.dtype)
        self.aux = probs.size(-1) * (hard.mean((0, 1)) * probs.mean((0, 1))).sum()  # also
        inner = torch.einsum("bsd,edf->bsef", h, self.w1).relu()
        out = torch.einsum("bsef,efd->bsed", inner, self.w2)
        return x + (out * (hard * probs.detach()).unsqueeze(-1)).sum(2)


class LM(nn.Module):
    def __init__(self, vocab=13, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(ExpertBlock(dim, 4) for _ in range(2))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.wte(ids)
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=True)  # cause
        return self.head(h), sum(block.aux for block in self.blocks)


def run():
    torch.manual_seed(0)
    model = LM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(3):
        ids = torch.randint(13, (4, 6))
        logits, aux = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()) + 0.1 * aux
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model, aux


def verify(out):
    model, aux = out
    assert not aux.requires_grad and model.blocks[0].router.weight.grad is None


TRUTH = Truth(
    fault="the balance loss has no graph, because a reentrant checkpoint runs its function without recording",
    names=("reentrant",),
    repair=("h = checkpoint(block, h, use_reentrant=False)",),
)
