"""The optimizer steps inside backward and lets each gradient go; the clip that follows finds none."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, dim))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.wte(ids)
        return self.head(h + self.mlp(h))


class FusedOptimizers:
    def __init__(self, model, lr):
        self.optimizers = {p: torch.optim.AdamW([p], lr=lr, foreach=False) for p in model.parameters()}
        for p in model.parameters():
            p.register_post_accumulate_grad_hook(self.take)

    def take(self, p):
        self.optimizers[p].step()  # also
        self.optimizers[p].zero_grad()


def run():
    torch.manual_seed(0)
    model = LM()
    FusedOptimizers(model, lr=1e-2)
    norms = []
    for _ in range(3):
        ids = torch.randint(12, (3, 6))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), 0.1)))  # cause
    return norms


def verify(norms):
    assert norms == [0.0, 0.0, 0.0]


TRUTH = Truth(
    fault="no parameter has a gradient when it is clipped",
    names=("clip_grad_norm_",),
    repair=("norms.append(loss.item())",),
)
