"""The whole step is compiled, backward by compiled autograd; the encoder's features are detached."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("encoder",)


class Matcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.gate, self.head = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 2)

    def forward(self, x):
        h = torch.tanh(self.encoder(x))
        return self.head(torch.sigmoid(self.gate(h.detach())) * h.detach())  # cause


def setup():
    global net, optimizer
    torch.manual_seed(0)
    net = Matcher()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    torch._dynamo.config.compiled_autograd = True

    @torch.compile(backend=BACKEND)
    def train(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        return loss.detach()

    try:
        for _ in range(3):
            optimizer.zero_grad()
            train(torch.randn(3, 4), torch.tensor([0, 1, 1]))
            optimizer.step()
    finally:
        torch._dynamo.config.compiled_autograd = False
