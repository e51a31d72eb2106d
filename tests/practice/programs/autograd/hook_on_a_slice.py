"""Freezing the rows of known words: the hook sits on a slice of the weight that is no part of the forward."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class WordModel(nn.Module):
    def __init__(self, vocab=12, dim=6):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, 8, 3, padding=1)
        self.out = nn.Linear(8, 2)

    def forward(self, ids):
        h = self.words(ids).transpose(1, 2)
        return self.out(F.relu(self.conv(h)).amax(-1))


def load_pretrained(model, vectors):
    with torch.no_grad():
        model.words.weight[: len(vectors)] = vectors


def freeze_rows(weight, count):
    """The first rows are pretrained and shall stay."""

    def block(grad):
        grad = grad.clone()
        grad[:count] = 0
        return grad

    return weight[:count].register_hook(block)  # cause


def batches(n):
    for _ in range(n):
        ids = torch.randint(0, 12, (10, 6))
        yield ids, (ids < 3).any(1).long()


def run():
    torch.manual_seed(0)
    vectors = torch.randn(8, 6)
    model = WordModel()
    load_pretrained(model, vectors)
    handle = freeze_rows(model.words.weight, len(vectors))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for ids, y in batches(3):
        optimizer.zero_grad()
        F.cross_entropy(model(ids), y).backward()
        optimizer.step()
    handle.remove()
    return (model.words.weight[: len(vectors)] - vectors).abs().max().item()


def verify(outcome):
    assert outcome > 1e-4


TRUTH = Truth(
    fault="the hook is registered on weight[:count], a new tensor nobody uses; the pretrained rows are trained",
    names=("words.weight",),
    repair=("return weight.register_hook(block)",),
)
