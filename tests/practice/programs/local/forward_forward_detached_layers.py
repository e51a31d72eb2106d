"""Forward-Forward: every layer has its own loss and optimizer, nothing flows between layers; inputs are detached and normalised."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class FFLayer(nn.Linear):
    def __init__(self, inputs, outputs, threshold=1.0):
        super().__init__(inputs, outputs)
        self.threshold = threshold
        self.opt = torch.optim.Adam(self.parameters(), lr=2e-2)

    def forward(self, x):
        return F.relu(super().forward(x / (x.norm(dim=1, keepdim=True) + 1e-4)))

    def learn(self, pos, neg):
        gp, gn = self(pos).square().mean(1), self(neg).square().mean(1)
        loss = F.softplus(torch.cat([self.threshold - gp, gn - self.threshold])).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return self(pos).detach(), self(neg).detach()


class FFNet(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(FFLayer(a, b) for a, b in zip(sizes, sizes[1:]))

    def train_step(self, pos, neg):
        for layer in self.layers:
            pos, neg = layer.learn(pos, neg)

    @torch.no_grad()
    def goodness(self, x):
        total = 0
        for layer in self.layers:
            x = layer(x)
            total = total + x.square().mean(1)
        return total


def overlay(x, y):
    x = x.clone()
    x[:, :3] = F.one_hot(y, 3).float()
    return x


def data():
    g = torch.Generator().manual_seed(8)
    for _ in range(3):
        x, y = torch.randn(12, 8, generator=g), torch.randint(3, (12,), generator=g)
        yield overlay(x, y), overlay(x, (y + 1) % 3)


def build():
    torch.manual_seed(0)
    return FFNet([8, 10, 10])


def run():
    net = build()
    start = [p.detach().clone() for p in net.parameters()]
    for pos, neg in data():
        net.train_step(pos, neg)
    return net, start, net.goodness(pos)


def verify(outcome):
    net, start, goodness = outcome
    plain = build()  # the same losses by plain autograd on the parameters of one layer only
    opts = [torch.optim.Adam(layer.parameters(), lr=2e-2) for layer in plain.layers]
    for pos, neg in data():
        for layer, opt in zip(plain.layers, opts):
            acts = [
                F.relu(F.linear(v / (v.norm(dim=1, keepdim=True) + 1e-4), layer.weight, layer.bias)) for v in (pos, neg)
            ]
            margins = torch.cat([1 - acts[0].square().mean(1), acts[1].square().mean(1) - 1])
            grads = torch.autograd.grad(torch.log1p(margins.exp()).mean(), list(layer.parameters()))
            for p, g in zip(layer.parameters(), grads):
                p.grad = g
            opt.step()
            with torch.no_grad():
                pos, neg = layer(pos), layer(neg)
    for a, b, s in zip(net.parameters(), plain.parameters(), start):
        assert torch.allclose(a, b, atol=1e-4) and not torch.equal(a, s)
    assert torch.isfinite(goodness).all()


TRUTH = Truth()
