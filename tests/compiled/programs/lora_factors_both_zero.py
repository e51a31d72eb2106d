"""Both factors of a low-rank update start at zero in a compiled model, so neither ever moves."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG303"
NAMES = ("lora_a",)
VALUES = True


class Low(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.zeros(2, base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, 2))

    def forward(self, x):
        return self.base(x) + x @ self.lora_a.T @ self.lora_b.T  # cause


def setup():
    torch.manual_seed(0)


def run():
    model = nn.Sequential(Low(nn.Linear(6, 8)), nn.GELU(), nn.Linear(8, 3))
    model.compile(backend=BACKEND)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(torch.randn(4, 6)), torch.randint(3, (4,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
