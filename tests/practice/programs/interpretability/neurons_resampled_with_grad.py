"""A sparse autoencoder resamples its dead neurons by writing to rows of the weight where autograd records."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 16), nn.Linear(16, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    for _ in range(2):
        x = torch.randn(32, 6)
        features = encoder(x).relu()
        loss = F.mse_loss(decoder(features), x) + 1e-3 * features.abs().sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        dead = features.sum(0).argsort()[:2]
        encoder.weight[dead] = torch.randn(2, 6)  # cause


TRUTH = Truth(
    fault="a leaf that requires grad is written to",
    raises="a leaf Variable that requires grad is being used in an in-place operation",
    names=("encoder.weight",),
    repair=("encoder.weight.data[dead] = torch.randn(2, 6)",),
)
