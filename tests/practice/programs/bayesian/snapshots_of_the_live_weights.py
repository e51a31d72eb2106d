"""SWAG: the weights of several epochs are collected as references, so that all of them are the last ones."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Collector:
    def __init__(self, model):
        self.model = model
        self.samples = []

    def collect(self):
        self.samples.append([p.detach() for p in self.model.parameters()])  # cause

    def moments(self):
        stacked = [torch.stack(each) for each in zip(*self.samples)]
        return [s.mean(0) for s in stacked], [s.std(0) for s in stacked]

    @torch.no_grad()
    def sample_into(self, model, scale=0.5):
        for p, mean, std in zip(model.parameters(), *self.moments()):
            p.copy_(mean + scale * std * torch.randn_like(mean))


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    collector = Collector(model)
    x = torch.randn(40, 5)
    y = x.sum(1, keepdim=True).tanh()
    for epoch in range(4):
        for batch, target in zip(x.split(10), y.split(10)):
            opt.zero_grad()
            F.mse_loss(model(batch), target).backward()
            opt.step()
        if epoch:
            collector.collect()
    _, deviations = collector.moments()
    collector.sample_into(model)
    return deviations


def verify(out):
    assert all((deviation == 0).all() for deviation in out)


TRUTH = Truth(
    fault="what is collected shares the memory of the weights that the optimizer goes on to change",
    repair=("self.samples.append([p.detach().clone() for p in self.model.parameters()])",),
)
