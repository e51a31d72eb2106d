"""New words' rows alone are to be trained: the mask of the hook is zero for those rows too."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG306 AG303"
NAMES = ("words",)
VALUES = True


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.tags = nn.Embedding(12, 6), nn.Linear(6, 4)

    def forward(self, ids):
        return self.tags(self.words(ids))


def setup():
    torch.manual_seed(0)


def run():
    model = Tagger()
    mask = torch.zeros(12, 1)
    mask[12:] = 1.0
    model.words.weight.register_hook(lambda grad: grad * mask)  # cause
    model.compile(backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(2):
        loss = F.cross_entropy(model(torch.randint(12, (3, 5))).flatten(0, 1), torch.randint(4, (15,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
