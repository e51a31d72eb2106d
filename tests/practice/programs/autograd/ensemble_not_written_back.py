"""Ensemble by stack_module_state: the stacked copies are trained, the members that predict are the old ones."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from tests.practice.truth import Truth


class Dynamics(nn.Module):
    def __init__(self, obs=4, width=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, width), nn.SiLU(), nn.Linear(width, obs))

    def forward(self, x):
        return x + self.net(x)


class Ensemble:
    def __init__(self, size=3):
        self.members = [Dynamics() for _ in range(size)]
        self.params, self.buffers = stack_module_state(self.members)
        self.skeleton = copy.deepcopy(self.members[0]).to("meta")

    def parallel(self, x):
        def call(params, buffers, data):
            return functional_call(self.skeleton, (params, buffers), (data,))

        return vmap(call, in_dims=(0, 0, None))(self.params, self.buffers, x)

    @torch.no_grad()
    def sync(self):
        """Stacked parameters back into the members."""
        for i, member in enumerate(self.members):
            for name, p in member.named_parameters():
                p = self.params[name][i].clone()  # cause

    @torch.no_grad()
    def predict(self, x):
        out = torch.stack([m(x) for m in self.members])
        return out.mean(0), out.std(0)


def transitions(n=24):
    x = torch.randn(n, 4)
    return x, x + 0.1 * torch.roll(x, 1, dims=1)


def run():
    torch.manual_seed(0)
    ensemble = Ensemble()
    optimizer = torch.optim.Adam(ensemble.params.values(), lr=1e-2)
    for _ in range(4):
        x, target = transitions()
        optimizer.zero_grad()
        loss = F.mse_loss(ensemble.parallel(x), target.expand(3, -1, -1))
        loss.backward()
        optimizer.step()
    ensemble.sync()
    x, _ = transitions()
    with torch.no_grad():
        stacked = ensemble.parallel(x).mean(0)
    return (ensemble.predict(x)[0] - stacked).abs().max().item()


def verify(outcome):
    assert outcome > 1e-2


TRUTH = Truth(
    fault="sync() rebinds the loop variable instead of copying, the members keep their initial weights",
    names=("sync",),
    repair=("p.copy_(self.params[name][i])",),
)
