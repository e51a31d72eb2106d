"""Multilingual tagging: zero_grad(set_to_none=False) leaves zeros on heads of absent languages, and Adam's momentum and decay move them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

LANGUAGES = ("de", "fi", "sw")


class Tagger(nn.Module):
    def __init__(self, vocab=30, dim=12, tags=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)
        self.heads = nn.ModuleDict({lang: nn.Linear(dim, tags) for lang in LANGUAGES})

    def forward(self, ids, lang):
        h = torch.tanh(self.conv(self.embed(ids).transpose(1, 2))).transpose(1, 2)
        return self.heads[lang](h)


class LanguageSampler:
    """Long stretches of one language, so that a batch is of one script."""

    def __init__(self, order, size=8):
        self.order, self.size = order, size

    def __iter__(self):
        for lang in self.order:
            ids = torch.randint(30, (self.size, 6))
            yield lang, ids, (ids + LANGUAGES.index(lang)) % 4


def train_step(model, optimizer, lang, ids, tags):
    optimizer.zero_grad(set_to_none=False)  # cause
    logits = model(ids, lang)
    loss = F.cross_entropy(logits.flatten(0, 1), tags.flatten())
    loss.backward()
    optimizer.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    drift = {}
    for lang, ids, tags in LanguageSampler(["de", "fi", "fi", "sw"]):
        before = {k: head.weight.detach().clone() for k, head in model.heads.items()}
        train_step(model, optimizer, lang, ids, tags)
        for k, head in model.heads.items():
            if k != lang:
                drift[k] = drift.get(k, 0.0) + (head.weight.detach() - before[k]).abs().sum().item()
    return drift


def verify(outcome):
    assert outcome["de"] > 0.1


TRUTH = Truth(
    fault="a zero gradient is a gradient for Adam: its momentum moves heads whose language is not in the batch",
    names=("heads", "zero_grad"),
    repair=("optimizer.zero_grad(set_to_none=True)",),
)
