"""New tokens: a hook on the tied table lets only the gradient of the added rows pass, on purpose."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TiedLM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.lm_head.weight = self.wte.weight

    def resize(self, vocab):
        old = self.wte
        self.wte = nn.Embedding(vocab, old.embedding_dim)
        with torch.no_grad():
            self.wte.weight[: old.num_embeddings] = old.weight
            self.wte.weight[old.num_embeddings :] = old.weight.mean(0)
        self.lm_head = nn.Linear(old.embedding_dim, vocab, bias=False)
        self.lm_head.weight = self.wte.weight
        return old.num_embeddings

    def forward(self, ids):
        return self.lm_head(self.rnn(self.wte(ids))[0])


def run():
    torch.manual_seed(0)
    model = TiedLM(16, 12)
    first_new = model.resize(18)
    for p in model.rnn.parameters():
        p.requires_grad = False
    keep = torch.zeros(18, 1)
    keep[first_new:] = 1
    handle = model.wte.weight.register_hook(lambda grad: grad * keep)
    before = model.wte.weight.detach().clone()
    optimizer = torch.optim.Adam([model.wte.weight], lr=1e-2)
    losses = []
    for _ in range(3):
        ids = torch.randint(18, (4, 6))
        ids[:, 2] = 17
        ids[:, 4] = 16
        loss = F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    handle.remove()
    return model, before, losses


TRUTH = Truth()


def verify(out):
    model, before, losses = out
    moved = (model.wte.weight != before).any(1)
    assert moved.tolist() == [False] * 16 + [True] * 2
    assert model.lm_head.weight is model.wte.weight and all(0 < loss < 100 for loss in losses)
