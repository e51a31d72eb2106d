"""Deduplicated: weight initialization moved to a base class's finish(), which the subclass calls once the pretrained encoder is loaded."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def make_encoder(features=6, dim=10):
    return nn.Sequential(nn.Linear(features, dim), nn.Tanh(), nn.Linear(dim, dim), nn.Tanh())


class BaseModel(nn.Module):
    def finish(self):
        self.apply(self.init_weights)  # also
        return self

    @staticmethod
    def init_weights(module):
        if isinstance(module, nn.Linear):
            nn.init.trunc_normal_(module.weight, std=0.02)
            nn.init.zeros_(module.bias)


class LinearProbe(BaseModel):
    def __init__(self, weights, classes=3):
        super().__init__()
        self.encoder = make_encoder()
        self.encoder.load_state_dict(weights)
        self.encoder.requires_grad_(False)
        self.head = nn.Linear(10, classes)
        self.finish()  # cause

    def forward(self, x):
        return self.head(self.encoder(x))


def pretrain(steps=3):
    encoder, decoder = make_encoder(), nn.Linear(10, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    for _ in range(steps):
        x = torch.randn(12, 6)
        optimizer.zero_grad()
        F.mse_loss(decoder(encoder(x)), x).backward()
        optimizer.step()
    return encoder.state_dict()


def probe(weights, steps=3):
    model = LinearProbe(weights)
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
    for _ in range(steps):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


def run():
    torch.manual_seed(0)
    weights = pretrain()
    return weights, probe(weights).encoder.state_dict()


def verify(outcome):
    weights, probed = outcome
    assert not torch.equal(weights["0.weight"], probed["0.weight"])


TRUTH = Truth(
    fault="the base class initializes the pretrained encoder anew after it was loaded",
    names=("encoder",),
    repair=("self.init_weights(self.head)",),
)
