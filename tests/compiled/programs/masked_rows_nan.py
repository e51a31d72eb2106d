"""A row of a compiled attention is masked whole: its softmax is NaN, and so are all gradients."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG304"
NAMES = ("softmax", "masked_fill")
VALUES = True


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(4, 12), nn.Linear(4, 4)

    def forward(self, x, mask):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = (q @ k.mT / 2).masked_fill(mask[:, None, :], float("-inf"))
        weights = scores.softmax(-1)  # cause
        return self.out(weights @ v)


def setup():
    global attention, optimizer
    torch.manual_seed(0)
    attention = torch.compile(Attention(), backend=BACKEND)
    optimizer = torch.optim.Adam(attention.parameters())


def run():
    mask = torch.tensor([[False, False, True], [True, True, True]])
    x = torch.randn(2, 3, 4)
    optimizer.zero_grad()
    F.mse_loss(attention(x, mask), x).backward()
    optimizer.step()
