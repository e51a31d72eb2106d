"""A vmapped ensemble: `stack_module_state` makes new leaves, and the optimizer is given the members' own parameters."""

import copy

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional as F

from tests.practice.truth import Truth


class Dynamics(nn.Module):
    """One member of an ensemble of dynamics models: mean and log-variance of the next state."""

    def __init__(self, obs=3, act=1, hidden=12):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs + act, hidden), nn.SiLU(), nn.Linear(hidden, 2 * obs))

    def forward(self, x):
        mean, logvar = self.trunk(x).chunk(2, -1)
        return mean, logvar.clamp(-5, 2)


class Ensemble:
    def __init__(self, n=3):
        self.members = [Dynamics() for _ in range(n)]
        self.params, self.buffers = stack_module_state(self.members)
        skeleton = copy.deepcopy(self.members[0]).to("meta")
        self.call = lambda params, buffers, x: functional_call(skeleton, (params, buffers), (x,))

    def parameters(self):
        return [p for m in self.members for p in m.parameters()]  # cause

    def predict(self, x):
        return vmap(self.call, in_dims=(0, 0, None), randomness="different")(self.params, self.buffers, x)


def transitions(n):
    s, a = torch.randn(n, 3), torch.rand(n, 1) * 2 - 1
    return torch.cat([s, a], 1), 0.9 * s + 0.2 * a + 0.05 * torch.randn(n, 3)


def run():
    torch.manual_seed(0)
    ensemble = Ensemble()
    opt = torch.optim.Adam(ensemble.parameters(), lr=1e-2, weight_decay=0.0)  # also
    losses = []
    for epoch in range(3):
        x, target = transitions(32)
        mean, logvar = ensemble.predict(x)
        loss = F.gaussian_nll_loss(mean, target.expand_as(mean), logvar.exp())
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            disagreement = ensemble.predict(x)[0].std(0).mean().item()
        losses.append(loss.item())
        print(f"epoch {epoch} nll {losses[-1]:.4f} disagreement {disagreement:.4f}")
    return ensemble, opt


def verify(out):
    ensemble, opt = out
    assert not opt.state  # no parameter of the optimizer ever had a gradient


TRUTH = Truth(
    fault="the stacked parameters that are trained are in no optimizer",
    names=("params",),
    repair=("return list(self.params.values())",),
)
