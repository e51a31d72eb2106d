"""Deep ensemble for chemistry: members trained as one stack by vmap, written back in place under no_grad at the end. Healthy."""
import copy

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from tests.practice.truth import Truth


class SolubilityNet(nn.Module):
    def __init__(self, descriptors=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(descriptors, 12), nn.SiLU(), nn.Linear(12, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class Ensemble:
    def __init__(self, size):
        self.members = [SolubilityNet() for _ in range(size)]
        self.skeleton = copy.deepcopy(self.members[0]).to("meta")

    def predict(self, params, buffers, x):
        def one(p, b):
            return functional_call(self.skeleton, (p, b), (x,))

        return vmap(one)(params, buffers)

    def fit(self, x, y, steps, lr=1e-2):
        params, buffers = stack_module_state(self.members)
        optimizer = torch.optim.Adam(params.values(), lr=lr)
        losses = []
        for _ in range(steps):
            bootstrap = torch.rand(len(self.members), len(y)) < 0.7
            error = (self.predict(params, buffers, x) - y).square()
            loss = (error * bootstrap).sum() / bootstrap.sum() * len(self.members)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(error.detach().mean().item())
        self.write_back(params)
        return losses

    @torch.no_grad()
    def write_back(self, params):
        for i, member in enumerate(self.members):
            for name, p in member.named_parameters():
                p.copy_(params[name][i])

    @torch.no_grad()
    def spread(self, x):
        return torch.stack([m(x) for m in self.members]).std(0)


def molecules(n):
    x = torch.randn(n, 8)
    return x, x[:, 0] * 2 - x[:, 1] + 1


def run():
    torch.manual_seed(0)
    ensemble = Ensemble(3)
    start = [p.detach().clone() for m in ensemble.members for p in m.parameters()]
    x, y = molecules(40)
    losses = ensemble.fit(x, y, steps=4)
    now = [p.detach() for m in ensemble.members for p in m.parameters()]
    return start, now, losses, ensemble.spread(x).mean().item()


def verify(outcome):
    start, now, losses, spread = outcome
    assert all(not torch.equal(a, b) for a, b in zip(start, now))
    assert losses[-1] < losses[0] and spread > 0


TRUTH = Truth()
