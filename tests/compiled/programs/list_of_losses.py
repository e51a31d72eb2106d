"""Multi-task heads whose losses are weighted in a compiled function."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class MultiTask(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, 16), nn.ReLU())
        self.cls = nn.Linear(16, 3)
        self.reg = nn.Linear(16, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.cls(h), self.reg(h).squeeze(1)


@torch.compile(backend=BACKEND)
def weigh(losses, weights):
    stacked = torch.tensor(losses)  # cause
    return (stacked * weights).sum()


def run():
    torch.manual_seed(0)
    model = MultiTask()
    model.compile(backend=BACKEND)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    weights = torch.tensor([1.0, 0.3])
    history = []
    for _ in range(3):
        x = torch.randn(16, 6)
        logits, value = model(x)
        parts = [F.cross_entropy(logits, x[:, :3].argmax(1)), F.mse_loss(value, x.sum(1))]
        loss = weigh(parts, weights)
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(float(loss))
    return history


def right(history):
    assert len(history) == 3


TRUTH = Truth(
    fault="torch.tensor over a list of losses makes a new leaf",
    raises="element 0 of tensors does not require grad",
    repair=("stacked = torch.stack(losses)",),
)
