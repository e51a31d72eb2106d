"""Language: the output layer is tied through .data; two parameters share one memory and Adam steps it twice."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

VOCAB, DIM = 16, 12


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.positions = nn.Parameter(torch.randn(20, DIM) * 0.02)
        self.rnn = nn.GRU(DIM, DIM, batch_first=True)
        self.norm = nn.LayerNorm(DIM)
        self.out = nn.Linear(DIM, VOCAB, bias=False)
        nn.init.normal_(self.embed.weight, std=0.3)
        self.tie()

    def tie(self):
        self.out.weight.data = self.embed.weight.data  # cause

    def forward(self, ids):
        x = self.embed(ids) + self.positions[: ids.shape[1]]
        h, _ = self.rnn(x)
        return self.out(self.norm(x + h))


class Corpus:
    def __init__(self, length=8):
        self.length = length

    def sample(self, n):
        start = torch.randint(0, VOCAB, (n, 1))
        return (start + torch.arange(self.length)) % VOCAB


def train(model, optimizer, corpus, steps):
    for _ in range(steps):
        ids = corpus.sample(6)
        loss = F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = Decoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = model.embed.weight.detach().clone()
    train(model, optimizer, Corpus(), steps=1)
    first_step = (model.embed.weight.detach() - before).abs().max().item()
    train(model, optimizer, Corpus(), steps=2)
    count = sum(p.numel() for p in model.parameters() if p.shape == (VOCAB, DIM))
    return first_step, count, model.out.weight.data_ptr() == model.embed.weight.data_ptr()


def verify(outcome):
    first_step, count, same_memory = outcome
    assert same_memory
    assert count == 2 * VOCAB * DIM
    assert first_step > 0.0199  # Adam's first step is 0.01 per parameter


TRUTH = Truth(
    fault="out.weight and embed.weight are two parameters in one memory, each with half of the gradient and a state of its own",
    names=("out", "embed"),
    repair=("self.out.weight = self.embed.weight",),
)
