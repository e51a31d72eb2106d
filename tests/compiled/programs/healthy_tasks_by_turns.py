"""Each batch has a task of its own, chosen by its name in compiled code; in turn all heads learn."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(5, 8)
        self.heads = nn.ModuleDict({"depth": nn.Linear(8, 1), "label": nn.Linear(8, 3)})
        self.log_variance = nn.ParameterDict({name: nn.Parameter(torch.zeros(())) for name in self.heads})

    def forward(self, x, task, target):
        out = self.heads[task](torch.relu(self.trunk(x)))
        loss = F.cross_entropy(out, target) if task == "label" else F.mse_loss(out, target)
        return loss * torch.exp(-self.log_variance[task]) + self.log_variance[task]


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Shared(), backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)


def run():
    for step in range(4):
        x = torch.randn(4, 5)
        task, target = ("depth", x[:, :1]) if step % 2 else ("label", torch.randint(3, (4,)))
        loss = model(x, task, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
