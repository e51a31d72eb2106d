"""Loop over members to vmap: stack_module_state makes new leaves; the optimizer still holds the members' own weights."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, stack_module_state

from tests.practice.truth import Truth


class Dynamics(nn.Module):
    def __init__(self, state=4, width=12):
        super().__init__()
        self.l1 = nn.Linear(state, width)
        self.l2 = nn.Linear(width, state)

    def forward(self, x):
        return x + self.l2(torch.tanh(self.l1(x)))


class EnsembleTrainer:
    def __init__(self, members):
        self.members = members
        self.params, self.buffers = stack_module_state(members)  # also
        self.skeleton = copy.deepcopy(members[0]).to("meta")
        weights = [p for member in members for p in member.parameters()]  # cause
        self.optimizer = torch.optim.Adam(weights, lr=1e-2)  # also

    def predict(self, params, buffers, x):
        return functional_call(self.skeleton, (params, buffers), (x,))

    def step(self, x, y):
        """x, y: (members, batch, state), each member with its own bootstrap sample."""
        forecast = torch.vmap(self.predict)(self.params, self.buffers, x)
        loss = F.mse_loss(forecast, y, reduction="none").mean(dim=(1, 2)).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())


def run():
    torch.manual_seed(0)
    trainer = EnsembleTrainer([Dynamics() for _ in range(3)])
    before = trainer.params["l1.weight"].detach().clone()
    for _ in range(3):
        x = torch.randn(3, 8, 4)
        trainer.step(x, x.roll(1, dims=-1))
    return before, trainer.params["l1.weight"]


def verify(outcome):
    before, stacked = outcome
    assert stacked.grad is not None and torch.equal(before, stacked.detach())


TRUTH = Truth(
    fault="gradients go to the stacked copies while the optimizer holds the members' original parameters, which get none",
    names=("l1",),
    repair=("weights = list(self.params.values())",),
)
