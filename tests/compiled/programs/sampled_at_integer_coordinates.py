"""A compiled glimpse: pixels are taken at rounded coordinates, so the locator learns nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG104"
NAMES = ("locate",)


class Glimpse(nn.Module):
    def __init__(self):
        super().__init__()
        self.locate, self.classify = nn.Linear(64, 2), nn.Linear(9, 3)

    def forward(self, images):
        centre = torch.sigmoid(self.locate(images.flatten(1))) * 5
        corner = centre.long()  # cause
        offsets = torch.arange(3)
        rows = (corner[:, :1] + offsets)[:, :, None]
        columns = (corner[:, 1:] + offsets)[:, None, :]
        patch = images[torch.arange(images.shape[0])[:, None, None], rows, columns]
        return self.classify(patch.flatten(1))


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Glimpse(), backend=BACKEND, dynamic=True)
    optimizer = torch.optim.Adam(model.parameters())


def run():
    for rows in (3, 5):
        loss = F.cross_entropy(model(torch.rand(rows, 8, 8)), torch.randint(3, (rows,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
