"""Layers of torch.nn, each inside a small network that is trained for two steps."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .quiet import assert_quiet, two_steps

SEQUENCE, IMAGE, LABELS = torch.randn(4, 6, 8), torch.randn(4, 3, 8, 8), torch.tensor([0, 1, 0, 1])


class Last(nn.Module):
    """The last output of a recurrent layer."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0][:, -1]


class Attended(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True, dropout=0.1)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.attention(x, x, x, attn_mask=mask, is_causal=True)[0].mean(1)


class Residual(nn.Module):
    """A ResNet block as torchvision writes it: in-place activations and an in-place sum."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 3, 3, padding=1, bias=False), nn.Conv2d(3, 3, 3, padding=1, bias=False)
        self.norms, self.relu = nn.ModuleList([nn.BatchNorm2d(3), nn.BatchNorm2d(3)]), nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.relu(self.norms[0](self.first(x)))
        out = self.norms[1](self.second(out))
        out += x
        return self.relu(out).mean((2, 3))


def unet():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1),
        nn.GroupNorm(2, 8),
        nn.SiLU(inplace=True),
        nn.ConvTranspose2d(8, 8, 2, stride=2),
        nn.InstanceNorm2d(8, affine=True, track_running_stats=True),
        nn.Hardswish(inplace=True),
        nn.Upsample(scale_factor=2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )


LAYERS = {
    "rnn": (lambda: Last(nn.RNN(8, 8, num_layers=2, batch_first=True)), SEQUENCE),
    "lstm": (lambda: Last(nn.LSTM(8, 8, num_layers=2, dropout=0.1, batch_first=True, proj_size=8 - 1)), SEQUENCE),
    "gru": (lambda: Last(nn.GRU(8, 4, bidirectional=True, batch_first=True)), SEQUENCE),
    "attention": (Attended, SEQUENCE),
    "encoder": (lambda: nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Flatten()), SEQUENCE),
    "residual": (Residual, IMAGE),
    "convolutions": (unet, IMAGE),
    "depthwise": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 6, 3, groups=3), nn.BatchNorm2d(6), nn.ReLU6(inplace=True), nn.Dropout2d(0.1), nn.Flatten()
        ),
        IMAGE,
    ),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(10, 8, padding_idx=0), nn.Dropout(0.1, inplace=True), nn.Flatten()),
        torch.randint(0, 10, (4, 6)),
    ),
    "bag": (lambda: nn.EmbeddingBag(10, 8, max_norm=1.0), torch.randint(0, 10, (4, 6))),
    "norms": (
        lambda: nn.Sequential(nn.LayerNorm(8), nn.RMSNorm(8), nn.Flatten(), nn.PReLU(), nn.CELU(inplace=True)),
        SEQUENCE,
    ),
    "weight-norm": (
        lambda: nn.Sequential(nn.Flatten(), nn.utils.parametrizations.weight_norm(nn.Linear(48, 8))),
        SEQUENCE,
    ),
    "spectral-norm": (
        lambda: nn.Sequential(nn.Flatten(), nn.utils.parametrizations.spectral_norm(nn.Linear(48, 8))),
        SEQUENCE,
    ),
    "bilinear": (lambda: nn.Sequential(nn.Flatten(), Twice(nn.Bilinear(48, 48, 8))), SEQUENCE),
    "lazy": (
        lambda: nn.Sequential(nn.Flatten(), nn.LazyLinear(8), nn.LazyBatchNorm1d(), nn.Threshold(0, 0, True)),
        SEQUENCE,
    ),
}


class Twice(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x, x)


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name):
    """Two steps of a network around the layer raise no alarm, in-place activations included."""
    torch.manual_seed(0)
    build, batch = LAYERS[name]
    body = build()
    width = body(batch).shape[1]
    net = nn.Sequential(body, nn.Linear(width, 2))
    assert_quiet(two_steps(net, lambda net: F.cross_entropy(net(batch), LABELS)))
