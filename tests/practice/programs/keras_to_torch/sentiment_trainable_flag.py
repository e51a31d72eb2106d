"""Keras to PyTorch: `layer.trainable = False` was kept in the port; on an nn.Module it is a mere attribute and the encoder trains on."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class TextEncoder(nn.Module):
    def __init__(self, vocab=40, dim=12):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.dense = nn.Linear(dim, dim)

    def forward(self, tokens):
        return torch.tanh(self.dense(self.embedding(tokens).mean(dim=1)))


class SentimentModel(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.classifier = nn.Linear(12, 2)

    def forward(self, tokens):
        return self.classifier(self.encoder(tokens))


def build_model(pretrained):
    model = SentimentModel(TextEncoder())
    model.encoder.load_state_dict(pretrained)
    model.encoder.trainable = False  # cause
    return model


def compile_model(model, learning_rate=0.05):
    return torch.optim.SGD(model.parameters(), lr=learning_rate)


def batches(count=3, size=8):
    for _ in range(count):
        yield torch.randint(0, 40, (size, 6)), torch.randint(0, 2, (size,))


def run():
    torch.manual_seed(0)
    pretrained = TextEncoder().state_dict()
    model = build_model(pretrained)
    before = model.encoder.dense.weight.detach().clone()
    optimizer = compile_model(model)
    model.train()
    for tokens, labels in batches():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens), labels)
        loss.backward()
        optimizer.step()
    return before, model.encoder.dense.weight.detach()


def verify(outcome):
    before, after = outcome
    assert not torch.equal(before, after)


TRUTH = Truth(
    fault="the encoder meant to be frozen trains on: `trainable` means nothing to PyTorch",
    names=("encoder",),
    repair=("model.encoder.requires_grad_(False)",),
)
