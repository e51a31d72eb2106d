"""Word2vec: rows of the embedding are renormalised in place outside no_grad: 'a leaf Variable that requires grad is being used in an in-place operation'."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

sentence = "we are about to study the idea of a computational process we are about to learn".split()


def skipgrams(words, window=2):
    vocab = {w: i for i, w in enumerate(dict.fromkeys(words))}
    pairs = []
    for i, w in enumerate(words):
        for j in range(max(0, i - window), min(len(words), i + window + 1)):
            if i != j:
                pairs.append((vocab[w], vocab[words[j]]))
    return vocab, torch.tensor(pairs)


class SkipGram(nn.Module):
    def __init__(self, n_words, dim, n_neg=3):
        super().__init__()
        self.n_neg = n_neg
        self.center = nn.Embedding(n_words, dim)
        self.context = nn.Embedding(n_words, dim)
        nn.init.zeros_(self.context.weight)

    def forward(self, c, o):
        neg = torch.randint(0, self.center.num_embeddings, (len(c), self.n_neg))
        v = self.center(c)
        pos = (v * self.context(o)).sum(-1)
        negs = torch.einsum("bd,bnd->bn", v, self.context(neg))
        return -(F.logsigmoid(pos) + F.logsigmoid(-negs).sum(-1)).mean()

    def renormalise(self, max_norm=1.0):
        """Keep the rows within a ball."""
        norm = self.center.weight.norm(dim=1, keepdim=True)
        factor = (max_norm / norm).clamp(max=1.0)
        self.center.weight.mul_(factor)  # cause


def run():
    torch.manual_seed(0)
    vocab, pairs = skipgrams(sentence)
    model = SkipGram(len(vocab), 6)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    for batch in pairs[torch.randperm(len(pairs))].split(20):
        loss = model(batch[:, 0], batch[:, 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.renormalise()
    return loss.item()


TRUTH = Truth(
    fault="the weight is a leaf that requires grad and is changed in place outside no_grad",
    raises="a leaf Variable that requires grad is being used in an in-place operation",
    names=("center",),
    repair=("with torch.no_grad():\n    self.center.weight.mul_(factor)",),
)
