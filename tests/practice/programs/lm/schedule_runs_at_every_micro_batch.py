"""The schedule advances at each micro-batch, the optimizer at each fourth: the warm-up ends after a quarter of its steps."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

ACCUMULATE, WARMUP, STEPS = 4, 4, 12


class LM(nn.Module):
    def __init__(self, vocab=11, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.wte(ids))[0])


def cosine(step):
    if step < WARMUP:
        return (step + 1) / WARMUP
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - WARMUP) / (STEPS - WARMUP))))


def run():
    torch.manual_seed(0)
    model = LM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, cosine)
    rates = []
    for micro in range(3 * ACCUMULATE):
        ids = torch.randint(11, (2, 6))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()) / ACCUMULATE
        loss.backward()
        if (micro + 1) % ACCUMULATE == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            rates.append(opt.param_groups[0]["lr"])
            opt.step()
            opt.zero_grad()
        sched.step()  # cause
    return rates


def verify(rates):
    assert rates[-1] < rates[0]


TRUTH = Truth(
    fault="the schedule steps four times for each step of the optimizer",
    minor=True,
    repair=("if (micro + 1) % ACCUMULATE == 0:\n    sched.step()",),
)
