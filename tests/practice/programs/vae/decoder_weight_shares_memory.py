"""An autoencoder with tied weights: the decoder's weight is a parameter of its own over the same memory."""

import torch
from torch import nn

from tests.practice.truth import Truth


class TiedAutoencoder(nn.Module):
    def __init__(self, n=10, code=4):
        super().__init__()
        self.encoder = nn.Linear(n, code)
        self.decoder = nn.Linear(code, n)
        self.decoder.weight = nn.Parameter(self.encoder.weight.data.t())  # cause

    def forward(self, x):
        return self.decoder(torch.tanh(self.encoder(x)))


def run():
    torch.manual_seed(0)
    net = TiedAutoencoder()
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    x = torch.randn(16, 10)
    for _ in range(3):
        loss = (net(x) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


def verify(net):
    assert net.encoder.weight.data_ptr() == net.decoder.weight.data_ptr()


TRUTH = Truth(
    fault="two parameters share one memory, and the optimizer updates it twice with half of the gradient each",
    names=("encoder.weight", "decoder.weight"),
    repair=("self.decoder.weight = nn.Parameter(self.encoder.weight.data.t().clone())",),
)
