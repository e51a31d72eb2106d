"""A language model ties its output weights to the embedding by `.data`: two parameters in one memory."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TiedLM(nn.Module):
    def __init__(self, vocab=20, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.init_weights()
        self.head.weight.data = self.embed.weight.data  # cause

    def init_weights(self):
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.head(h)


def run():
    torch.manual_seed(0)
    model = TiedLM()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(3):
        ids = torch.randint(20, (4, 7))
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


TRUTH = Truth(
    fault="one memory is stepped twice, with two states and two gradients",
    names=("embed.weight", "head.weight"),
    repair=("self.head.weight = self.embed.weight",),
)


def verify(model):
    assert model.head.weight is not model.embed.weight
    assert model.head.weight.data_ptr() == model.embed.weight.data_ptr()
