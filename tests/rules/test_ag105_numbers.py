"""AG105 for parameters that take part as plain numbers."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def test_temperature_used_as_a_number():
    """`logits / self.temperature.item()` computes the same and never trains the temperature."""

    class Contrast(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.temperature = nn.Linear(4, 2), nn.Parameter(torch.tensor(0.7))

    class ByNumber(Contrast):
        def forward(self, x):
            return self.fc(x) / self.temperature.item()

    class ByTensor(Contrast):
        def forward(self, x):
            return self.fc(x) / self.temperature

    def program(kind):
        net = kind()
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X), Y))

    diagnosed(
        lambda: program(ByNumber), "AG105", "self.temperature.item()", "temperature", "item", severity="warning",
        where=ByNumber,
    )  # fmt: skip
    silent(lambda: program(ByTensor))


def test_scale_computed_in_python():
    """`math.exp(self.log_scale.item())`, `float(self.slope)`: a parameter used as a number only never learns."""

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.scale = nn.Linear(4, 2), nn.Parameter(torch.tensor(0.3))

    class ByMath(Scaled):
        def forward(self, x):
            return self.fc(x) * math.exp(self.scale.item())

    class BySlope(Scaled):
        def forward(self, x):
            return F.leaky_relu(self.fc(x), negative_slope=float(self.scale))

    class ByTensor(Scaled):
        def forward(self, x):
            return self.fc(x) * self.scale.exp()

    def program(kind):
        net = kind()
        trained(torch.optim.Adam(net.parameters()), F.cross_entropy(net(X), Y))
        return f"{net.scale.item():.2f}"

    for sick, line in ((ByMath, "self.scale.item()"), (BySlope, "float(self.scale)")):
        diagnosed(lambda sick=sick: program(sick), "AG105", line, "scale", severity="warning", where=sick)
    silent(lambda: program(ByTensor))
