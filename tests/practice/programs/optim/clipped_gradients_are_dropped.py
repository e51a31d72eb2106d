"""Clipping by hand: the scaled gradients are computed and thrown away."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.wte(ids))[0])


def clip(params, max_norm):
    grads = [p.grad for p in params if p.grad is not None]
    total = torch.stack([g.norm() for g in grads]).norm()
    factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul(factor)  # cause
    return total.item()


def run():
    torch.manual_seed(0)
    model = LM()
    params = list(model.parameters())
    opt = torch.optim.SGD(params, lr=1.0)
    after = []
    for _ in range(3):
        ids = torch.randint(12, (3, 8))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()) * 5
        opt.zero_grad()
        loss.backward()
        clip(params, 0.1)
        after.append(torch.stack([p.grad.norm() for p in params]).norm().item())
        opt.step()
    return after


def verify(after):
    assert max(after) > 0.1001


TRUTH = Truth(fault="the clipped gradients are dropped", repair=("g.mul_(factor)",))
