"""A scripted activation with a no_grad block stands in a compiled feed-forward block."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102 AG101 AG301"
NAMES = ("up",)


@torch.jit.script
def bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():  # cause
        y = x + bias
        out = y * 0.5 * (1.0 + torch.tanh(0.79788456 * y * (1 + 0.044715 * y * y)))
    return out  # TorchScript has no return within a block


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(6, 12, bias=False), nn.Linear(12, 6)
        self.bias = nn.Parameter(torch.zeros(12))

    def forward(self, x):
        return self.down(bias_gelu(self.up(x), self.bias))


def setup():
    global block, head, optimizer
    torch.manual_seed(0)
    block, head = torch.compile(FeedForward(), backend=BACKEND), nn.Linear(6, 1)
    optimizer = torch.optim.AdamW([*block.parameters(), *head.parameters()], lr=1e-2)


def run():
    for _ in range(3):
        loss = head(block(torch.randn(5, 6))).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
