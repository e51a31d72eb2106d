"""A hypernetwork writes the weights of a small target net."""

import torch
from torch import nn
from torch.func import functional_call, vmap

from tests.practice.truth import Truth


class Target(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(1, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.b(torch.sin(self.a(x)))


class HyperNet(nn.Module):
    def __init__(self, target, embed=4, width=32):
        super().__init__()
        self.shapes = {n: p.shape for n, p in target.named_parameters()}
        self.sizes = [s.numel() for s in self.shapes.values()]
        self.net = nn.Sequential(nn.Linear(embed, width), nn.ReLU(), nn.Linear(width, sum(self.sizes)))

    def forward(self, e):
        parts = self.net(e).split(self.sizes, dim=-1)
        return {n: p.unflatten(-1, s) for (n, s), p in zip(self.shapes.items(), parts)}


class Experiment:
    def __init__(self, n_tasks=3):
        self.target = Target()
        self.hyper = HyperNet(self.target)
        self.codes = nn.Embedding(n_tasks, 4)
        self.opt = torch.optim.Adam([*self.hyper.parameters(), *self.codes.parameters()], lr=1e-2)

    def predict(self, task_ids, x):
        weights = self.hyper(self.codes(task_ids))
        return vmap(lambda w, x: functional_call(self.target, w, (x,)))(weights, x)

    def step(self, task_ids, x, y):
        loss = (self.predict(task_ids, x) - y).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    exp, ids = Experiment(), torch.arange(3)
    own = [p.detach().clone() for p in exp.target.parameters()]
    x = torch.rand(3, 20, 1) * 4 - 2
    y = torch.stack([x[0].sin(), x[1].cos(), x[2].tanh()])
    losses = [exp.step(ids, x, y) for _ in range(15)]
    return own, exp, losses


TRUTH = Truth()


def verify(out):
    own, exp, losses = out
    assert losses[-1] < losses[0]
    assert all(torch.equal(a, b) for a, b in zip(own, exp.target.parameters()))
