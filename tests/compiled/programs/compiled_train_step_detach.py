"""Forward, backward and step in one compiled function; the features are detached."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("encoder",)


def setup():
    global encoder, head, optimizer
    encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)


@torch.compile(backend=BACKEND)
def train_step(x, y):
    features = torch.relu(encoder(x))
    loss = F.mse_loss(head(features.detach()), y)  # cause
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


def run():
    for _ in range(3):
        train_step(torch.randn(3, 4), torch.randn(3, 1))
