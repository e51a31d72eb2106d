"""Left padding and a causal mask: the first rows see nothing, and their softmax is NaN."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Attention(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, keep):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        allowed = causal & keep[:, None, :]
        weights = scores.masked_fill(~allowed, float("-inf")).softmax(-1)  # cause
        return self.out(weights @ v)


def run():
    torch.manual_seed(0)
    emb, att, head = nn.Embedding(20, 12), Attention(), nn.Linear(12, 20)
    opt = torch.optim.AdamW([*emb.parameters(), *att.parameters(), *head.parameters()], 1e-3)
    for _ in range(2):
        ids = torch.randint(1, 20, (3, 6))
        keep = torch.ones(3, 6, dtype=torch.bool)
        keep[0, :2] = False
        logits = head(emb(ids) + att(emb(ids), keep))
        target = ids.roll(-1, 1).masked_fill(~keep, -100)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=-100)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return att


def verify(att):
    assert att.qkv.weight.isnan().any()


TRUTH = Truth(
    fault="rows that see no token give NaN",
    values=True,
    names=("softmax",),
    repair=("weights = scores.masked_fill(~allowed, -1e9).softmax(-1)",),
)
