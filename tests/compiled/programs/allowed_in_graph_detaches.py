"""A normalisation that is allowed in the graph untraced returns detached features."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("encoder",)


def centred(h):
    h = h.detach()  # cause
    return (h - h.mean(0)) / (h.std(0) + 1e-5)


torch.compiler.allow_in_graph(centred)


def setup():
    global encoder, head, optimizer, predict
    torch.manual_seed(0)
    encoder, head = nn.Linear(5, 7), nn.Linear(7, 2)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)

    @torch.compile(backend=BACKEND, fullgraph=True)
    def predict(x):
        return head(centred(torch.relu(encoder(x))))


def run():
    for _ in range(2):
        loss = predict(torch.randn(9, 5)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
