"""Healthy: gradient accumulation with a shorter last window, clearing after the step, a retained graph for two losses, and clipping."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

ACCUM = 3


class TwoTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 18), nn.SiLU())
        self.cls = nn.Linear(18, 3)
        self.reg = nn.Linear(18, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.cls(h), self.reg(h).squeeze(1)


def windows(items, n):
    for i in range(0, len(items), n):
        yield items[i : i + n]


def micro_step(model, batch, share):
    x, label, value = batch
    logits, pred = model(x)
    (F.cross_entropy(logits, label) * share).backward(retain_graph=True)
    # the second loss goes through the same trunk; its gradient adds to the first
    (F.mse_loss(pred, value) * share).backward()


def big_batch_grad(model, batches):
    x, label, value = (torch.cat(t) for t in zip(*batches))
    logits, pred = model(x)
    loss = F.cross_entropy(logits, label) + F.mse_loss(pred, value)
    return torch.autograd.grad(loss, list(model.parameters()))


def run():
    torch.manual_seed(14)
    model = TwoTask()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    batches = [(torch.randn(4, 6), torch.randint(0, 3, (4,)), torch.randn(4)) for _ in range(8)]
    worst = 0.0
    steps = 0
    for window in windows(batches, ACCUM):
        want = big_batch_grad(model, window)
        for batch in window:
            micro_step(model, batch, 1 / len(window))
        for p, g in zip(model.parameters(), want):
            worst = max(worst, (p.grad - g).abs().max().item())
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
    return worst, steps


def verify(outcome):
    worst, steps = outcome
    assert worst < 1e-5
    assert steps == 3


TRUTH = Truth()
