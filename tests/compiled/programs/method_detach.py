"""A compiled method detaches what the encoder of an autoencoder made."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ()


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(8, 6)
        self.mu = nn.Linear(6, 3)
        self.dec = nn.Linear(3, 8)

    def encode(self, x):
        h = F.relu(self.enc(x))
        h = h.detach()  # cause
        return self.mu(h)

    def forward(self, x):
        return self.dec(self.encode(x))


def setup():
    global model, opt, x
    torch.manual_seed(0)
    model = Vae()
    model.encode = torch.compile(model.encode, backend=BACKEND)
    opt = torch.optim.Adam(model.parameters())
    x = torch.randn(4, 8)


def run():
    for _ in range(2):
        opt.zero_grad()
        F.mse_loss(model(x), x).backward()
        opt.step()
