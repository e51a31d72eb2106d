"""Historical word vectors: the gradient hook that should keep the anchor words fixed computes a masked gradient and returns nothing."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SkipGram(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.word = nn.Embedding.from_pretrained(vectors, freeze=False)
        self.context = nn.Embedding(*vectors.shape)

    def forward(self, word, context, negative):
        w = self.word(word)
        positive = (w * self.context(context)).sum(-1)
        contrast = (w[:, None] * self.context(negative)).sum(-1)
        return -(F.logsigmoid(positive) + F.logsigmoid(-contrast).sum(1)).mean()


def keep_rows(parameter, rows):
    """Rows that are anchors between the centuries must not move."""
    mask = torch.ones(parameter.size(0), 1)
    mask[rows] = 0

    def hook(grad):
        grad = grad * mask  # cause

    return parameter.register_hook(hook)


def pairs(n, words):
    word = torch.randint(words, (n,))
    return word, (word + 1) % words, torch.randint(words, (n, 3))


class Century:
    def __init__(self, vectors, anchors):
        self.model = SkipGram(vectors)
        self.handle = keep_rows(self.model.word.weight, anchors)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.5)

    def train(self, steps, words):
        for _ in range(steps):
            loss = self.model(*pairs(64, words))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.handle.remove()


def run():
    torch.manual_seed(0)
    vectors = torch.randn(15, 8)
    anchors = torch.tensor([0, 4, 9])
    century = Century(vectors.clone(), anchors)
    century.train(4, words=15)
    change = (century.model.word.weight.detach() - vectors).norm(dim=1)
    return change[anchors], change


def verify(outcome):
    anchors, everything = outcome
    assert anchors.min() > 0
    assert everything.min() > 0


TRUTH = Truth(
    fault="the hook only binds a local name; without a return value the gradient stays as it was",
    names=("hook", "word"),
    repair=("return grad * mask",),
)
