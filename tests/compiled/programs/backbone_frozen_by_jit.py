"""torch.jit.freeze() makes constants of the backbone's parameters; a compiled head is all that learns."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG301"
NAMES = ("backbone", "0.weight", "weight")


def setup():
    global backbone, frozen, head, optimizer
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
    frozen = torch.jit.freeze(torch.jit.script(backbone.eval()))
    head = torch.compile(nn.Linear(8, 2), backend=BACKEND)
    optimizer = torch.optim.Adam([*backbone.parameters(), *head.parameters()])


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(head(frozen(torch.randn(4, 5))), torch.randint(2, (4,))).backward()
        optimizer.step()
