"""Tying late in the run by .data: two parameters over one memory, Adam moves it twice each step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class LanguageModel(nn.Module):
    def __init__(self, vocab=13, dim=8):
        super().__init__()
        self.encoder = nn.Embedding(vocab, dim)
        self.mixer = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        return self.decoder(self.mixer(self.encoder(ids))[0])

    def tie(self):
        """Press & Wolf: one matrix for input and output."""
        self.decoder.weight.data = self.encoder.weight.data  # cause


def train_step(model, optimizer, ids):
    optimizer.zero_grad()
    logits = model(ids[:, :-1])
    F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
    optimizer.step()


class Phase:
    def __init__(self, name, steps, tied):
        self.name, self.steps, self.tied = name, steps, tied


PHASES = (Phase("separate", 2, False), Phase("tied", 3, True))


def run():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(7)
    lr = 1e-2
    model = LanguageModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    strides = []
    for phase in PHASES:
        if phase.tied:
            model.tie()
            optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        for _ in range(phase.steps):
            ids = torch.randint(0, 13, (4, 6), generator=g)
            before = model.encoder.weight.detach().clone()
            train_step(model, optimizer, ids)
            strides.append((model.encoder.weight.detach() - before).abs().max().item() / lr)
    return len(list(model.parameters())), strides


def verify(outcome):
    count, strides = outcome
    assert count == 6
    # the first step of Adam is at most lr; here it is two lr
    assert strides[0] < 1.01 and strides[2] > 1.9


TRUTH = Truth(
    fault="decoder.weight.data = encoder.weight.data: one memory, two parameters with half the gradient each, both stepped",
    names=("decoder.weight",),
    repair=("self.decoder.weight = self.encoder.weight",),
)
