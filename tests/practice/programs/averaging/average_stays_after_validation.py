"""Keypoints: a callback stores the weights and copies the average in, and its other half is never called: the average stays."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class AverageCallback:
    def __init__(self, net, decay=0.9):
        self.net, self.decay = net, decay
        self.average = {name: p.detach().clone() for name, p in net.named_parameters()}
        self.backup = {}

    def on_step_end(self):
        with torch.no_grad():
            for name, p in self.net.named_parameters():
                self.average[name].mul_(self.decay).add_(p, alpha=1 - self.decay)

    def keep_weights(self):
        self.backup = {name: p.detach().clone() for name, p in self.net.named_parameters()}

    def load_average(self):
        for name, p in self.net.named_parameters():
            p.data.copy_(self.average[name])  # also

    def on_validation_start(self):
        self.keep_weights()
        self.load_average()  # also

    def on_validation_end(self):
        for name, p in self.net.named_parameters():
            p.data.copy_(self.backup[name])


class KeypointNet(nn.Module):
    def __init__(self, points=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 24), nn.SiLU(), nn.Linear(24, 24), nn.SiLU())
        self.out = nn.Linear(24, 2 * points)

    def forward(self, x):
        return self.out(self.body(x.flatten(1)))


class Trainer:
    def __init__(self, net, callbacks):
        self.net, self.callbacks = net, callbacks
        self.optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def call(self, hook):
        for callback in self.callbacks:
            getattr(callback, hook)()

    def validate(self, x, y):
        self.call("on_validation_start")  # also
        self.net.eval()
        with torch.no_grad():
            error = F.mse_loss(self.net(x), y).item()
        self.net.train()  # cause
        return error

    def fit(self, epochs=3, steps=3):
        drift = []
        for _ in range(epochs):
            for _ in range(steps):
                x = torch.randn(8, 4, 4)
                y = x.flatten(1)[:, :6]
                loss = F.smooth_l1_loss(self.net(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.call("on_step_end")
            trained = self.net.out.weight.detach().clone()
            self.validate(x, y)
            drift.append((trained - self.net.out.weight.detach()).abs().max().item())
        return drift


def run():
    torch.manual_seed(0)
    net = KeypointNet()
    return Trainer(net, [AverageCallback(net)]).fit()


def verify(drift):
    assert min(drift) > 1e-3


TRUTH = Truth(
    fault="the trained weights are stored and never put back: each epoch begins from the average",
    names=("weight", "copies"),
    repair=('self.net.train()\nself.call("on_validation_end")',),
)
