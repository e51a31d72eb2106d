"""Deduplicated: `trainable = filter(...)` is computed once for optimizer, clipping and EMA; the optimizer eats it, the clipping finds nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Captioner(nn.Module):
    def __init__(self, vocab=20, dim=10):
        super().__init__()
        self.vision = nn.Linear(6, dim).requires_grad_(False)
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, image, tokens):
        start = torch.tanh(self.vision(image))[None]
        return self.head(self.rnn(self.embed(tokens), start)[0])


def trainable_parameters(model):
    return filter(lambda p: p.requires_grad, model.parameters())  # cause


class Trainer:
    def __init__(self, model, lr=1.0, max_norm=0.05):
        self.model = model
        self.params = trainable_parameters(model)  # also
        self.optimizer = torch.optim.SGD(self.params, lr=lr)
        self.max_norm = max_norm

    def step(self, image, tokens):
        logits = self.model(image, tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, self.max_norm)  # also
        self.optimizer.step()


def total_norm(model):
    return float(torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm())


def run():
    torch.manual_seed(0)
    model = Captioner()
    trainer = Trainer(model)
    norms = []
    for _ in range(3):
        trainer.step(torch.randn(4, 6), torch.randint(0, 20, (4, 7)))
        norms.append(total_norm(model))
    return norms


def verify(norms):
    assert max(norms) > 0.06


TRUTH = Truth(
    fault="the filter is exhausted by the optimizer: gradients are never clipped",
    names=("clip_grad_norm_",),
    repair=("return [p for p in model.parameters() if p.requires_grad]",),
)
