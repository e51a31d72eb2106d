"""The logits of a long text are made chunk by chunk, and each chunk goes back through the same trunk."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, dim))
        self.head = nn.Linear(dim, vocab)

    def hidden(self, ids):
        h = self.wte(ids)
        return h + self.mlp(h)


def backward_in_chunks(model, ids, chunk):
    hidden = model.hidden(ids[:, :-1]).flatten(0, 1)  # also
    targets = ids[:, 1:].flatten()
    total = 0.0
    for h, y in zip(hidden.split(chunk), targets.split(chunk), strict=True):
        loss = F.cross_entropy(model.head(h), y, reduction="sum") / len(targets)
        loss.backward()  # cause
        total += loss.item()
    return total


def run():
    torch.manual_seed(0)
    model = LM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(2):
        opt.zero_grad()
        losses.append(backward_in_chunks(model, torch.randint(12, (2, 9)), chunk=6))
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    return losses


TRUTH = Truth(
    fault="the trunk's graph is freed by the first chunk",
    raises="Trying to backward through the graph a second time",
    names=("backward",),
    repair=("loss.backward(retain_graph=True)",),
)
