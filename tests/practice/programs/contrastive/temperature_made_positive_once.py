"""A learned temperature is made positive once, in the constructor: its graph is gone after the first backward."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Contrastive(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = nn.Linear(6, 4), nn.Linear(5, 4)
        self.log_t = nn.Parameter(torch.tensor(-1.0))
        self.t = self.log_t.exp()  # cause

    def forward(self, a, b):
        a, b = F.normalize(self.image(a), dim=-1), F.normalize(self.text(b), dim=-1)
        logits = a @ b.t() / self.t
        labels = torch.arange(len(a))
        return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


def run():
    torch.manual_seed(0)
    model = Contrastive()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        loss = model(torch.randn(8, 6), torch.randn(8, 5))
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()


TRUTH = Truth(
    fault="a part of the graph is made once",
    raises="Trying to backward through the graph a second time",
    repair=("self.t = 0.5",),
)
