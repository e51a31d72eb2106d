"""Flows: ActNorm never remembers that it was initialised, and sets its parameters from the data at every step."""

import math

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class ActNorm(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(1, features))
        self.log_scale = nn.Parameter(torch.zeros(1, features))
        self.register_buffer("initialized", torch.tensor(0, dtype=torch.uint8))

    def initialize(self, input):
        with torch.no_grad():
            mean, std = input.mean(0, keepdim=True), input.std(0, keepdim=True)
            self.loc.data.copy_(-mean)
            self.log_scale.data.copy_(-torch.log(std + 1e-6))

    def forward(self, input):
        if self.initialized.item() == 0 and self.training:
            self.initialize(input)
            self.initialized.clone().fill_(1)  # cause
        return (input + self.loc) * torch.exp(self.log_scale), self.log_scale.sum().expand(input.size(0))

    def reverse(self, output):
        return output * torch.exp(-self.log_scale) - self.loc


class AffineCoupling(nn.Module):
    def __init__(self, features, hidden=16, flip=False):
        super().__init__()
        self.half, self.flip = features // 2, flip
        self.net = nn.Sequential(nn.Linear(self.half, hidden), nn.ReLU(), nn.Linear(hidden, 2 * (features - self.half)))
        self.net[-1].weight.data.zero_()
        self.net[-1].bias.data.zero_()

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        log_s, t = self.net(a).chunk(2, 1)
        s = torch.sigmoid(log_s + 2)
        b = (b + t) * s
        out = (b, a) if self.flip else (a, b)
        return torch.cat(out, 1), torch.log(s).sum(1)

    def reverse(self, y):
        a, b = y.chunk(2, 1)
        if self.flip:
            a, b = b, a
        log_s, t = self.net(a).chunk(2, 1)
        b = b / torch.sigmoid(log_s + 2) - t
        return torch.cat((b, a) if self.flip else (a, b), 1)


class Flow(nn.Module):
    def __init__(self, features, depth):
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(depth):
            self.layers.append(ActNorm(features))
            self.layers.append(AffineCoupling(features, flip=bool(i % 2)))

    def forward(self, x):
        logdet = x.new_zeros(x.size(0))
        for layer in self.layers:
            x, d = layer(x)
            logdet = logdet + d
        logp = -0.5 * (x**2 + math.log(2 * math.pi)).sum(1)
        return logp + logdet

    @torch.no_grad()
    def sample(self, n, features):
        x = torch.randn(n, features)
        for layer in reversed(self.layers):
            x = layer.reverse(x)
        return x


def run():
    torch.manual_seed(2)
    flow = Flow(4, 2)
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    data = torch.randn(128, 4) @ torch.randn(4, 4) + 2
    kept = []
    for batch in data.split(32):
        loc = flow.layers[0].loc.detach().clone()
        loss = -flow(batch).mean()
        kept.append(torch.equal(loc, flow.layers[0].loc.detach()))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 50)
        optimizer.step()
        scheduler.step()
    flow.eval()
    samples = flow.sample(8, 4)
    return kept, samples


def verify(outcome):
    kept, _ = outcome
    assert not any(kept)


TRUTH = Truth(
    fault="the data-dependent initialisation overwrites loc and log_scale in every forward",
    names=("loc",),
    repair=("self.initialized.fill_(1)",),
)
