"""One adapter per language in a plain dictionary of a compiled model: the optimizer never gets them."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG107 AG404"
NAMES = ("adapters",)


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 6)
        self.adapters = {name: nn.Linear(8, 8) for name in ("de", "fr")}  # cause

    def forward(self, x, language):
        h = torch.tanh(self.body(x))
        return self.head(h + self.adapters[language](h))


def setup():
    torch.manual_seed(0)


def run():
    model = Translator()
    step = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for language in ("de", "fr", "de"):
        x = torch.randn(4, 6)
        loss = (step(x, language) - x).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
