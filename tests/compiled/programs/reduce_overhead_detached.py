"""mode="reduce-overhead": a gate is computed of detached features, so the features' encoder learns nothing."""

import torch
import torch.nn.functional as F
from torch import nn

RULES = "AG101"
NAMES = ("encoder",)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.gate, self.head = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 2)

    def forward(self, x):
        h = F.silu(self.encoder(x)).detach()  # cause
        return self.head(torch.sigmoid(self.gate(h)) * h)


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Gated(), mode="reduce-overhead")
    optimizer = torch.optim.AdamW(model.parameters())


def run():
    for _ in range(2):
        torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(4, 4)), torch.randint(2, (4,))).backward()
        optimizer.step()
