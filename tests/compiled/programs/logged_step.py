"""Translation: a compiled micro-step calls item() and backward(), so its graph breaks; gradients add up over four."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()
MICRO = 4


def setup():
    torch.manual_seed(0)


def run():
    model = nn.Sequential(nn.Embedding(12, 8), nn.Linear(8, 8), nn.ReLU(inplace=True), nn.Linear(8, 12))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    log = []

    @torch.compile(backend=BACKEND)
    def micro_step(source, goal):
        logits = model(source)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), goal.flatten())
        seen = loss.item()
        (loss / MICRO).backward()
        return seen

    gaps = []
    for _ in range(2):
        optimizer.zero_grad()
        source, goal = torch.randint(12, (8, 5)), torch.randint(12, (8, 5))
        for part, answer in zip(source.chunk(MICRO), goal.chunk(MICRO)):
            log.append(micro_step(part, answer))
        whole = nn.functional.cross_entropy(model(source).flatten(0, 1), goal.flatten())
        exact = torch.autograd.grad(whole, list(model.parameters()))
        gaps.append(max((p.grad - g).abs().max().item() for p, g in zip(model.parameters(), exact)))
        optimizer.step()
    return gaps, log, model


def verify(outcome):
    gaps, log, model = outcome
    assert max(gaps) < 1e-6 and len(log) == 8
    assert model[0].weight.grad.abs().sum() > 0
