"""An exported model whose statistics are kept without grad is fine-tuned with a compiled optimizer and a schedule."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Vision(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.mix, self.head = nn.Conv2d(3, 8, 4, stride=4), nn.Linear(8, 8), nn.Linear(8, 5)
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, images):
        tokens = self.patch(images).flatten(2).transpose(1, 2)
        with torch.no_grad():
            self.mean.lerp_(tokens.mean((0, 1)), 0.1)
        return self.head(F.gelu(self.mix(tokens - self.mean)).mean(1))


def setup():
    global model, optimizer, schedule, step
    torch.manual_seed(0)
    model = torch.export.export(Vision(), (torch.randn(2, 3, 8, 8),)).module()
    optimizer = torch.optim.AdamW(model.parameters(), lr=torch.tensor(1e-3))
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=4)
    step = torch.compile(optimizer.step, backend=BACKEND, fullgraph=False)


def run():
    for _ in range(3):
        loss = F.cross_entropy(model(torch.randn(2, 3, 8, 8)), torch.randint(5, (2,)))
        loss.backward()
        step()
        schedule.step()
        optimizer.zero_grad()
