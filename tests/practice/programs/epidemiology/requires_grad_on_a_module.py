"""Epidemic forecasting: `model.mobility.requires_grad = False` only sets an attribute of the module; the pretrained part is trained on."""

import torch
from torch import nn

from tests.practice.truth import Truth


class MobilityEncoder(nn.Module):
    """Pretrained on phone data; has to stay as it is."""

    def __init__(self, regions=7, dim=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(regions, 16), nn.Tanh(), nn.Linear(16, dim))

    def forward(self, flow):
        return self.net(flow)


class InfectionModel(nn.Module):
    def __init__(self, regions=7, dim=10):
        super().__init__()
        self.mobility = MobilityEncoder(regions, dim)
        self.rnn = nn.GRU(1 + dim, 12, batch_first=True)
        self.rate = nn.Linear(12, 1)

    def forward(self, flow, cases):
        h, _ = self.rnn(torch.cat([cases, self.mobility(flow)], -1))
        return self.rate(h).squeeze(-1).exp()


def freeze(model):
    model.mobility.requires_grad = False  # cause
    model.mobility.eval()


def wave(n, days=10, regions=7):
    flow = torch.rand(n, days, regions)
    growth = 0.6 + flow.mean(-1)
    cases = growth.cumprod(1)
    return flow[:, :-1], cases[:, :-1, None].log1p(), cases[:, 1:]


def train(model, data, steps):
    flow, cases, target = data
    trainable = filter(lambda p: p.requires_grad, model.parameters())
    optimizer = torch.optim.Adam(trainable, lr=5e-3)
    for _ in range(steps):
        predicted = model(flow, cases)
        loss = (predicted - target * predicted.log()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = InfectionModel()
    freeze(model)
    pretrained = {k: v.clone() for k, v in model.mobility.state_dict().items()}
    train(model, wave(16), steps=4)
    return pretrained, model.mobility.state_dict()


def verify(outcome):
    before, after = outcome
    assert all(not torch.equal(before[k], after[k]) for k in before)


TRUTH = Truth(
    fault="a module has no requires_grad: nothing is frozen (requires_grad_ would)",
    names=("mobility",),
    repair=("model.mobility.requires_grad_(False)",),
)
