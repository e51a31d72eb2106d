"""AG416: statistics in plain tensors, which a load leaves out."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(1)) * 4 + 2


class Scaler(nn.Module):
    """Normalises with the mean of the training data."""

    def __init__(self):
        super().__init__()
        self.mean = torch.zeros(3)  # plain

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.mean += 0.3 * (x.mean(0) - self.mean)
        return x - self.mean


class Buffered(Scaler):
    def __init__(self):
        nn.Module.__init__(self)
        self.register_buffer("mean", torch.zeros(3))


class Carrying(Scaler):
    """The mean is a state that goes from call to call, in both modes."""

    def forward(self, x):
        with torch.no_grad():
            self.mean += 0.3 * (x.mean(0) - self.mean)
        return x - self.mean


class Constant(Scaler):
    def forward(self, x):
        return x - self.mean


class Logging(Scaler):
    """Nothing is computed with it."""

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.mean += 0.3 * (x.mean(0) - self.mean)
        return x


class Net(nn.Module):
    def __init__(self, scaler):
        super().__init__()
        self.scaler, self.out = scaler(), nn.Linear(3, 1)

    def forward(self, x):
        return self.out(self.scaler(x))


def program(scaler=Scaler, after=lambda net, other: None, *, evaluates=True, loads=True):
    net = Net(scaler)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        trained(optimizer, net(X).pow(2).mean())
    other = Net(scaler)
    if loads:
        other.load_state_dict(net.state_dict())
    after(net, other)
    other.train(not evaluates)
    with torch.no_grad():
        other(X)


def test_statistics_that_no_checkpoint_has():
    """The loaded model is evaluated with what the attribute was made with."""
    finding = diagnosed(
        program, "AG416", "# plain", "other.scaler.mean", "is a plain tensor", severity="warning",
        where=Scaler.__init__,
    )  # fmt: skip
    assert "`self.register_buffer('mean', ...)`" in finding.fix
    assert "self.mean += 0.3" in "".join(place.source for place in finding.locations)


def test_attributes_that_need_no_checkpoint():
    """A buffer, a constant, a state of the last call, a figure; a model that is trained anew or given the values."""

    def given(net, other):
        other.scaler.mean.copy_(net.scaler.mean)

    calm(
        lambda: program(Buffered),
        lambda: program(Carrying),
        lambda: program(Constant),
        lambda: program(Logging),
        lambda: program(after=given),
        lambda: program(evaluates=False),
        lambda: program(loads=False),
    )
