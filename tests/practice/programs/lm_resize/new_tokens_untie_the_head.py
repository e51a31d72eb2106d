"""Language model: new tokens get a bigger embedding, the tied output layer keeps the old matrix and drifts away from it."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TiedLM(nn.Module):
    def __init__(self, vocab=20, dim=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.tie_weights()

    def tie_weights(self):
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def add_tokens(model, n):
    """Room for n more tokens; a new one begins as the mean of the old."""
    old = model.embed.weight.data
    new = nn.Embedding(len(old) + n, old.size(1))
    new.weight.data[: len(old)] = old
    new.weight.data[len(old) :] = old.mean(0)
    model.embed = new  # cause
    return list(range(len(old), len(old) + n))


def chat(n, tokens):
    """The special tokens open each turn and are never predicted."""
    ids = torch.randint(20, (n, 8))
    ids[:, 0] = tokens[0]
    return ids


def train(model, ids, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.0)
    losses = []
    for _ in range(steps):
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run():
    torch.manual_seed(0)
    model = TiedLM()
    train(model, torch.randint(20, (16, 8)), steps=2)
    tokens = add_tokens(model, 2)
    train(model, chat(16, tokens), steps=3)
    return model.embed.weight.detach(), model.head.weight.detach(), len({id(p) for p in model.parameters()})


def verify(outcome):
    embed, head, _ = outcome
    assert embed.shape != head.shape
    assert not torch.equal(embed[:20], head)


TRUTH = Truth(
    fault="embed has a new weight, head still has the old one: the tie is broken",
    names=("embed", "head"),
    repair=("model.embed = new\nmodel.tie_weights()",),
)
