"""One optimizer to two: embeddings got their own optimizer, the head went to the other; the two share a matrix, which now moves twice a step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class TiedLM(nn.Module):
    def __init__(self, vocab=20, dim=10):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(self.rnn(self.embed(tokens))[0])


class OptimizerPair:
    def __init__(self, *optimizers):
        self.optimizers = optimizers

    def zero_grad(self):
        for optimizer in self.optimizers:
            optimizer.zero_grad()

    def step(self):
        for optimizer in self.optimizers:
            optimizer.step()


def split_optimizers(model):
    slow = torch.optim.SGD(model.embed.parameters(), lr=0.1)  # also
    fast = torch.optim.SGD([*model.rnn.parameters(), *model.head.parameters()], lr=0.1)  # cause
    return OptimizerPair(slow, fast)


def run():
    torch.manual_seed(0)
    model = TiedLM()
    optimizer = split_optimizers(model)
    ratios = []
    for _ in range(3):
        tokens = torch.randint(0, 20, (4, 7))
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        before = model.embed.weight.detach().clone()
        optimizer.step()
        moved = (before - model.embed.weight.detach()).norm()
        ratios.append(float(moved / (0.1 * model.embed.weight.grad.norm())))
    return ratios


def verify(ratios):
    assert all(abs(ratio - 2.0) < 1e-2 for ratio in ratios)


TRUTH = Truth(
    fault="the tied matrix is in both optimizers and is stepped twice with one gradient",
    names=("embed.weight",),
    repair=("fast = torch.optim.SGD(model.rnn.parameters(), lr=0.1)",),
)
