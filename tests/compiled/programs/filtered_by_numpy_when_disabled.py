"""A filter that Dynamo is kept out of goes through NumPy: the compiled encoder in front of it learns nothing."""

import numpy as np
import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105 AG101"
NAMES = ("encoder",)


@torch.compiler.disable
def smooth(h):
    kernel = np.ones(3, dtype=np.float32) / 3
    rows = [np.convolve(row, kernel, mode="same") for row in h.detach().numpy()]  # cause
    return torch.from_numpy(np.stack(rows))


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return self.decoder(smooth(torch.relu(self.encoder(x))))


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Denoiser(), backend=BACKEND, dynamic=True)
    optimizer = torch.optim.Adam(model.parameters())


def run():
    for size in (3, 5):
        x = torch.randn(size, 8)
        optimizer.zero_grad()
        (model(x) - x).pow(2).mean().backward()
        optimizer.step()
