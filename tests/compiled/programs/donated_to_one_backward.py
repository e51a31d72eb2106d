"""After the first step a compiled model's gradient norms are measured with retain_graph: its backward keeps nothing."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = BACKEND == "eager"
RULES = "AG504"
RAISES = "" if BACKEND == "eager" else "compiled with non-empty donated buffers"
NAMES = ("donated_buffer", "Block")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.mid, self.down = nn.Linear(4, 16), nn.Linear(16, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.down(torch.sin(self.mid(torch.sin(self.up(x)))))


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Block(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for step in range(2):
        out = model(torch.randn(4, 4))
        fit, size = (out - 1).pow(2).mean(), out.abs().mean()
        weight = 0.1
        if step % 2:
            grads = torch.autograd.grad(fit, list(model.parameters()), retain_graph=True)  # cause
            weight = 0.1 * grads[0].norm()
        optimizer.zero_grad()
        (fit + weight * size).backward()
        optimizer.step()
