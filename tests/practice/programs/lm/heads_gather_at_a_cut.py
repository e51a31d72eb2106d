"""Multi-token prediction head by head: the gradient that gathers at the cut goes back into the trunk once."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MultiTokenLM(nn.Module):
    def __init__(self, vocab=12, dim=8, ahead=3):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.trunk = nn.GRU(dim, dim, batch_first=True)
        self.heads = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, vocab)) for _ in range(ahead)
        )


def backward(model, ids):
    n, total = len(model.heads), 0.0
    z = model.trunk(model.wte(ids[:, :-n]))[0]
    d = z.detach()
    d.requires_grad = True
    for i, head in enumerate(model.heads):
        logits = head(d)
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, i + 1 : i + 1 + d.size(1)].flatten())
        loss.backward()
        total += loss.item()
    z.backward(gradient=d.grad)
    return total


def run():
    torch.manual_seed(0)
    model = MultiTokenLM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(3):
        opt.zero_grad()
        backward(model, torch.randint(12, (4, 10)))
        opt.step()
    return model


def verify(model):
    assert all(p.grad is not None for p in model.parameters())


TRUTH = Truth()
