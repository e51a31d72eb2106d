"""Language: to save memory the optimizer steps in post-accumulate hooks; four micro-batches make one batch."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the hooks step and drop the gradient after every micro-batch, so nothing is accumulated over four",
    names=("register_post_accumulate_grad_hook", "apply", "micro"),
    repair=("if counter['seen'] % MICRO == 0: take(optimizers[p])",),
)
MICRO = 4


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.mix = nn.Linear(8, 8)
        self.out = nn.Linear(8, 16)

    def forward(self, ids):
        return self.out(torch.tanh(self.mix(self.embed(ids))))


def setup():
    torch.manual_seed(0)


def run():
    model = Tiny()
    model.compile(backend=BACKEND)
    optimizers = {p: torch.optim.Adam([p], lr=1e-3, foreach=False) for p in model.parameters()}
    counter = {"seen": 0, "steps": 0}

    def take(optimizer):
        optimizer.step()  # symptom
        optimizer.zero_grad()
        counter["steps"] += 1

    def apply(p):
        take(optimizers[p])  # cause

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(apply)  # also
    for _ in range(2):
        for _ in range(MICRO):
            counter["seen"] += 1
            ids = torch.randint(16, (2, 7))
            logits = model(ids[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            (loss / MICRO).backward()
    return counter["steps"] / len(optimizers)


def verify(outcome):
    assert outcome == 2 * MICRO
