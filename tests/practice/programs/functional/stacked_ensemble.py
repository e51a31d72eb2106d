"""Ensemble of small regressors trained together with vmap."""

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from tests.practice.truth import Truth, fails


class Member(nn.Module):
    def __init__(self, d=3, width=12):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class Ensemble:
    def __init__(self, size, lr=1e-2):
        members = [Member() for _ in range(size)]
        self.skeleton = Member().to("meta")
        self.params, self.buffers = stack_module_state(members)
        trainable = [p for m in members for p in m.parameters()]  # cause
        self.optimizer = torch.optim.Adam(trainable, lr=lr)

    def forward_one(self, params, buffers, x):
        return functional_call(self.skeleton, (params, buffers), (x,))

    def predict(self, x):
        return vmap(self.forward_one, in_dims=(0, 0, None))(self.params, self.buffers, x)

    def step(self, x, y):
        loss = (self.predict(x) - y).pow(2).mean(-1).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


ensemble = None


def setup():
    global ensemble
    torch.manual_seed(0)
    ensemble = Ensemble(4)


def run():
    torch.manual_seed(1)
    start = {k: v.detach().clone() for k, v in ensemble.params.items()}
    for _ in range(5):
        x = torch.randn(16, 3)
        ensemble.step(x, x[:, 0].sin())
    return start, ensemble.params


TRUTH = Truth(
    fault="the optimizer holds the members' own parameters, training goes through the stacked copies",
    names=("params",),
    before=True,
    repair=("trainable = list(self.params.values())",),
)


def well(out):
    start, params = out
    assert all(not torch.equal(start[k], params[k]) for k in start)


verify = fails(well)
