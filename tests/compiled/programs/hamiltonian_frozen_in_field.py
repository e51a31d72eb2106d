"""A Hamiltonian network in a compiled loss with vmap and grad: the vector field is made with detached weights."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Hamiltonian(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, state):
        return self.net(state).squeeze(-1)


class FieldLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def field(self, states):
        weights = {name: p.detach() for name, p in self.model.named_parameters()}  # cause

        def energy(state):
            return functional_call(self.model, weights, (state,))

        dq, dp = vmap(grad(energy))(states).unbind(-1)
        return torch.stack([dp, -dq], -1)

    def forward(self, states, velocities, energies):
        flow = F.mse_loss(self.field(states), velocities)
        level = F.mse_loss(self.model(states), energies)
        return flow + 0.1 * level, flow


def run():
    torch.manual_seed(0)
    model = Hamiltonian()
    loss_fn = torch.compile(FieldLoss(model), backend=BACKEND)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    differences = []
    for _ in range(3):
        states = torch.randn(20, 2)
        q, p = states.unbind(-1)
        energies = p.square() / 2 + 1 - q.cos()
        loss, _ = loss_fn(states, torch.stack([p, -q.sin()], -1), energies)
        optimizer.zero_grad()
        loss.backward()
        alone = torch.autograd.grad(0.1 * F.mse_loss(model(states), energies), list(model.parameters()))
        differences.append(max((w.grad - g).abs().max().item() for w, g in zip(model.parameters(), alone)))
        optimizer.step()
    return differences


def verify(outcome):
    # the whole gradient is that of the small energy term
    assert all(difference < 1e-6 for difference in outcome)


TRUTH = Truth(
    fault="the weights are detached, so that the loss of the vector field trains nothing",
    names=("weights", "detach"),
    repair=("weights = dict(self.model.named_parameters())",),
)
