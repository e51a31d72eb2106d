"""Gradual unfreezing: the optimizer was built while the encoder was frozen and never hears of it."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, vocab=16, dim=8, depth=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))

    def forward(self, ids):
        h = self.embedding(ids)
        for layer in self.layers:
            h = h + torch.tanh(layer(h))
        return h.mean(1)


class SentenceClassifier(nn.Module):
    def __init__(self, encoder, labels=3):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(8, labels)

    def forward(self, ids):
        return self.head(self.encoder(ids))


class GradualUnfreezing:
    """ULMFiT: one more layer from the top each epoch."""

    def __init__(self, model):
        self.model = model
        model.encoder.requires_grad_(False)
        self.frozen = list(model.encoder.layers)

    def epoch_start(self, epoch):
        if epoch and self.frozen:
            self.frozen.pop().requires_grad_(True)


def batches(n=2):
    for _ in range(n):
        ids = torch.randint(0, 16, (8, 5))
        yield ids, ids[:, 0] % 3


def run():
    torch.manual_seed(0)
    model = SentenceClassifier(Encoder())
    unfreezing = GradualUnfreezing(model)
    trainable = [p for p in model.parameters() if p.requires_grad]  # cause
    optimizer = torch.optim.AdamW(trainable, lr=1e-2, weight_decay=0.0)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for epoch in range(3):
        unfreezing.epoch_start(epoch)
        for ids, labels in batches():
            optimizer.zero_grad()
            F.cross_entropy(model(ids), labels).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    return {n: torch.equal(p, before[n]) for n, p in model.named_parameters()}


def verify(outcome):
    assert outcome["encoder.layers.0.weight"] and outcome["encoder.layers.1.weight"]
    assert not outcome["head.weight"]


TRUTH = Truth(
    fault="the layers unfrozen later are not in the optimizer: they get gradients (also never cleared) but no update",
    names=("layers",),
    repair=("trainable = list(model.parameters())",),
)
