"""A compiled encoder runs in inference_mode(), and a head is to learn through it."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG103"
NAMES = ("encoder",)
RAISES = "Inference tensors"


def setup():
    global encoder, head, optimizer
    torch.manual_seed(0)
    encoder = torch.compile(nn.Sequential(nn.Linear(4, 6), nn.ReLU()), backend=BACKEND)
    head = nn.Linear(6, 2)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)


def run():
    optimizer.zero_grad()
    with torch.inference_mode():  # cause
        h = encoder(torch.randn(3, 4))
    F.cross_entropy(head(h), torch.tensor([0, 1, 1])).backward()
    optimizer.step()
