"""Two tasks weighed by learned uncertainty: the compiled loss reads the log variances as numbers."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105"
NAMES = ("log_vars",)


class Tasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 12), nn.SiLU())
        self.depth, self.segment = nn.Linear(12, 1), nn.Linear(12, 3)
        self.log_vars = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.trunk(x)
        return self.depth(h).squeeze(1), self.segment(h)


def setup():
    global model, optimizer, weighed
    torch.manual_seed(0)
    model = Tasks()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    @torch.compile(backend=BACKEND)
    def weighed(depth, logits, depth_true, classes):
        losses = [F.l1_loss(depth, depth_true), F.cross_entropy(logits, classes)]
        total = 0.0
        for loss, log_var in zip(losses, model.log_vars.tolist()):  # cause
            total = total + loss * 2.718281828 ** (-log_var) + log_var
        return total


def run():
    for _ in range(2):
        depth, logits = model(torch.randn(8, 6))
        loss = weighed(depth, logits, torch.rand(8), torch.randint(3, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
