"""optax to PyTorch: MultiSteps(adamw(schedule), every_k=4) counts the schedule in updates; the port steps it at every micro-batch."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

CONFIG = {"every_k": 4, "updates": 3, "peak": 1e-2, "warmup": 2}


class Tagger(nn.Module):
    def __init__(self, vocab=30, tags=5, dim=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, tags)

    def forward(self, tokens):
        return self.out(self.rnn(self.embed(tokens))[0])


def warmup_then_decay(step):
    if step < CONFIG["warmup"]:
        return (step + 1) / CONFIG["warmup"]
    return max(0.0, (CONFIG["updates"] - step) / (CONFIG["updates"] - CONFIG["warmup"]))


class MultiSteps:
    """optax.MultiSteps: averages the gradients of k calls, then updates."""

    def __init__(self, optimizer, schedule, every_k):
        self.optimizer, self.schedule, self.every_k = optimizer, schedule, every_k
        self.mini_step = 0
        self.updates = 0

    def update(self, loss):
        (loss / self.every_k).backward()
        self.mini_step += 1
        if self.mini_step % self.every_k == 0:
            self.optimizer.step()
            self.updates += 1
            self.optimizer.zero_grad()
        self.schedule.step()  # cause


def run():
    torch.manual_seed(0)
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=CONFIG["peak"])
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup_then_decay)
    tx = MultiSteps(optimizer, schedule, CONFIG["every_k"])
    for _ in range(CONFIG["updates"] * CONFIG["every_k"]):
        tokens, tags = torch.randint(0, 30, (2, 6)), torch.randint(0, 5, (2, 6))
        tx.update(F.cross_entropy(model(tokens).flatten(0, 1), tags.flatten()))
    return tx.updates, schedule.last_epoch


def verify(outcome):
    updates, counted = outcome
    assert updates == 3 and counted == 12


TRUTH = Truth(
    fault="the schedule is stepped once per micro-batch, four times per update of the optimizer",
    names=("step",),
    repair=("if self.mini_step % self.every_k == 0:\n    self.schedule.step()",),
)
