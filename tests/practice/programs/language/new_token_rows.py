"""Teach a frozen language model the embeddings of a few new tokens."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, ids):
        return self.head(self.rnn(self.wte(ids))[0])


class NewTokenTuning:
    """Only the rows of `new_ids` may change; everything else is frozen."""

    def __init__(self, model, new_ids, lr=1e-2):
        model.requires_grad_(False)
        weight = model.wte.weight.requires_grad_(True)
        keep = torch.zeros(len(weight), 1)
        keep[list(new_ids)] = 1.0
        self.handle = weight.register_hook(lambda g: g * keep)
        self.model = model
        self.opt = torch.optim.Adam([weight], lr=lr)

    def step(self, ids):
        logits = self.model(ids[:, :-1])
        loss = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:])
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.handle.remove()


def run():
    torch.manual_seed(0)
    model = LM()
    before = model.wte.weight.detach().clone()
    with NewTokenTuning(model, new_ids=(28, 29)) as tuning:
        for _ in range(4):
            ids = torch.randint(0, 28, (4, 8))
            ids[:, 3], ids[:, 6] = 28, 29
            tuning.step(ids)
    return before, model.wte.weight.detach().clone()


TRUTH = Truth()


def verify(out):
    before, after = out
    assert torch.equal(before[:28], after[:28]) and (before[28:] != after[28:]).any(-1).all()
