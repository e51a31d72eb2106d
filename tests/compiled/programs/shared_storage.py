"""Language: input and output embeddings are shared in a small model, and Adam's step is compiled."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the weights share storage but are two parameters: each has its own gradient, and the step is taken twice",
    names=("data", "embed.weight", "out.weight"),
    repair=("self.out.weight = self.embed.weight",),
)


class Tiny(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.mix = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.out = nn.Linear(width, words, bias=False)
        self.out.weight.data = self.embed.weight.data  # cause

    def forward(self, ids):
        return self.out(self.mix(self.embed(ids)))


def setup():
    torch.manual_seed(0)


def run():
    model = Tiny(14, 8)
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(1e-2), foreach=False)  # also
    update = torch.compile(optimizer.step, backend=BACKEND)
    largest = []
    for _ in range(3):
        ids = torch.randint(14, (6, 9))
        loss = nn.functional.cross_entropy(forward(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        before = model.embed.weight.detach().clone()
        update()  # symptom
        largest.append((model.embed.weight.detach() - before).abs().max().item())
    return largest, model


def verify(outcome):
    largest, model = outcome
    assert model.embed.weight.data_ptr() == model.out.weight.data_ptr()
    assert model.embed.weight is not model.out.weight
    assert not torch.equal(model.embed.weight.grad, model.out.weight.grad)
    assert largest[0] > 1.5e-2
