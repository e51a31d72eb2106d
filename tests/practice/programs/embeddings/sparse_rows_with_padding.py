"""Skip-gram with sparse tables: only rows of the batch move, the padding row never does, and norms are read as numpy."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SkipGram(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.u = nn.Embedding(vocab, dim, sparse=True, padding_idx=0)
        self.v = nn.Embedding(vocab, dim, sparse=True, padding_idx=0)
        bound = 0.5 / dim
        self.u.weight.data.uniform_(-bound, bound)
        self.v.weight.data.uniform_(-bound, bound)
        self.u.weight.data[0] = 0
        self.v.weight.data[0] = 0

    def forward(self, centre, context, negative):
        c = self.u(centre)
        pos = F.logsigmoid((c * self.v(context)).sum(-1).clamp(-10, 10))
        mask = negative != 0
        neg = F.logsigmoid(-torch.bmm(self.v(negative), c.unsqueeze(2)).squeeze(2).clamp(-10, 10)) * mask
        return -(pos + neg.sum(1)).mean()

    def vectors(self):
        w = self.u.weight.detach().numpy()
        return w / np.maximum(np.linalg.norm(w, axis=1, keepdims=True), 1e-8)


def run():
    torch.manual_seed(0)
    model = SkipGram(25, 6)
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
    start, losses = model.u.weight.detach().clone(), []
    for _ in range(4):
        centre, context = torch.randint(1, 12, (8,)), torch.randint(1, 25, (8,))
        negative = torch.randint(1, 25, (8, 3))
        negative[negative == context[:, None]] = 0
        loss = model(centre, context, negative)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    similar = model.vectors() @ model.vectors()[3]
    return model, start, losses, similar.argsort()[::-1]


TRUTH = Truth()


def verify(out):
    model, start, losses, similar = out
    moved = (model.u.weight != start).any(1)
    assert not moved[0] and moved[1:12].any() and not moved[12:].any()
    assert model.u.weight.grad.is_sparse and losses[-1] < 100 and similar[0] == 3
