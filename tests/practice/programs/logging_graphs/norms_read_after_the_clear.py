"""Gradient norms are logged at the end of the step, when the gradients are gone."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, dim))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.wte(ids)
        return self.head(h + self.mlp(h))


class Logger:
    def __init__(self, every):
        self.every, self.rows = every, []

    def log(self, step, model, loss):
        if step % self.every == 0:
            norms = {n: p.grad.norm().item() for n, p in model.named_parameters()}  # symptom
            self.rows.append((step, loss.item(), norms))


def train_step(model, opt, ids):
    loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad()  # cause
    return loss


def run():
    torch.manual_seed(0)
    model = LM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    logger = Logger(every=2)
    for step in range(1, 5):
        loss = train_step(model, opt, torch.randint(12, (3, 6)))
        logger.log(step, model, loss)
    return logger.rows


TRUTH = Truth(
    fault="the gradients are cleared before they are read",
    raises="'NoneType' object has no attribute 'norm'",
    names=("zero_grad",),
    repair=("opt.zero_grad(set_to_none=False)",),
)
