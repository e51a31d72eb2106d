"""Tied embeddings: the output projection reads `.data` of the table, so the table learns as an input alone."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Model(nn.Module):
    def __init__(self, vocabulary=30, dim=12):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)
        self.body = nn.GRU(dim, dim, batch_first=True)

    def forward(self, ids):
        h, _ = self.body(self.table(ids))
        return nn.functional.linear(h, self.table.weight.data)  # cause


def run():
    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.0)
    ids = torch.randint(20, (4, 7))
    for _ in range(2):
        logits = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model.table.weight.grad


def verify(grad):
    assert not grad[20:].any()


TRUTH = Truth(
    fault="one of two uses of the table is cut",
    names=("table.weight",),
    minor=True,
    repair=("return nn.functional.linear(h, self.table.weight)",),
)
