"""Progress bar: the exponential average of the loss is built from attached losses and holds every step's graph."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Seq2Vec(nn.Module):
    def __init__(self, dim=4, hidden=8):
        super().__init__()
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc(self.gru(x)[1][-1]).squeeze(-1)


class SmoothedValue:
    """Exponential average with bias correction, for the progress bar."""

    def __init__(self, beta=0.9):
        self.beta, self.raw, self.count = beta, 0.0, 0

    def add(self, value):
        self.count += 1
        self.raw = self.beta * self.raw + (1 - self.beta) * value
        return self

    @property
    def value(self):
        return self.raw / (1 - self.beta**self.count)


class Progress:
    def __init__(self):
        self.meters = {}
        self.lines = []

    def update(self, **values):
        for name, value in values.items():
            self.meters.setdefault(name, SmoothedValue()).add(value)
        self.lines.append(" ".join(f"{n}: {m.value:.3f}" for n, m in self.meters.items()))


def nodes_behind(tensor):
    """How many nodes of autograd's graph a tensor keeps alive."""
    seen, stack = set(), [getattr(tensor, "grad_fn", None)]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        stack.extend(parent for parent, _ in node.next_functions)
    return len(seen)


def run():
    torch.manual_seed(0)
    model = Seq2Vec()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    progress = Progress()
    held = []
    for _ in range(4):
        x = torch.randn(8, 5, 4)
        loss = F.mse_loss(model(x), x[:, 0, 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        progress.update(loss=loss, size=float(len(x)))  # cause
        held.append(nodes_behind(progress.meters["loss"].raw))
    return held


def verify(outcome):
    assert outcome[0] > 0 and all(b > a for a, b in zip(outcome, outcome[1:]))


TRUTH = Truth(
    fault="the running mean adds up loss tensors with their graphs; each step keeps all earlier ones alive",
    names=("loss",),
    repair=("progress.update(loss=loss.detach(), size=float(len(x)))",),
)
