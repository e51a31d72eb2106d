"""Keras to PyTorch: layers make their weights in build(), at the first call, which is after the optimizer was made."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Layer(nn.Module):
    """The Keras layer protocol: build(input_shape) once, then call(inputs)."""

    def __init__(self):
        super().__init__()
        self.built = False

    def forward(self, inputs):
        if not self.built:
            self.build(inputs.shape)
            self.built = True
        return self.call(inputs)


class FeatureCross(Layer):
    def build(self, shape):
        width = shape[-1]
        self.kernel = nn.Parameter(torch.randn(width, width) / width**0.5)
        self.bias = nn.Parameter(torch.zeros(width))

    def call(self, inputs):
        return inputs * (inputs @ self.kernel + self.bias) + inputs


class DeepCross(nn.Module):
    def __init__(self, features=10):
        super().__init__()
        self.cross = FeatureCross()
        self.hidden = nn.Linear(features, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(self.cross(x))))


def train_on_batch(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x).squeeze(-1), y)
    loss.backward()
    optimizer.step()
    return float(loss)


def run():
    torch.manual_seed(0)
    model = DeepCross()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)  # cause
    kernels = []
    for _ in range(4):
        x = torch.randn(12, 10)
        train_on_batch(model, optimizer, x, x[:, 0] * x[:, 1])
        kernels.append(model.cross.kernel.detach().clone())
    return kernels


def verify(kernels):
    assert torch.equal(kernels[0], kernels[-1])


TRUTH = Truth(
    fault="the cross layer's kernel and bias, built at the first call, are in no optimizer",
    names=("cross.kernel",),
    repair=("model(torch.zeros(1, 10))\noptimizer = torch.optim.Adam(model.parameters(), lr=1e-2)",),
)
