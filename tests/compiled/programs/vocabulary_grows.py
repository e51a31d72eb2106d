"""Language: a compiled tagger is given new words, and its embedding is made larger between two epochs."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the optimizer still holds the old embedding weight; the grown one gets gradients but is never stepped",
    names=("embed.weight", "optimizer"),
    repair=("grow(model, words); optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)",),
)


class Tagger(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.embed = nn.Embedding(words, 8)
        self.mix = nn.Linear(8, 8)
        self.out = nn.Linear(8, 4)

    def forward(self, ids):
        return self.out(torch.tanh(self.mix(self.embed(ids))))


def setup():
    torch.manual_seed(0)


def grow(model, words):
    old = model.embed.weight.detach()
    fresh = torch.randn(words - old.shape[0], old.shape[1]) * 0.02
    model.embed.weight = nn.Parameter(torch.cat([old, fresh]))  # also
    model.embed.num_embeddings = words


def run():
    model = Tagger(20)
    model.compile(backend=BACKEND)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)  # also
    words = 20
    for epoch in range(2):
        if epoch == 1:
            words = 26
            grow(model, words)  # cause
            before = model.embed.weight.detach().clone()
        for _ in range(3):
            ids, tags = torch.randint(words, (4, 5)), torch.randint(4, (4, 5))
            loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), tags.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return before, model.embed.weight.detach(), model.embed.weight.grad


def verify(outcome):
    before, after, grad = outcome
    assert grad is not None and grad.abs().sum() > 0
    assert torch.equal(before, after)
