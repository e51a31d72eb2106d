"""The no_grad block of a print in a compiled forward covers the projection behind it: two graphs, one fault."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102"
NAMES = ("project",)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.project, self.tag = nn.Embedding(12, 6), nn.Linear(6, 6), nn.Linear(6, 3)
        self.seen = 0

    def forward(self, ids):
        h = self.embed(ids)
        with torch.no_grad():  # cause
            self.seen += 1
            print("mean activation", h.mean().item())
            h = torch.tanh(self.project(h))
        return self.tag(h)


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Tagger(), backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters())


def run():
    for _ in range(2):
        ids = torch.randint(12, (2, 4))
        optimizer.zero_grad()
        F.cross_entropy(model(ids).flatten(0, 1), (ids % 3).flatten()).backward()
        optimizer.step()
